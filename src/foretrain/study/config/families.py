"""Families of configurations beside Llama's: decoders with layer norms, encoders, encoder-decoders.

GPT-2 and the decoders with layer norms that came after it.

A function a family says what the keys of its configurations mean, and what their absence means, as
the sizes of a `Decoder`, which builds the model.

Encoders (BERT, RoBERTa, ELECTRA, ViT) and encoder-decoders (T5, mT5, umT5, BART).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from foretrain.errors import InputError, UnsupportedModel
from foretrain.study.config.config import Config
from foretrain.workload.parts.block import Arrangement
from foretrain.workload.parts.encoder import VisionTransformer, encoder, vision_transformer
from foretrain.workload.parts.encoder_decoder import SPANS, EncoderDecoder, encoder_decoder
from foretrain.workload.parts.language_model import Decoder, LanguageModel


class Keys(NamedTuple):
    """The names of three keys: the stream's width, layers, heads."""

    hidden: str
    layers: str
    heads: str


LONG = Keys("hidden_size", "num_hidden_layers", "num_attention_heads")
SHORT = Keys("n_embd", "n_layer", "n_head")


def in_words_of_gpt(config: Config, keys: Keys, *, tied: bool = False, **family: object) -> Decoder:
    """A decoder of equal blocks with layer norms, plain feed-forward parts and biases.

    Args:
        config: the configuration.
        keys: for its sizes.
        tied: whether the head shares the embedding where tie_word_embeddings is absent.
        family: sizes that no key of it says, or that other keys say.
    """
    heads = config.count(keys.heads)
    stated: dict[str, Any] = {
        "layers": config.count(keys.layers),
        "hidden": config.count(keys.hidden),
        "heads": heads,
        "head_width": config.head_width(keys.hidden, heads),
        "vocabulary": config.count("vocab_size"),
        "bias": True,
        "tied": config.flag("tie_word_embeddings", tied),
        **family,
    }
    return Decoder(**stated)


def gpt2(config: Config) -> Decoder:
    """GPT-2: learned positions, dropout, one table for both ends."""
    return in_words_of_gpt(
        config,
        SHORT,
        feed_forward=_four_times(config, "n_inner", "n_embd"),
        positions=config.count("n_positions"),
        tied=True,
        dropout=config.drops("resid_pdrop", "attn_pdrop", "embd_pdrop", default=0.1),
    )


def gptj(config: Config) -> Decoder:
    """GPT-J: attention without biases beside the feed-forward part, logits with."""
    return in_words_of_gpt(
        config,
        SHORT,
        feed_forward=_four_times(config, "n_inner", "n_embd"),
        attention_bias=False,
        arrangement=Arrangement.PARALLEL,
        head_bias=True,
    )


def gpt_neox(config: Config) -> Decoder:
    """GPT-NeoX and Pythia: both parts side by side, each with its norm."""
    parallel = config.flag("use_parallel_residual", True)
    return in_words_of_gpt(
        config,
        LONG,
        feed_forward=config.count("intermediate_size"),
        attention_bias=config.flag("attention_bias", True),
        arrangement=Arrangement.PARALLEL_NORMS if parallel else Arrangement.SERIAL,
    )


def opt(config: Config) -> Decoder:
    """OPT: the table of positions has two rows more; a narrow embedding is projected."""
    hidden, bias = config.count("hidden_size"), config.flag("enable_bias", True)
    width = config.count("word_embed_proj_dim", hidden)
    return in_words_of_gpt(
        config,
        LONG,
        feed_forward=config.count("ffn_dim"),
        bias=bias,
        layer_norm=True,
        positions=config.count("max_position_embeddings") + 2,
        first=2,
        embedding_width=None if width == hidden else width,
        final_norm=config.flag("do_layer_norm_before", True)
        and not config.flag("_remove_final_layer_norm", False),
        tied=True,
        dropout=config.drops("dropout", default=0.1),
    )


def bloom(config: Config) -> Decoder:
    """BLOOM: a norm after the embedding; positions are added to the scores."""
    either = zip(LONG, ("n_embed", "n_layer", "n_head"), strict=True)
    keys = Keys(*(long if config.has(long) else short for long, short in either))
    return in_words_of_gpt(
        config,
        keys,
        feed_forward=4 * config.count(keys.hidden),
        rotary=False,
        embedding_norm=True,
        tied=True,
        dropout=config.drops("hidden_dropout", "attention_dropout", default=0.0),
    )


def falcon(config: Config) -> Decoder:
    """Falcon: one key-value head, or groups of them and then a norm for each part."""
    grouped = config.flag("new_decoder_architecture", False)
    heads = config.count("num_attention_heads")
    one = config.flag("multi_query", True) and not grouped
    if grouped and config.count("num_ln_in_parallel_attn", 2) == 2:
        arrangement = Arrangement.PARALLEL_NORMS
    elif grouped or config.flag("parallel_attn", True):
        arrangement = Arrangement.PARALLEL
    else:
        arrangement = Arrangement.SERIAL
    return in_words_of_gpt(
        config,
        LONG,
        feed_forward=_four_times(config, "ffn_hidden_size", "hidden_size"),
        kv_heads=1 if one else config.count("num_kv_heads", heads) if grouped else heads,
        bias=config.flag("bias", False),
        layer_norm=True,
        rotary=not config.flag("alibi", False),
        arrangement=arrangement,
        tied=True,
    )


