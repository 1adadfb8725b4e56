"""Encoders (BERT, RoBERTa, ELECTRA, ViT) and encoder-decoders (T5, mT5, umT5, BART)."""

from __future__ import annotations

from foretrain.errors import UnsupportedModel
from foretrain.study.config.config import Config, drops, head_width
from foretrain.workload.parts.attention import Heads
from foretrain.workload.parts.block import Block, Run
from foretrain.workload.parts.encoder_decoder import EncoderDecoder
from foretrain.workload.parts.ends import Embedding, LanguageHead
from foretrain.workload.parts.feed_forward import FeedForward
from foretrain.workload.parts.language_model import LanguageModel
from foretrain.workload.parts.stream import Norm
from foretrain.workload.parts.vision_transformer import VisionTransformer

BUCKETS = 32
"""Distances that T5 tells apart where relative_attention_num_buckets is absent."""


def bert(config: Config) -> LanguageModel:
    """BERT with the head of its pre-training, or for masked words alone."""
    heads = {"BertForPreTraining": 2, "BertForMaskedLM": 0}
    return _encoder(
        config,
        types=config.count("type_vocab_size", 2),
        pooler=heads[_architecture(config, *heads)],
    )


def roberta(config: Config) -> LanguageModel:
    """RoBERTa for masked words."""
    _architecture(config, "RobertaForMaskedLM")
    return _encoder(
        config,
        types=config.count("type_vocab_size", 1),
        first=config.count("pad_token_id", 1) + 1,
    )


def electra(config: Config) -> LanguageModel:
    """ELECTRA's generator; the head of its discriminator is not known here."""
    _architecture(config, "ElectraForMaskedLM")
    hidden = config.count("hidden_size")
    width = config.count("embedding_size", hidden)
    return _encoder(
        config,
        types=config.count("type_vocab_size", 2),
        width=None if width == hidden else width,
    )


def vit(config: Config) -> VisionTransformer:
    """ViT with its classifier."""
    labels = config.keys.get("id2label")
    bias = config.flag("qkv_bias", True)
    heads = config.count("num_attention_heads")
    attention = Heads(
        heads=heads,
        kv_heads=heads,
        width=head_width(config, "hidden_size", heads),
        bias=bias,
        output_bias=True,
        rotary=False,
        causal=False,
    )
    wide = FeedForward(width=config.count("intermediate_size"), bias=True)
    return VisionTransformer(
        patch=config.count("patch_size"),
        hidden=config.count("hidden_size"),
        run=Run(
            blocks=(Block(mixer=attention, feed_forward=wide),),
            repeats=config.count("num_hidden_layers"),
        ),
        classes=config.count("num_labels", len(labels) if isinstance(labels, dict) else 1000),
        channels=config.count("num_channels", 3),
    )


def t5(config: Config) -> EncoderDecoder:
    """T5 and mT5: one table of distances per stream."""
    return _t5(config, tables=1)


def umt5(config: Config) -> EncoderDecoder:
    """umT5: a table of distances in every layer."""
    return _t5(config, tables=config.count("num_layers"))


def bart(config: Config) -> EncoderDecoder:
    """BART: learned positions with two more rows, norms after each part and the embedding."""
    hidden = config.count("d_model")
    return EncoderDecoder(
        hidden=hidden,
        embedding=Embedding(
            vocabulary=config.count("vocab_size"),
            positions=config.count("max_position_embeddings") + 2,
            first=2,
            norm=True,
        ),
        encoder=_bart_run(config, "encoder"),
        decoder=_bart_run(config, "decoder"),
        head=LanguageHead(norm=False, tied=config.flag("tie_word_embeddings", True)),
        norm=Norm.SCALE_AND_SHIFT,
        dropout=drops(config, "dropout", default=0.1),
    )


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
    config: Config, *, types: int, pooler: int = 0, width: int | None = None, first: int = 0
) -> LanguageModel:
    count = config.count("num_attention_heads")
    heads = Heads(
        heads=count,
        kv_heads=count,
        width=head_width(config, "hidden_size", count),
        bias=True,
        output_bias=True,
        rotary=False,
        causal=False,
    )
    wide = FeedForward(width=config.count("intermediate_size"), bias=True)
    return LanguageModel(
        hidden=config.count("hidden_size"),
        embedding=Embedding(
            vocabulary=config.count("vocab_size"),
            positions=config.count("max_position_embeddings"),
            first=first,
            types=types,
            norm=True,
            width=width,
            projection_bias=True,
        ),
        runs=(
            Run(
                blocks=(Block(mixer=heads, feed_forward=wide),),
                repeats=config.count("num_hidden_layers"),
            ),
        ),
        head=LanguageHead(
            norm=False,
            transform=True,
            bias=True,
            tied=config.flag("tie_word_embeddings", True),
            pooler=pooler,
        ),
        norm=Norm.SCALE_AND_SHIFT,
        dropout=drops(config, "hidden_dropout_prob", default=0.1),
    )


def _t5(config: Config, *, tables: int) -> EncoderDecoder:
    heads = config.count("num_heads")
    across = Heads(heads=heads, kv_heads=heads, width=config.count("d_kv"), rotary=False)
    seen = Heads(
        heads=heads, kv_heads=heads, width=config.count("d_kv"), rotary=False, causal=False
    )
    gated = str(config.keys.get("feed_forward_proj", "relu")).startswith("gated")
    wide = FeedForward(width=config.count("d_ff"), gated=gated)
    layers = config.count("num_layers")
    buckets = config.count("relative_attention_num_buckets", BUCKETS)
    return EncoderDecoder(
        hidden=config.count("d_model"),
        embedding=Embedding(vocabulary=config.count("vocab_size"), biases=tables * buckets * heads),
        encoder=Run(
            blocks=(Block(mixer=seen, feed_forward=wide),), repeats=layers, name="encoder block"
        ),
        decoder=Run(
            blocks=(Block(mixer=across, cross=seen, feed_forward=wide),),
            repeats=config.count("num_decoder_layers", layers),
            name="decoder block",
        ),
        head=LanguageHead(tied=config.flag("tie_word_embeddings", True)),
        dropout=drops(config, "dropout_rate", default=0.1),
    )


def _bart_run(config: Config, part: str) -> Run:
    heads = config.count(f"{part}_attention_heads")
    causal = part == "decoder"
    attention = Heads(
        heads=heads,
        kv_heads=heads,
        width=head_width(config, "d_model", heads),
        bias=True,
        output_bias=True,
        rotary=False,
        causal=causal,
    )
    wide = FeedForward(width=config.count(f"{part}_ffn_dim"), bias=True)
    block = Block(mixer=attention, cross=attention if causal else None, feed_forward=wide)
    return Run(blocks=(block,), repeats=config.count(f"{part}_layers"), name=f"{part} block")
