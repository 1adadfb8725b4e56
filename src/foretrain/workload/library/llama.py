"""Llama and decoders of its shape: Mistral, Mixtral, Phi-3.

Gated feed-forward parts, rotary positions, grouped queries.
"""

from __future__ import annotations

from foretrain.workload.library.entry import Entry
from foretrain.workload.library.text import language, text_entry
from foretrain.workload.parts.attention import Heads, SlidingWindow
from foretrain.workload.parts.block import Block, Run
from foretrain.workload.parts.experts import Experts
from foretrain.workload.parts.feed_forward import FeedForward

_LLAMA_1 = "touvron2023llama, table 2"
_LLAMA_2 = "touvron2023, table 1 and the published configuration"
_LLAMA_3 = "grattafiori2024, table 3"
_LLAMA_3_2 = "grattafiori2024, published configuration of Llama 3.2"
_PHI_3 = "abdin2024, section 2 and the published configuration"

Sizes = tuple[int, int, int, int, int]
"""Layers, hidden, feed_forward, heads, kv_heads."""


def _dense(
    name: str,
    sizes: Sizes,
    vocabulary: int,
    *,
    source: str,
    kind: str = "Llama decoder",
    tied: bool = False,
    bias: bool = False,
    window: SlidingWindow | None = None,
    aliases: tuple[str, ...] = (),
) -> Entry:
    layers, hidden, feed_forward, heads, kv_heads = sizes
    block = Block(
        mixer=Heads(
            heads=heads,
            kv_heads=kv_heads,
            width=hidden // heads,
            bias=bias,
            output_bias=bias,
            window=window,
        ),
        feed_forward=FeedForward(width=feed_forward, gated=True),
    )
    shape = language(hidden, vocabulary, Run(blocks=(block,), repeats=layers), tied=tied)
    return text_entry(name, shape, kind=kind, source=source, aliases=aliases)


def _mixtral(name: str, sizes: Sizes, vocabulary: int) -> Entry:
    layers, hidden, feed_forward, heads, kv_heads = sizes
    each = FeedForward(width=feed_forward, gated=True)
    block = Block(
        mixer=Heads(heads=heads, kv_heads=kv_heads, width=128),
        feed_forward=Experts(count=8, chosen=2, each=each),
    )
    shape = language(hidden, vocabulary, Run(blocks=(block,), repeats=layers))
    source = "jiang2024mixtral, table 1 and the published configuration"
    return text_entry(name, shape, kind="Mixtral decoder", source=source)


def _llama_4(name: str, *, experts: int, dense: int) -> Entry:
    """The text part; three of four layers see 8192 tokens. `dense` of two blocks have experts."""
    each = FeedForward(width=8192, gated=True)
    heads = Heads(heads=40, kv_heads=8, width=128, window=SlidingWindow(tokens=8192, share=3 / 4))
    sparse = Block(
        mixer=heads, feed_forward=Experts(count=experts, chosen=1, each=each, shared=each)
    )
    plain = Block(mixer=heads, feed_forward=FeedForward(width=16_384, gated=True))
    run = Run(blocks=(plain,) * dense + (sparse,), repeats=48 // (1 + dense))
    return text_entry(
        name,
        language(5120, 202_048, run),
        kind="Llama 4 decoder",
        source="llama4, published configuration (from memory)",
    )


ENTRIES = (
    _dense("llama-1-7b", (32, 4096, 11008, 32, 32), 32_000, source=_LLAMA_1),
    _dense("llama-1-13b", (40, 5120, 13824, 40, 40), 32_000, source=_LLAMA_1),
    _dense("llama-1-33b", (60, 6656, 17920, 52, 52), 32_000, source=_LLAMA_1),
    _dense(
        "llama-1-65b",
        (80, 8192, 22016, 64, 64),
        32_000,
        source=_LLAMA_1,
        aliases=("llama-65b",),
    ),
    _dense("llama-2-7b", (32, 4096, 11008, 32, 32), 32_000, source=_LLAMA_2),
    _dense("llama-2-13b", (40, 5120, 13824, 40, 40), 32_000, source=_LLAMA_2),
    _dense("llama-2-70b", (80, 8192, 28672, 64, 8), 32_000, source=_LLAMA_2),
    _dense(
        "llama-3-8b",
        (32, 4096, 14336, 32, 8),
        128_256,
        source=_LLAMA_3,
        aliases=("llama-3.1-8b", "llama-3-8b-/-3.1-8b"),
    ),
    _dense(
        "llama-3-70b",
        (80, 8192, 28672, 64, 8),
        128_256,
        source=_LLAMA_3,
        aliases=("llama-3.1-70b", "llama-3.3-70b", "llama-3-70b-/-3.1-70b"),
    ),
    _dense(
        "llama-3-405b",
        (126, 16384, 53248, 128, 8),
        128_256,
        source=_LLAMA_3,
        aliases=("llama-3.1-405b",),
    ),
    _dense("llama-3.2-1b", (16, 2048, 8192, 32, 8), 128_256, source=_LLAMA_3_2, tied=True),
    _dense("llama-3.2-3b", (28, 3072, 8192, 24, 8), 128_256, source=_LLAMA_3_2, tied=True),
    _llama_4("llama-4-scout", experts=16, dense=0),
    _llama_4("llama-4-maverick", experts=128, dense=1),
    _dense(
        "code-llama-34b",
        (48, 8192, 22016, 64, 8),
        32_000,
        source="roziere2023, published configuration",
        aliases=("codellama-34b", "34b-(llama-2-like)"),
    ),
    _dense(
        "internlm-7b",
        (32, 4096, 11008, 32, 32),
        103_168,
        source="internlm2023, published configuration",
        kind="InternLM decoder",
        bias=True,
    ),
    _dense(
        "mistral-7b",
        (32, 4096, 14336, 32, 8),
        32_000,
        source="jiang2023, table 1",
        kind="Mistral decoder",
        window=SlidingWindow(tokens=4096),
    ),
    _mixtral("mixtral-8x7b", (32, 4096, 14336, 32, 8), 32_000),
    _mixtral("mixtral-8x22b", (56, 6144, 16384, 48, 8), 32_768),
    _dense("phi-3-mini", (32, 3072, 8192, 32, 32), 32_064, source=_PHI_3, kind="Phi-3 decoder"),
    _dense("phi-3-medium", (40, 5120, 17920, 40, 10), 32_064, source=_PHI_3, kind="Phi-3 decoder"),
)
