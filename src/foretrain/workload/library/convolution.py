"""Convolutional networks: ResNet-50 with the stride in the 3x3 convolution (v1.5)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from foretrain.errors import InputError
from foretrain.workload.graph import Layer, Model
from foretrain.workload.operator import Kind, Matrices, Operator, Size, matmul

UNSPLIT_UNIT = "part (convolutions cannot be split by the tensor axis yet)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Feature maps: `channels` squares of `side` pixels."""

    channels: int
    side: int

    @property
    def values(self) -> float:
        """Elements of all maps."""
        return float(self.channels * self.side * self.side)


def convolution(
    name: str, picture: Picture, channels: int, *, kernel: int, stride: int = 1
) -> tuple[tuple[Operator, ...], Picture]:
    """A convolution without bias and its batch normalisation, and the picture they make."""
    result = Picture(channels=channels, side=-(-picture.side // stride))
    pixels = result.side * result.side
    product = matmul(
        name,
        Matrices(
            rows=pixels,
            columns=channels,
            depth=picture.channels * kernel * kernel,
            reuse=pixels * kernel * kernel / (picture.side * picture.side),
        ),
        weights=picture.channels * channels * kernel * kernel,
        kept=Size(values=picture.values),
        units=1,
        unit=UNSPLIT_UNIT,
    )
    norm = Operator(
        name=f"{name} norm",
        kind=Kind.MEMORY,
        weights=2 * channels,
        forward=Size(values=3 * result.values),
        backward=Size(values=5 * result.values),
        kept=Size(values=result.values),
    )
    return (product, norm), result


def _pointwise(name: str, values: float, *, read: int, kept: float = 0.0) -> Operator:
    """An activation, addition or pooling; a convolution that reads its result keeps it."""
    return Operator(
        name=name,
        kind=Kind.MEMORY,
        forward=Size(values=(read + 1) * values),
        backward=Size(values=(read + 2) * values),
        kept=Size(values=kept),
    )


def _bottleneck(
    picture: Picture, width: int, *, stride: int, projection: bool
) -> tuple[tuple[Operator, ...], Picture]:
    reduce, narrow = convolution("reduce", picture, width, kernel=1)
    middle, inner = convolution("convolve", narrow, width, kernel=3, stride=stride)
    expand, result = convolution("expand", inner, 4 * width, kernel=1)
    product, norm = convolution("project", picture, 4 * width, kernel=1, stride=stride)[0]
    project = (replace(product, kept=Size()), norm)  # its input is kept by `reduce`
    operators = (
        *reduce,
        _pointwise("reduce activation", narrow.values, read=1),
        *middle,
        _pointwise("convolve activation", inner.values, read=1),
        *expand,
        *(project if projection else ()),
        _pointwise("residual activation", result.values, read=2),
    )
    return operators, result


def resnet_50(*, image: int, source: str) -> Model:
    """ResNet-50 v1.5 for square images of `image` pixels and 1000 classes.

    Source: he2016, table 1 (v1.5 moves the stride of a block into its 3x3 convolution).
    """
    if not image >= 32:
        raise InputError(f"image must be at least 32 pixels for resnet-50, got {image}.")
    stem, picture = convolution("stem", Picture(channels=3, side=image), 64, kernel=7, stride=2)
    pooled = Picture(channels=64, side=-(-picture.side // 2))
    layers = [
        Layer(
            name="stem",
            operators=(
                *stem,
                _pointwise("stem activation", picture.values, read=1),
                _pointwise("stem pooling", picture.values, read=1, kept=picture.values),
            ),
            input=3.0 * image * image,
            output=pooled.values,
            cuttable=False,
            recomputable=False,
        )
    ]
    picture = pooled
    for group, (width, repeats) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3)), start=2):
        for position, count in (("first", 1), ("rest", repeats - 1)):
            first = position == "first"
            operators, result = _bottleneck(
                picture,
                width,
                stride=2 if first and group > 2 else 1,
                projection=first,
            )
            layers.append(
                Layer(
                    name=f"group {group} {position}",
                    operators=operators,
                    repeats=count,
                    input=picture.values,
                    output=result.values,
                )
            )
            picture = result
    return Model(name="resnet-50", layers=(*layers, _classifier(picture)), source=source)


def _classifier(picture: Picture, classes: int = 1000) -> Layer:
    product = matmul(
        "classes",
        Matrices(rows=1, columns=classes, depth=picture.channels),
        weights=(picture.channels + 1) * classes,
        kept=Size(values=picture.channels),
        units=1,
        unit=UNSPLIT_UNIT,
    )
    return Layer(
        name="classifier",
        operators=(_pointwise("average pooling", picture.values, read=1), product),
        input=picture.values,
        output=0.0,
        cuttable=False,
        recomputable=False,
    )
