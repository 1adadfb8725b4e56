"""EfficientDet: a pyramid that is crossed both ways several times, and light heads."""

from __future__ import annotations

from dataclasses import dataclass, replace

from foretrain.workload.convolution.inverted import Inverted, inverted_groups
from foretrain.workload.convolution.operators import loss, pointwise
from foretrain.workload.convolution.picture import Picture, Window, square
from foretrain.workload.convolution.trunk import ConvolutionalNetwork, Trunk

THREE = Window(size=3)
HALVE = Window(size=3, stride=2)
BOXES = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class EfficientDet:
    """The shape of an EfficientDet.

    Attributes:
        backbone: an EfficientNet, of which three pictures are read.
        channels: of the pyramid and the heads.
        crossings: times that the pyramid is crossed down and up.
        layers: convolutions of each head.
        classes: of objects.
    """

    backbone: Inverted
    channels: int
    crossings: int
    layers: int
    classes: int = 90


def efficientdet(shape: EfficientDet, image: int) -> ConvolutionalNetwork:
    """EfficientDet for square images.

    Source: tan2020, table 1 and section 3.2.
    """
    trunk = Trunk(square(image))
    inverted_groups(trunk, shape.backbone, carried=frozenset({3, 5}))
    pictures = _resampled(trunk, shape.channels)
    for crossing in range(1, shape.crossings + 1):
        _cross(trunk, pictures, name=f"crossing {crossing}")
    for name, features in (("classes", shape.classes), ("corners", 4)):
        _head(trunk, pictures, shape, name=name, features=BOXES * features)
    return trunk.finish("heads", cuttable=False)


def _resampled(trunk: Trunk, channels: int) -> list[Picture]:
    """Five pictures of equal channels, the largest first.

    The fourth and fifth level are resampled twice, once for each way of the first crossing.
    """
    fifth, fourth, third = trunk.picture, trunk.take(), trunk.take()
    made = []
    for level, (picture, copies) in enumerate(((third, 1), (fourth, 2), (fifth, 2)), start=3):
        for copy in range(copies):
            branch = trunk.at(picture, kept=picture != fifth or copy > 0)
            branch.convolve(f"resample {level} {copy}", channels, bias=True)
            branch.normalise(f"resample {level} {copy} norm")
        made.append(branch.picture)
    branch = trunk.at(fifth)
    branch.convolve("resample 6", channels, bias=True)
    branch.normalise("resample 6 norm")
    for level in (6, 7):
        branch.pool(f"pool {level}", HALVE)
        made.append(branch.picture)
    return made


def _cross(trunk: Trunk, pictures: list[Picture], *, name: str) -> None:
    """Levels 6 to 3 on the way down, levels 4 to 7 on the way up."""
    down = [(level, 2) for level in (6, 5, 4, 3)]
    up = [(4, 3), (5, 3), (6, 3), (7, 2)]
    for way, levels in (("down", down), ("up", up)):
        for level, read in levels:
            node = trunk.at(pictures[level - 3], kept=False)
            label = f"{name} {way} {level}"
            # Pictures times one trained weight each.
            node.append(
                replace(
                    pointwise(
                        f"{label} sum",
                        node.picture.values,
                        read=read,
                        kept=read * node.picture.values,
                    ),
                    weights=read,
                )
            )
            node.activate(f"{label} activation", smooth=True)
            _separable(node, label, node.picture.channels)
            node.normalise(f"{label} norm")


def _separable(trunk: Trunk, name: str, channels: int, *, shared: bool = False) -> None:
    depthwise, groups = f"{name} depthwise", trunk.picture.channels
    trunk.convolve(depthwise, groups, window=THREE, groups=groups, shared=shared)
    trunk.convolve(name, channels, bias=True, shared=shared)


def _head(
    trunk: Trunk, pictures: list[Picture], shape: EfficientDet, *, name: str, features: int
) -> None:
    """Convolutions that all levels share, each followed by a normalisation of every level."""
    heads = [trunk.at(picture, kept=name != "classes") for picture in pictures]
    for place, head in enumerate(heads):
        for index in range(1, shape.layers + 1):
            label = f"{name} {index} {place}"
            _separable(head, label, shape.channels, shared=place > 0)
            head.normalise(f"{label} norm")
            head.activate(f"{label} activation", smooth=True)
        _separable(head, f"{name} {place}", features, shared=place > 0)
    if name == "classes":
        heads[-1].append(loss(sum(head.picture.values for head in heads)))
