"""GPT-2 and the decoders with layer norms that came after it."""

from __future__ import annotations

from dataclasses import replace

from foretrain.errors import InputError
from foretrain.study.config.config import Config, drops, four_times, head_width, layered
from foretrain.workload.parts.attention import Heads
from foretrain.workload.parts.block import Arrangement, Block
from foretrain.workload.parts.ends import Embedding, LanguageHead
from foretrain.workload.parts.feed_forward import FeedForward
from foretrain.workload.parts.language_model import LanguageModel
from foretrain.workload.parts.stream import Norm

_SHORT = ("n_embd", "n_layer")
_LONG = ("hidden_size", "num_hidden_layers")


def gpt2(config: Config) -> LanguageModel:
    """GPT-2: learned positions, dropout, one table for both ends."""
    shape = layered(
        config,
        Block(
            mixer=_equal_heads(config, "n_embd", "n_head", rotary=False),
            feed_forward=four_times(config, "n_inner", "n_embd"),
        ),
        names=_SHORT,
        embedding=Embedding(
            vocabulary=config.count("vocab_size"), positions=config.count("n_positions")
        ),
        head=LanguageHead(tied=True),
    )
    return replace(
        shape, dropout=drops(config, "resid_pdrop", "attn_pdrop", "embd_pdrop", default=0.1)
    )


def gptj(config: Config) -> LanguageModel:
    """GPT-J: attention without biases beside the feed-forward part, logits with."""
    attention = _equal_heads(config, "n_embd", "n_head", bias=False)
    wide = four_times(config, "n_inner", "n_embd")
    block = Block(mixer=attention, feed_forward=wide, arrangement=Arrangement.PARALLEL)
    table = Embedding(vocabulary=config.count("vocab_size"))
    return layered(config, block, names=_SHORT, embedding=table, head=LanguageHead(bias=True))


def gpt_neox(config: Config) -> LanguageModel:
    """GPT-NeoX and Pythia: both parts side by side, each with its norm."""
    bias = config.flag("attention_bias", True)
    parallel = config.flag("use_parallel_residual", True)
    block = Block(
        mixer=_equal_heads(config, "hidden_size", "num_attention_heads", bias=bias),
        feed_forward=FeedForward(width=config.count("intermediate_size"), bias=True),
        arrangement=Arrangement.PARALLEL_NORMS if parallel else Arrangement.SERIAL,
    )
    table = Embedding(vocabulary=config.count("vocab_size"))
    return layered(config, block, names=_LONG, embedding=table, head=LanguageHead())


def opt(config: Config) -> LanguageModel:
    """OPT: the table of positions has two rows more; a narrow embedding is projected."""
    hidden, bias = config.count("hidden_size"), config.flag("enable_bias", True)
    width = config.count("word_embed_proj_dim", hidden)
    block = Block(
        mixer=_equal_heads(config, "hidden_size", "num_attention_heads", bias=bias, rotary=False),
        feed_forward=FeedForward(width=config.count("ffn_dim"), bias=bias),
    )
    table = Embedding(
        vocabulary=config.count("vocab_size"),
        positions=config.count("max_position_embeddings") + 2,
        first=2,
        width=None if width == hidden else width,
    )
    last = config.flag("do_layer_norm_before", True) and not config.flag(
        "_remove_final_layer_norm", False
    )
    head = LanguageHead(norm=last, tied=True)
    shape = layered(config, block, names=_LONG, embedding=table, head=head)
    return replace(shape, dropout=drops(config, "dropout", default=0.1))


def bloom(config: Config) -> LanguageModel:
    """BLOOM: a norm after the embedding; positions are added to the scores."""
    hidden = "hidden_size" if config.has("hidden_size") else "n_embed"
    count = "num_attention_heads" if config.has("num_attention_heads") else "n_head"
    layers = "num_hidden_layers" if config.has("num_hidden_layers") else "n_layer"
    block = Block(
        mixer=_equal_heads(config, hidden, count, rotary=False),
        feed_forward=FeedForward(width=4 * config.count(hidden), bias=True),
    )
    table = Embedding(vocabulary=config.count("vocab_size"), norm=True)
    head = LanguageHead(tied=True)
    shape = layered(config, block, names=(hidden, layers), embedding=table, head=head)
    return replace(shape, dropout=drops(config, "hidden_dropout", "attention_dropout", default=0.0))


def falcon(config: Config) -> LanguageModel:
    """Falcon: one key-value head, or groups of them and then a norm for each part."""
    grouped = config.flag("new_decoder_architecture", False)
    bias, rotary = config.flag("bias", False), not config.flag("alibi", False)
    attention = _equal_heads(config, "hidden_size", "num_attention_heads", bias=bias, rotary=rotary)
    if grouped:
        attention = replace(attention, kv_heads=config.count("num_kv_heads", attention.heads))
    elif config.flag("multi_query", True):
        attention = replace(attention, kv_heads=1)
    parallel = Arrangement.PARALLEL
    if not grouped and not config.flag("parallel_attn", True):
        parallel = Arrangement.SERIAL
    if grouped and config.count("num_ln_in_parallel_attn", 2) == 2:
        parallel = Arrangement.PARALLEL_NORMS
    block = Block(
        mixer=attention,
        feed_forward=four_times(config, "ffn_hidden_size", "hidden_size", bias=bias),
        arrangement=parallel,
    )
    table = Embedding(vocabulary=config.count("vocab_size"))
    return layered(config, block, names=_LONG, embedding=table, head=LanguageHead(tied=True))


def mpt(config: Config) -> LanguageModel:
    """MPT: no biases, not even in norms; positions are added to the scores or learned."""
    inner = config.inside("attn_config")
    if inner.flag("qk_ln", False):
        raise InputError("attn_config.qk_ln is true; foretrain reads mpt with false only.")
    bias, alibi = not config.flag("no_bias", True), inner.flag("alibi", False)
    attention = _equal_heads(config, "d_model", "n_heads", bias=bias, rotary=False)
    attention = replace(attention, kv_heads=inner.count("kv_n_heads", attention.heads))
    width = int(config.number("expansion_ratio", 4) * config.count("d_model"))
    block = Block(mixer=attention, feed_forward=FeedForward(width=width, bias=bias))
    table = Embedding(
        vocabulary=config.count("vocab_size"),
        positions=None if alibi else config.count("max_seq_len"),
    )
    shape = layered(
        config,
        block,
        names=("d_model", "n_layers"),
        embedding=table,
        head=LanguageHead(tied=True),
    )
    return replace(shape, norm=Norm.SCALE_AND_SHIFT if bias else Norm.SCALE)


def _equal_heads(
    config: Config, hidden: str, count: str, *, bias: bool = True, rotary: bool = True
) -> Heads:
    """As many key-value heads as heads, all biases or none."""
    heads = config.count(count)
    return Heads(
        heads=heads,
        kv_heads=heads,
        width=head_width(config, hidden, heads),
        bias=bias,
        output_bias=bias,
        rotary=rotary,
    )
