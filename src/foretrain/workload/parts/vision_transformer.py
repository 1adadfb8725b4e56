"""Vision transformers: an encoder whose tokens are patches of an image.

Source: dosovitskiy2021, section 3.1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from foretrain.errors import InputError
from foretrain.workload.graph import Layer, Model
from foretrain.workload.operator import Operator, Size
from foretrain.workload.parts.block import Run, layer
from foretrain.workload.parts.encoder import encoder_run
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

    def model(self, name: str, image: int) -> Model:
        """The model for square images of `image` pixels per side."""
        if not image >= 1 or image % self.patch:
            raise InputError(
                f"image must be a multiple of the {self.patch} pixels of a patch for {name}, "
                f"got {image}."
            )
        patches = (image // self.patch) ** 2
        stream = HiddenStates(
            tokens=patches + 1, hidden=self.hidden, norm=Norm.SCALE_AND_SHIFT, dropout=False
        )
        classifier = Layer(
            name="classifier",
            operators=(
                norm("final norm", stream),
                whole("classes", 1, (self.hidden, self.classes), bias=True),
            ),
            input=stream.values,
            output=0.0,
            cuttable=False,
            recomputable=False,
        )
        return Model(
            name=name,
            layers=(_patches(self, stream, patches), layer(self.run, stream), classifier),
            tokens=stream.tokens,
        )


def vision_transformer(
    *,
    patch: int,
    layers: int,
    hidden: int,
    heads: int,
    feed_forward: int | None = None,
    bias: bool = True,
    classes: int = 1000,
    channels: int = 3,
) -> VisionTransformer:
    """A vision transformer of some sizes.

    Args:
        patch: pixels per side of a patch.
        layers: of the encoder.
        hidden: width of the residual stream.
        heads: of attention.
        feed_forward: width of that part; None for four times the stream's.
        bias: whether queries, keys and values have biases.
        classes: told from the class token.
        channels: of the image.
    """
    run = encoder_run(layers, hidden, heads, feed_forward=feed_forward, bias=bias)
    return VisionTransformer(
        patch=patch, hidden=hidden, run=run, classes=classes, channels=channels
    )


def _patches(shape: VisionTransformer, stream: HiddenStates, patches: int) -> Layer:
    """Every patch becomes a token by one product; a class token and positions are added."""
    pixels = shape.channels * shape.patch * shape.patch
    product = whole("patches", patches, (pixels, shape.hidden), bias=True)
    positions = Operator(
        name="class token and positions",
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
