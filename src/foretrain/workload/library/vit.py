"""Vision transformers: an encoder whose tokens are patches of an image.

Source: dosovitskiy2021, section 3.1.

Vision transformers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from foretrain.errors import InputError
from foretrain.workload.graph import Layer, Model
from foretrain.workload.library.bert import encoder
from foretrain.workload.library.entry import Entry, SampleKind
from foretrain.workload.operator import Operator, OperatorKind, Size
from foretrain.workload.parts.block import Run, layer
from foretrain.workload.parts.ends import whole
from foretrain.workload.parts.stream import HiddenStates, Norm, at_least, norm


@dataclass(frozen=True, slots=True, kw_only=True)
class VisionTransformer:
    """The shape of a vision transformer.

    Attributes:
        patch: pixels per side of a patch.
        hidden: width of the residual stream.
        run: layers of the encoder.
        classes: told from the class token.
        channels: of the image.
    """

    patch: int
    hidden: int
    run: Run
    classes: int = 1000
    channels: int = 3

    def __post_init__(self) -> None:
        at_least(self, 1, "patch", "hidden", "classes", "channels")


def vision_transformer(
    name: str, shape: VisionTransformer, *, image: int, source: str = ""
) -> Model:
    """The model of a shape for square images of `image` pixels per side."""
    if not image >= 1 or image % shape.patch:
        raise InputError(
            f"image must be a multiple of the {shape.patch} pixels of a patch for {name}, "
            f"got {image}."
        )
    patches = (image // shape.patch) ** 2
    stream = HiddenStates(
        tokens=patches + 1, hidden=shape.hidden, norm=Norm.SCALE_AND_SHIFT, dropout=False
    )
    return Model(
        name=name,
        layers=(
            _patches(shape, stream, patches),
            layer(shape.run, stream),
            _classifier(shape, stream),
        ),
        tokens=stream.tokens,
        source=source,
    )


def _patches(shape: VisionTransformer, stream: HiddenStates, patches: int) -> Layer:
    """Every patch becomes a token by one product; a class token and positions are added."""
    pixels = shape.channels * shape.patch * shape.patch
    product = whole("patches", patches, (pixels, shape.hidden), bias=True)
    positions = Operator(
        name="class token and positions",
        kind=OperatorKind.MEMORY,
        weights=(stream.tokens + 1) * shape.hidden,
        forward=Size(values=3 * stream.values),
        backward=Size(values=2 * stream.values),
        sequence=True,
    )
    return Layer(
        name="embedding",
        operators=(replace(product, sequence=False), positions),
        input=patches * pixels,
        output=stream.values,
        cuttable=False,
        recomputable=False,
    )


def _classifier(shape: VisionTransformer, stream: HiddenStates) -> Layer:
    return Layer(
        name="classifier",
        operators=(
            norm("final norm", stream),
            whole("classes", 1, (shape.hidden, shape.classes), bias=True),
        ),
        input=stream.values,
        output=0.0,
        cuttable=False,
        recomputable=False,
    )


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
        reads=SampleKind.IMAGE,
        build=partial(_build, name, shape),
        shape=shape,
    )


ENTRIES = (
    _vit("vit-b-16", (12, 768, 12), patch=16),
    _vit("vit-b-32", (12, 768, 12), patch=32),
    _vit("vit-l-16", (24, 1024, 16), patch=16),
    _vit("vit-h-14", (32, 1280, 16), patch=14),
)
