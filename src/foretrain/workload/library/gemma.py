"""Gemma: wide gated feed-forward parts; from Gemma 2 on four norms per block and windows."""

from __future__ import annotations

from foretrain.workload.library.entry import Entry
from foretrain.workload.library.text import language, text_entry
from foretrain.workload.parts.attention import Heads, SlidingWindow
from foretrain.workload.parts.block import Arrangement, Block, Run
from foretrain.workload.parts.feed_forward import FeedForward

Sizes = tuple[int, int, int, int, int, int]
"""Layers, hidden, feed_forward, heads, kv_heads, width of a head."""


def _gemma(
    name: str,
    sizes: Sizes,
    *,
    source: str,
    vocabulary: int = 256_000,
    arrangement: Arrangement = Arrangement.SANDWICH,
    norms: bool = False,
    window: SlidingWindow | None = None,
) -> Entry:
    layers, hidden, feed_forward, heads, kv_heads, width = sizes
    block = Block(
        mixer=Heads(heads=heads, kv_heads=kv_heads, width=width, norms=norms, window=window),
        feed_forward=FeedForward(width=feed_forward, gated=True),
        arrangement=arrangement,
    )
    shape = language(hidden, vocabulary, Run(blocks=(block,), repeats=layers), tied=True)
    return text_entry(name, shape, kind="Gemma decoder", source=source)


def _gemma_1(name: str, sizes: Sizes) -> Entry:
    return _gemma(name, sizes, source="mesnard2024, table 1", arrangement=Arrangement.SERIAL)


def _gemma_2(name: str, sizes: Sizes) -> Entry:
    """Every other layer sees 4096 tokens."""
    window = SlidingWindow(tokens=4096, share=1 / 2)
    return _gemma(name, sizes, source="riviere2024, table 1", window=window)


def _gemma_3(name: str, sizes: Sizes, *, window: int, vocabulary: int) -> Entry:
    """The text part; every sixth layer sees all tokens."""
    layers = sizes[0]
    return _gemma(
        name,
        sizes,
        source="kamath2025, table 1 and the published configuration",
        vocabulary=vocabulary,
        norms=True,
        window=SlidingWindow(tokens=window, share=(layers - layers // 6) / layers),
    )


ENTRIES = (
    _gemma_1("gemma-2b", (18, 2048, 16384, 8, 1, 256)),
    _gemma_1("gemma-7b", (28, 3072, 24576, 16, 16, 256)),
    _gemma_2("gemma-2-2b", (26, 2304, 9216, 8, 4, 256)),
    _gemma_2("gemma-2-9b", (42, 3584, 14336, 16, 8, 256)),
    _gemma_2("gemma-2-27b", (46, 4608, 36864, 32, 16, 128)),
    _gemma_3("gemma-3-1b", (26, 1152, 6912, 4, 1, 256), window=512, vocabulary=262_144),
    _gemma_3("gemma-3-4b", (34, 2560, 10240, 8, 4, 256), window=1024, vocabulary=262_208),
    _gemma_3("gemma-3-12b", (48, 3840, 15360, 16, 8, 256), window=1024, vocabulary=262_208),
    _gemma_3("gemma-3-27b", (62, 5376, 21504, 32, 16, 128), window=1024, vocabulary=262_208),
)
