"""Encoder-decoders: T5, mT5, BART, and the Transformer of translation.

Both streams have as many tokens as a study's `sequence` says.
"""

from __future__ import annotations

from dataclasses import replace

from foretrain.workload.library.entry import Entry
from foretrain.workload.library.text import text_entry
from foretrain.workload.parts.attention import Heads
from foretrain.workload.parts.block import Block, Run
from foretrain.workload.parts.encoder_decoder import EncoderDecoder
from foretrain.workload.parts.ends import Embedding, LanguageHead
from foretrain.workload.parts.feed_forward import FeedForward
from foretrain.workload.parts.stream import Norm

_BUCKETS = 32
"""Distances that relative positions tell apart. Source: raffel2020, section 2.1."""

Sizes = tuple[int, int, int, int]
"""Layers of each side, hidden, feed_forward, heads."""


def _sides(layers: int, heads: Heads, part: FeedForward) -> tuple[Run, Run]:
    """An encoder and a decoder of as many layers."""
    seeing = replace(heads, causal=False)
    encoder = Block(mixer=seeing, feed_forward=part)
    decoder = Block(mixer=heads, cross=seeing, feed_forward=part)
    return (
        Run(blocks=(encoder,), repeats=layers, name="encoder block"),
        Run(blocks=(decoder,), repeats=layers, name="decoder block"),
    )


def _t5(name: str, sizes: Sizes, *, width: int = 64) -> Entry:
    shape = _relative(sizes, 32_128, width=width)
    return text_entry(name, shape, kind="T5 encoder-decoder", source="raffel2020, section 3")


def _mt5(name: str, sizes: Sizes) -> Entry:
    """Gated, and its head has a table of its own."""
    shape = _relative(sizes, 250_112, gated=True, tied=False)
    return text_entry(name, shape, kind="mT5 encoder-decoder", source="xue2021, section 3.2")


def _nemo(name: str, sizes: Sizes, *aliases: str, vocabulary: int = 250_112) -> Entry:
    """Gated, and one table for both ends."""
    shape = _relative(sizes, vocabulary, gated=True)
    source = "nemo, configurations of T5 and mT5 (from memory)"
    return text_entry(name, shape, kind="T5 encoder-decoder", source=source, aliases=aliases)


def _relative(
    sizes: Sizes, vocabulary: int, *, width: int = 64, gated: bool = False, tied: bool = True
) -> EncoderDecoder:
    layers, hidden, feed_forward, heads = sizes
    shared = Heads(heads=heads, kv_heads=heads, width=width, rotary=False)
    encoder, decoder = _sides(layers, shared, FeedForward(width=feed_forward, gated=gated))
    return EncoderDecoder(
        hidden=hidden,
        embedding=Embedding(vocabulary=vocabulary, biases=_BUCKETS * heads),
        encoder=encoder,
        decoder=decoder,
        head=LanguageHead(tied=tied),
        dropout=True,
    )


def _bart(name: str, sizes: Sizes) -> Entry:
    """Norms come after each part and after each embedding; positions start at 2."""
    layers, hidden, feed_forward, heads = sizes
    shared = _biased(hidden, heads)
    encoder, decoder = _sides(layers, shared, FeedForward(width=feed_forward, bias=True))
    shape = EncoderDecoder(
        hidden=hidden,
        embedding=Embedding(vocabulary=50_265, positions=1026, first=2, norm=True),
        encoder=encoder,
        decoder=decoder,
        head=LanguageHead(norm=False, tied=True),
        norm=Norm.SCALE_AND_SHIFT,
        dropout=True,
    )
    source = "lewis2020, section 2.1 and the published configuration"
    return text_entry(name, shape, kind="BART encoder-decoder", source=source)


def _biased(hidden: int, heads: int, *, bias: bool = True) -> Heads:
    return Heads(
        heads=heads,
        kv_heads=heads,
        width=hidden // heads,
        bias=bias,
        output_bias=bias,
        rotary=False,
    )


def _transformer_big() -> Entry:
    """As the benchmarks train it: one table of 33,712 pieces, norms before each part."""
    shared = _biased(1024, 16, bias=False)
    encoder, decoder = _sides(6, shared, FeedForward(width=4096, bias=True))
    shape = EncoderDecoder(
        hidden=1024,
        embedding=Embedding(vocabulary=33_712),
        encoder=encoder,
        decoder=decoder,
        head=LanguageHead(tied=True),
        norm=Norm.SCALE_AND_SHIFT,
        dropout=True,
    )
    return text_entry(
        "transformer-big",
        shape,
        kind="Transformer encoder-decoder",
        source="vaswani2017, table 3; vocabulary of public benchmarks (from memory)",
        aliases=("transformer-large", "transformer-wmt"),
    )


ENTRIES = (
    _t5("t5-small", (6, 512, 2048, 8)),
    _t5("t5-base", (12, 768, 3072, 12)),
    _t5("t5-large", (24, 1024, 4096, 16)),
    _t5("t5-3b", (24, 1024, 16384, 32), width=128),
    _t5("t5-11b", (24, 1024, 65536, 128), width=128),
    _mt5("mt5-small", (8, 512, 1024, 6)),
    _mt5("mt5-base", (12, 768, 2048, 12)),
    _mt5("mt5-large", (24, 1024, 2816, 16)),
    _mt5("mt5-xl", (24, 2048, 5120, 32)),
    _mt5("mt5-xxl", (24, 4096, 10240, 64)),
    _nemo("nemo-t5-220m", (12, 768, 2048, 12), "t5-220m", vocabulary=29_184),
    _nemo("nemo-t5-3b", (24, 2048, 5120, 32), "t5-3b-(nemo)", vocabulary=29_184),
    _nemo("mt5-170m", (8, 512, 1024, 6)),
    _nemo("mt5-390m", (12, 768, 2048, 12)),
    _nemo("mt5-3b", (24, 2048, 5120, 32)),
    _bart("bart-base", (6, 768, 3072, 12)),
    _bart("bart-large", (12, 1024, 4096, 16)),
    _transformer_big(),
)
