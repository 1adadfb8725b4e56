"""Transformer-XL as NVIDIA's examples train it on WikiText-103."""

from __future__ import annotations

from functools import partial

from foretrain.workload.graph import Model
from foretrain.workload.library.entry import Entry
from foretrain.workload.library.transformer_xl import TransformerXL, transformer_xl

_WIKITEXT = (19_997, 20_000, 160_000, 67_738)
"""Words of WikiText-103 in the clusters of dai2019, 267,735 in all."""


def _entry(name: str, shape: TransformerXL, *, source: str) -> Entry:
    return Entry(
        name=name,
        summary=f"Transformer-XL, {shape.layers} layers of {shape.hidden}, {shape.heads} heads, "
        "attends to as many tokens before a sample",
        source=source,
        build=partial(_build, shape),
        shape=shape,
    )


def _build(shape: TransformerXL, sequence: int) -> Model:
    return transformer_xl("", shape, sequence=sequence)


ENTRIES = (
    _entry(
        "transformer-xl-base",
        TransformerXL(layers=16, hidden=512, heads=8, feed_forward=2048, clusters=_WIKITEXT),
        source="dai2019, section 4.1; sizes of NVIDIA's base model, from memory",
    ),
    _entry(
        "transformer-xl-large",
        TransformerXL(
            layers=18,
            hidden=1024,
            heads=16,
            feed_forward=4096,
            clusters=_WIKITEXT,
            narrowing=4,
        ),
        source="dai2019, section 4.1 and the published configuration, from memory",
    ),
)