def mpt(config: Config) -> Decoder:
    """MPT: no biases, not even in norms; positions are added to the scores or learned."""
    inner = config.inside("attn_config")
    if inner.flag("qk_ln", False):
        raise InputError("attn_config.qk_ln is true; foretrain reads mpt with false only.")
    return in_words_of_gpt(
        config,
        Keys("d_model", "n_layers", "n_heads"),
        feed_forward=int(config.number("expansion_ratio", 4) * config.count("d_model")),
        kv_heads=inner.count("kv_n_heads", config.count("n_heads")),
        bias=not config.flag("no_bias", True),
        rotary=False,
        positions=None if inner.flag("alibi", False) else config.count("max_seq_len"),
        tied=True,
    )


def _four_times(config: Config, key: str, hidden: str) -> int:
    """The width of a feed-forward part: four times the stream's unless a key says otherwise."""
    return config.count(key, 4 * config.count(hidden))


BUCKETS = 32
"""Distances that T5 tells apart where relative_attention_num_buckets is absent."""


def bert(config: Config) -> LanguageModel:
    """BERT with the head of its pre-training, or for masked words alone."""
    heads = {"BertForPreTraining": 2, "BertForMaskedLM": 0}
    return _encoder(config, pooler=heads[_architecture(config, *heads)])


def roberta(config: Config) -> LanguageModel:
    """RoBERTa for masked words."""
    _architecture(config, "RobertaForMaskedLM")
    return _encoder(config, types=1, first=config.count("pad_token_id", 1) + 1)


def electra(config: Config) -> LanguageModel:
    """ELECTRA's generator; the head of its discriminator is not known here."""
    _architecture(config, "ElectraForMaskedLM")
    hidden = config.count("hidden_size")
    width = config.count("embedding_size", hidden)
    return _encoder(config, width=None if width == hidden else width)


def vit(config: Config) -> VisionTransformer:
    """ViT with its classifier."""
    labels = config.keys.get("id2label")
    heads = config.count("num_attention_heads")
    config.head_width("hidden_size", heads)
    return vision_transformer(
        patch=config.count("patch_size"),
        layers=config.count("num_hidden_layers"),
        hidden=config.count("hidden_size"),
        heads=heads,
        feed_forward=config.count("intermediate_size"),
        bias=config.flag("qkv_bias", True),
        classes=config.count("num_labels", len(labels) if isinstance(labels, dict) else 1000),
        channels=config.count("num_channels", 3),
    )


def t5(config: Config) -> EncoderDecoder:
    """T5 and mT5: one table of distances per stream."""
    return _t5(config, tables=1)


def umt5(config: Config) -> EncoderDecoder:
    """umT5: a table of distances in every layer."""
    return _t5(config, tables=config.count("num_layers"))


def _t5(config: Config, *, tables: int) -> EncoderDecoder:
    layers, heads, wide = (config.count(key) for key in ("num_layers", "num_heads", "d_ff"))
    return encoder_decoder(
        layers=layers,
        hidden=config.count("d_model"),
        heads=heads,
        head_width=config.count("d_kv"),
        feed_forward=wide,
        vocabulary=config.count("vocab_size"),
        decoder=(config.count("num_decoder_layers", layers), heads, wide),
        gated=str(config.keys.get("feed_forward_proj", "relu")).startswith("gated"),
        distances=tables * config.count("relative_attention_num_buckets", BUCKETS),
        tied=config.flag("tie_word_embeddings", True),
        dropout=config.drops("dropout_rate", default=0.1),
        spans=SPANS,
    )


def bart(config: Config) -> EncoderDecoder:
    """BART: learned positions with two more rows, norms after each part and the embedding."""
    layers, heads, feed_forward = _side(config, "encoder")
    return encoder_decoder(
        layers=layers,
        hidden=config.count("d_model"),
        heads=heads,
        feed_forward=feed_forward,
        vocabulary=config.count("vocab_size"),
        decoder=_side(config, "decoder"),
        attention_bias=True,
        feed_forward_bias=True,
        layer_norm=True,
        positions=config.count("max_position_embeddings") + 2,
        first=2,
        embedding_norm=True,
        final_norm=False,
        tied=config.flag("tie_word_embeddings", True),
        dropout=config.drops("dropout", default=0.1),
    )


def _side(config: Config, side: str) -> tuple[int, int, int]:
    """Layers, heads and feed-forward width of BART's encoder or decoder."""
    heads = config.count(f"{side}_attention_heads")
    config.head_width("d_model", heads)
    return config.count(f"{side}_layers"), heads, config.count(f"{side}_ffn_dim")


def _architecture(config: Config, *known: str) -> str:
    """What the configuration is of; the first known one where it does not say.

    Raises:
        UnsupportedModel: if it is something else.
    """
    named = [str(each) for each in config.listed("architectures")]
    found = next((each for each in named if each in known), None)
    if named and found is None:
        raise UnsupportedModel(
            f"architectures is {named[0]}; foretrain reads {config.family} as "
            f"{' or '.join(known)} only."
        )
    return found or known[0]


def _encoder(
    config: Config, *, types: int = 2, pooler: int = 0, width: int | None = None, first: int = 0
) -> LanguageModel:
    """An encoder with logits for every token, as the library that it is written for has them."""
    heads = config.count("num_attention_heads")
    config.head_width("hidden_size", heads)
    return encoder(
        layers=config.count("num_hidden_layers"),
        hidden=config.count("hidden_size"),
        heads=heads,
        feed_forward=config.count("intermediate_size"),
        vocabulary=config.count("vocab_size"),
        positions=config.count("max_position_embeddings"),
        first=first,
        types=config.count("type_vocab_size", types),
        embedding_width=width,
        predicted=1.0,
        pooler=pooler,
        tied=config.flag("tie_word_embeddings", True),
        dropout=config.drops("hidden_dropout_prob", default=0.1),
    )
