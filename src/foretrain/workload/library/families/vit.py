"""Vision transformers."""

from __future__ import annotations

from functools import partial

from foretrain.workload.graph import Model
from foretrain.workload.library.entry import Entry, Reads
from foretrain.workload.library.families.bert import encoder
from foretrain.workload.library.vision import VisionTransformer, vision_transformer


def _build(name: str, shape: VisionTransformer, image: int) -> Model:
    return vision_transformer(name, shape, image=image)


def _vit(name: str, sizes: tuple[int, int, int], *, patch: int) -> Entry:
    """`sizes`: layers, hidden, heads."""
    layers, hidden, _ = sizes
    shape = VisionTransformer(patch=patch, hidden=hidden, run=encoder(sizes))
    return Entry(
        name=name,
        summary=f"vision transformer, {layers} layers of {hidden}, patches of {patch}",
        source="dosovitskiy2021, table 1",
        reads=Reads.IMAGE,
        build=partial(_build, name, shape),
        shape=shape,
    )


ENTRIES = (
    _vit("vit-b-16", (12, 768, 12), patch=16),
    _vit("vit-b-32", (12, 768, 12), patch=32),
    _vit("vit-l-16", (24, 1024, 16), patch=16),
    _vit("vit-h-14", (32, 1280, 16), patch=14),
)
