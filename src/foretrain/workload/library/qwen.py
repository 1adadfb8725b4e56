"""Qwen: biases of queries, keys and values up to Qwen2.5, norms of queries and keys in Qwen3."""

from __future__ import annotations

from foretrain.workload.library.entry import Entry
from foretrain.workload.library.text import language, text_entry
from foretrain.workload.parts.attention import Heads
from foretrain.workload.parts.block import Block, Run
from foretrain.workload.parts.experts import Experts
from foretrain.workload.parts.feed_forward import FeedForward

_QWEN_2 = "yang2024, table 1 and the published configuration"
_QWEN_2_5 = "yang2024qwen25, table 1 and the published configuration"
_QWEN_3 = "yang2025, tables 1 and 2, and the published configuration"

Sizes = tuple[int, int, int, int, int]
"""Layers, hidden, width of a feed-forward part (of one expert), heads, kv_heads."""


def _qwen_2(
    name: str, sizes: Sizes, vocabulary: int, *, source: str = _QWEN_2, tied: bool = False
) -> Entry:
    layers, hidden, width, heads, kv_heads = sizes
    block = Block(
        mixer=Heads(heads=heads, kv_heads=kv_heads, width=hidden // heads, bias=True),
        feed_forward=FeedForward(width=width, gated=True),
    )
    shape = language(hidden, vocabulary, Run(blocks=(block,), repeats=layers), tied=tied)
    return text_entry(name, shape, kind="Qwen decoder", source=source)


def _qwen_2_moe(name: str, sizes: Sizes, *, count: int, chosen: int, shared: int) -> Entry:
    layers, hidden, width, heads, kv_heads = sizes
    block = Block(
        mixer=Heads(heads=heads, kv_heads=kv_heads, width=hidden // heads, bias=True),
        feed_forward=Experts(
            count=count,
            chosen=chosen,
            each=FeedForward(width=width, gated=True),
            shared=FeedForward(width=shared, gated=True),
            shared_gate=True,
        ),
    )
    shape = language(hidden, 151_936, Run(blocks=(block,), repeats=layers))
    return text_entry(name, shape, kind="Qwen decoder", source=_QWEN_2)


def _qwen_3(name: str, sizes: Sizes, *aliases: str, experts: int = 0, tied: bool = False) -> Entry:
    layers, hidden, width, heads, kv_heads = sizes
    each = FeedForward(width=width, gated=True)
    block = Block(
        mixer=Heads(heads=heads, kv_heads=kv_heads, width=128, norms=True),
        feed_forward=Experts(count=experts, chosen=8, each=each) if experts else each,
    )
    shape = language(hidden, 151_936, Run(blocks=(block,), repeats=layers), tied=tied)
    return text_entry(name, shape, kind="Qwen3 decoder", source=_QWEN_3, aliases=aliases)


ENTRIES = (
    _qwen_2("qwen2-0.5b", (24, 896, 4864, 14, 2), 151_936, tied=True),
    _qwen_2("qwen2-1.5b", (28, 1536, 8960, 12, 2), 151_936, tied=True),
    _qwen_2("qwen2-7b", (28, 3584, 18944, 28, 4), 152_064),
    _qwen_2("qwen2-72b", (80, 8192, 29568, 64, 8), 152_064),
    _qwen_2_moe("qwen1.5-moe-a2.7b", (24, 2048, 1408, 16, 16), count=60, chosen=4, shared=5632),
    _qwen_2_moe("qwen2-57b-a14b", (28, 3584, 2560, 28, 4), count=64, chosen=8, shared=20_480),
    _qwen_2("qwen2.5-0.5b", (24, 896, 4864, 14, 2), 151_936, source=_QWEN_2_5, tied=True),
    _qwen_2("qwen2.5-1.5b", (28, 1536, 8960, 12, 2), 151_936, source=_QWEN_2_5, tied=True),
    _qwen_2("qwen2.5-3b", (36, 2048, 11008, 16, 2), 151_936, source=_QWEN_2_5, tied=True),
    _qwen_2("qwen2.5-7b", (28, 3584, 18944, 28, 4), 152_064, source=_QWEN_2_5),
    _qwen_2("qwen2.5-14b", (48, 5120, 13824, 40, 8), 152_064, source=_QWEN_2_5),
    _qwen_2("qwen2.5-32b", (64, 5120, 27648, 40, 8), 152_064, source=_QWEN_2_5),
    _qwen_2("qwen2.5-72b", (80, 8192, 29568, 64, 8), 152_064, source=_QWEN_2_5),
    _qwen_3("qwen3-0.6b", (28, 1024, 3072, 16, 8), tied=True),
    _qwen_3("qwen3-1.7b", (28, 2048, 6144, 16, 8), tied=True),
    _qwen_3("qwen3-4b", (36, 2560, 9728, 32, 8), tied=True),
    _qwen_3("qwen3-8b", (36, 4096, 12288, 32, 8)),
    _qwen_3("qwen3-14b", (40, 5120, 17408, 40, 8)),
    _qwen_3("qwen3-32b", (64, 5120, 25600, 64, 8)),
    _qwen_3("qwen3-30b-a3b", (48, 2048, 768, 32, 4), "qwen3-30b", experts=128),
    _qwen_3("qwen3-235b-a22b", (94, 4096, 1536, 64, 4), "qwen3-235b", experts=128),
)
