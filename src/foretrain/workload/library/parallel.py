"""Decoders whose attention and feed-forward part stand side by side: PaLM and Falcon."""

from __future__ import annotations

from foretrain.workload.library.entry import Entry
from foretrain.workload.library.text import text_entry
from foretrain.workload.parts.attention import Heads
from foretrain.workload.parts.block import Arrangement, Block, Run
from foretrain.workload.parts.ends import Embedding, LanguageHead
from foretrain.workload.parts.feed_forward import FeedForward
from foretrain.workload.parts.language_model import LanguageModel
from foretrain.workload.parts.stream import Norm

Sizes = tuple[int, int, int]
"""Layers, hidden, heads; the feed-forward part is four times as wide as the stream."""


def _palm(name: str, sizes: Sizes) -> Entry:
    layers, hidden, heads = sizes
    block = Block(
        mixer=Heads(heads=heads, kv_heads=1, width=256),
        feed_forward=FeedForward(width=4 * hidden, gated=True),
        arrangement=Arrangement.PARALLEL,
    )
    shape = LanguageModel(
        hidden=hidden,
        embedding=Embedding(vocabulary=256_000),
        runs=(Run(blocks=(block,), repeats=layers),),
        head=LanguageHead(tied=True),
    )
    return text_entry(name, shape, kind="PaLM decoder", source="chowdhery2022, table 1")


def _falcon(name: str, sizes: Sizes, *, kv_heads: int, tied: bool = True) -> Entry:
    """One norm for both parts where there is one key-value head, one for each otherwise."""
    layers, hidden, heads = sizes
    block = Block(
        mixer=Heads(heads=heads, kv_heads=kv_heads, width=64),
        feed_forward=FeedForward(width=4 * hidden),
        arrangement=Arrangement.PARALLEL if kv_heads == 1 else Arrangement.PARALLEL_NORMS,
    )
    shape = LanguageModel(
        hidden=hidden,
        embedding=Embedding(vocabulary=65_024),
        runs=(Run(blocks=(block,), repeats=layers),),
        head=LanguageHead(tied=tied),
        norm=Norm.SCALE_AND_SHIFT,
    )
    return text_entry(
        name, shape, kind="Falcon decoder", source="almazrouei2023, published configuration"
    )


ENTRIES = (
    _palm("palm-8b", (32, 4096, 16)),
    _palm("palm-62b", (64, 8192, 32)),
    _palm("palm-540b", (118, 18432, 48)),
    _falcon("falcon-7b", (32, 4544, 71), kv_heads=1),
    _falcon("falcon-40b", (60, 8192, 128), kv_heads=8),
    _falcon("falcon-180b", (80, 14848, 232), kv_heads=8, tied=False),
)
