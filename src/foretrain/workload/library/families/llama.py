"""Llama and decoders of its shape: gated feed-forward parts, rotary positions, grouped queries."""

from __future__ import annotations

from functools import partial

from foretrain.workload.graph import Model
from foretrain.workload.library.entry import Entry
from foretrain.workload.library.transformer import Decoder, decoder

_LLAMA_2 = "touvron2023, table 1 and the published configuration"
_LLAMA_3 = "grattafiori2024, table 3"


def _build(shape: Decoder, sequence: int) -> Model:
    return decoder("llama", shape, sequence=sequence)


def _llama(
    name: str,
    sizes: tuple[int, int, int, int, int],
    vocabulary: int,
    *,
    source: str,
    aliases: tuple[str, ...] = (),
) -> Entry:
    """`sizes`: layers, hidden, feed_forward, heads, kv_heads."""
    layers, hidden, feed_forward, heads, kv_heads = sizes
    shape = Decoder(
        layers=layers,
        hidden=hidden,
        feed_forward=feed_forward,
        heads=heads,
        kv_heads=kv_heads,
        vocabulary=vocabulary,
        gated=True,
    )
    return Entry(
        name=name,
        summary=f"Llama decoder, {layers} layers of {hidden}, {heads} heads ({kv_heads} key-value)",
        source=source,
        build=partial(_build, shape),
        shape=shape,
        aliases=aliases,
    )


ENTRIES = (
    _llama("llama-2-7b", (32, 4096, 11008, 32, 32), 32_000, source=_LLAMA_2),
    _llama("llama-2-13b", (40, 5120, 13824, 40, 40), 32_000, source=_LLAMA_2),
    _llama("llama-2-70b", (80, 8192, 28672, 64, 8), 32_000, source=_LLAMA_2),
    _llama(
        "llama-3-8b",
        (32, 4096, 14336, 32, 8),
        128_256,
        source=_LLAMA_3,
        aliases=("llama-3.1-8b",),
    ),
    _llama(
        "llama-3-70b",
        (80, 8192, 28672, 64, 8),
        128_256,
        source=_LLAMA_3,
        aliases=("llama-3.1-70b",),
    ),
    _llama(
        "llama-3-405b",
        (126, 16384, 53248, 128, 8),
        128_256,
        source=_LLAMA_3,
        aliases=("llama-3.1-405b",),
    ),
)
