"""DeepSeek and Kimi: latent attention and many narrow experts after a few dense layers."""

from __future__ import annotations

from dataclasses import replace

from foretrain.workload.library.entry import Entry
from foretrain.workload.library.text import language, text_entry
from foretrain.workload.parts.attention import Heads
from foretrain.workload.parts.block import Block, Mixer, Run
from foretrain.workload.parts.experts import Experts
from foretrain.workload.parts.feed_forward import FeedForward
from foretrain.workload.parts.language_model import LanguageModel
from foretrain.workload.parts.latent import Latent

_V2 = "deepseek2024, section 3.1.2 and the published configuration"
_V3 = "deepseek2024v3, section 4.2 and the published configuration"


def _gated(width: int) -> FeedForward:
    return FeedForward(width=width, gated=True)


def _latent(heads: int, query_rank: int | None) -> Latent:
    return Latent(heads=heads, query_rank=query_rank, key_rank=512, plain=128, rotary=64, value=128)


def _experts(count: int, chosen: int, width: int, *, shared: int, bias: bool = False) -> Experts:
    """`shared` experts of the same width stand side by side as one part."""
    return Experts(
        count=count,
        chosen=chosen,
        each=_gated(width),
        shared=_gated(shared * width),
        router_bias=bias,
    )


def _shape(
    sizes: tuple[int, int, int],
    mixer: Mixer,
    sparse: Experts,
    *,
    dense_layers: int,
    dense_width: int,
) -> LanguageModel:
    """`sizes`: layers, hidden, vocabulary."""
    layers, hidden, vocabulary = sizes
    dense = Block(mixer=mixer, feed_forward=_gated(dense_width))
    runs = (
        Run(blocks=(dense,), repeats=dense_layers, name="dense block"),
        Run(blocks=(Block(mixer=mixer, feed_forward=sparse),), repeats=layers - dense_layers),
    )
    return language(hidden, vocabulary, runs)


_DEEPSEEK_V3 = _shape(
    (61, 7168, 129_280),
    _latent(128, 1536),
    _experts(256, 8, 2048, shared=1, bias=True),
    dense_layers=3,
    dense_width=18_432,
)


def _deepseek(name: str, shape: LanguageModel, source: str, *aliases: str) -> Entry:
    return text_entry(name, shape, kind="DeepSeek decoder", source=source, aliases=aliases)


ENTRIES = (
    _deepseek(
        "deepseek-moe-16b",
        _shape(
            (28, 2048, 102_400),
            Heads(heads=16, kv_heads=16, width=128),
            _experts(64, 6, 1408, shared=2),
            dense_layers=1,
            dense_width=10_944,
        ),
        "dai2024, published configuration",
    ),
    _deepseek(
        "deepseek-v2-lite",
        _shape(
            (27, 2048, 102_400),
            _latent(16, None),
            _experts(64, 6, 1408, shared=2),
            dense_layers=1,
            dense_width=10_944,
        ),
        _V2,
    ),
    _deepseek(
        "deepseek-v2",
        _shape(
            (60, 5120, 102_400),
            _latent(128, 1536),
            _experts(160, 6, 1536, shared=2),
            dense_layers=1,
            dense_width=12_288,
        ),
        _V2,
    ),
    _deepseek("deepseek-v3", _DEEPSEEK_V3, _V3, "deepseek-r1"),
    _deepseek("deepseek-v3-mtp", replace(_DEEPSEEK_V3, predictions=1), _V3),
    text_entry(
        "kimi-k2",
        _shape(
            (61, 7168, 163_840),
            _latent(64, 1536),
            _experts(384, 8, 2048, shared=1, bias=True),
            dense_layers=1,
            dense_width=18_432,
        ),
        kind="Kimi decoder",
        source="kimi2025, table 2 and the published configuration",
    ),
)
