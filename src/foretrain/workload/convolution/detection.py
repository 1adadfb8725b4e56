"""Networks that find objects: a classifier's groups, a pyramid of pictures, and heads on them.

Heads share their weights between the pictures of a pyramid and run on one picture after the other.
Matching boxes to objects and the sum of the losses are not counted. The stem
and the first group of a backbone stay as they were trained before, and so do all its norms
(torchvision and the rules of MLPerf, from memory).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from foretrain.workload.convolution.operators import (
    Picture,
    Window,
    connection,
    loss,
    pointwise,
    square,
)
from foretrain.workload.convolution.operators import regions as regions_of
from foretrain.workload.convolution.residual import (
    ResNet,
    inverted_groups,
    resnet_groups,
    scaled_b0,
)
from foretrain.workload.convolution.trunk import POINT, ConvolutionalNetwork, Trunk

THREE = Window(size=3)
HALVE = Window(size=3, stride=2)
PYRAMID = 256
"""Channels of every picture of a pyramid. Source: lin2017, section 3."""

SSD_BOXES = (4, 6, 6, 6, 4, 4)
"""Boxes per pixel of each picture. Source: liu2016, section 3.1."""

SSD_TOTAL = 8732
"""Boxes of all pictures for images of 300 pixels. Source: liu2016, section 3.1."""


def ssd(image: int, *, backbone: ResNet, norm: bool, classes: int = 81) -> ConvolutionalNetwork:
    """SSD on the first three groups of a ResNet, the third of them without its stride.

    Args:
        image: pixels per side, 300.
        backbone: the ResNet.
        norm: whether the added convolutions are normalised.
        classes: with the background.

    Source: liu2016, figure 2; MLPerf and NVIDIA (backbone, added channels), from memory.
    """
    trunk = Trunk(square(image))
    resnet_groups(trunk, backbone, strides=(1, 2, 1))
    _ssd_heads(trunk, SSD_BOXES[0], classes)
    for index, outer in enumerate((512, 512, 256, 256, 256), start=1):
        window = HALVE if index <= 3 else Window(size=3, padding=0)
        _ssd_unit(trunk, f"reduce {index}", outer // 2, norm=norm)
        _ssd_unit(trunk, f"convolve {index}", outer, window=window, norm=norm)
        _ssd_heads(trunk, SSD_BOXES[index], classes)
    trunk.append(loss(float(SSD_TOTAL * classes)))
    return trunk.finish("heads", cuttable=False)


def _ssd_unit(
    trunk: Trunk, name: str, channels: int, *, window: Window = POINT, norm: bool
) -> None:
    trunk.convolve(name, channels, window=window, bias=not norm)
    if norm:
        trunk.normalise(f"{name} norm")
    trunk.activate(f"{name} activation")


def _ssd_heads(trunk: Trunk, boxes: int, classes: int) -> None:
    side = trunk.picture.sides[0]
    for name, features in (("corners", 4), ("classes", classes)):
        head = trunk.at(trunk.picture, kept=side > 1 or name == "classes")
        head.convolve(f"{name} {side}", boxes * features, window=THREE, bias=True)


def _pyramid(trunk: Trunk, below: Sequence[Picture]) -> list[Picture]:
    """Each picture, the smallest first, plus the one above it enlarged.

    Source: lin2017, section 3.
    """
    made = []
    for index, picture in enumerate((trunk.picture, *below)):
        side = trunk.at(picture, kept=index > 0)
        side.convolve(f"lateral {index}", PYRAMID, bias=True)
        if index:
            side.add(f"top down {index}")
        side.convolve(f"smooth {index}", PYRAMID, window=THREE, bias=True)
        made.append(side.picture)
    return made


def _heads(trunk: Trunk, pictures: Sequence[Picture], name: str, *, layers: int) -> list[Trunk]:
    """Convolutions on each picture of a pyramid, with a ReLU each."""
    heads = [trunk.at(picture, kept=name != "classes") for picture in pictures]
    for layer in range(1, layers + 1):
        _convolve_each(heads, f"{name} {layer}", PYRAMID, window=THREE)
        for place, head in enumerate(heads):
            head.activate(f"{name} {layer} activation {place}")
    return heads


def _convolve_each(heads: Sequence[Trunk], name: str, channels: int, *, window: Window) -> None:
    """One convolution on every picture; the weights are counted with the first."""
    for place, head in enumerate(heads):
        head.convolve(f"{name} {place}", channels, window=window, bias=True, shared=place > 0)


def retinanet(image: int, *, backbone: ResNet, classes: int) -> ConvolutionalNetwork:
    """RetinaNet with a pyramid from the third group on and 9 boxes per pixel.

    Source: lin2017b, section 4; torchvision (two more pictures from the pyramid's smallest).
    """
    backbone = replace(backbone, frozen=1)
    trunk = Trunk(square(image), frozen_norms=True)
    resnet_groups(trunk, backbone, carried=2)
    pictures = _pyramid(trunk, [trunk.take(), trunk.take()])
    top = trunk.at(pictures[0])
    for name in ("sixth", "seventh"):
        top.convolve(name, PYRAMID, window=HALVE, bias=True)
        pictures.append(top.picture)
    labels = _heads(trunk, pictures, "classes", layers=4)
    _convolve_each(labels, "classes", 9 * classes, window=THREE)
    labels[-1].append(loss(sum(head.picture.values for head in labels)))
    corners = _heads(trunk, pictures, "corners", layers=4)
    _convolve_each(corners, "corners", 9 * 4, window=THREE)
    return trunk.finish("heads", cuttable=False)


def mask_rcnn(
    *, backbone: ResNet, sides: tuple[int, int], classes: int = 91, proposals: int = 512
) -> ConvolutionalNetwork:
    """Mask R-CNN with a pyramid, trained on so many proposals per image, a quarter with an object.

    Source: he2017, sections 3 and 3.1; torchvision (3 boxes per pixel, sizes of the heads).
    """
    backbone = replace(backbone, frozen=1)
    trunk = Trunk(Picture(channels=3, sides=sides), frozen_norms=True)
    resnet_groups(trunk, backbone, carried=3)
    pictures = _pyramid(trunk, [trunk.take() for _ in range(3)])
    top = trunk.at(pictures[0])
    top.pool("sixth", Window(size=1, stride=2), average=True)
    _proposals(trunk, [*pictures, top.picture])
    values = PYRAMID * 7 * 7
    trunk.append(regions_of("box regions", float(proposals * values)))
    rows = (
        ("box first", values, 1024),
        ("box second", 1024, 1024),
        ("box classes", 1024, classes),
        ("box corners", 1024, 4 * classes),
    )
    for name, inputs, outputs in rows:
        trunk.append(connection(name, inputs, outputs, rows=proposals))
    head = trunk.at(Picture(channels=PYRAMID, sides=(14 * (proposals // 4), 14)), kept=False)
    head.append(regions_of("mask regions", head.picture.values))
    for index in range(1, 5):
        head.convolve(f"mask {index}", PYRAMID, window=THREE, bias=True)
        head.activate(f"mask {index} activation")
    head.enlarge("mask enlarge", PYRAMID)
    head.activate("mask enlarge activation")
    head.convolve("masks", classes, bias=True)
    return trunk.finish("heads", cuttable=False)


def _proposals(trunk: Trunk, pictures: Sequence[Picture]) -> None:
    heads = [trunk.at(picture, kept=False) for picture in pictures]
    _convolve_each(heads, "proposals", PYRAMID, window=THREE)
    for place, head in enumerate(heads):
        head.activate(f"proposals activation {place}")
    corners = [head.fork() for head in heads]
    _convolve_each(heads, "proposal scores", 3, window=POINT)
    _convolve_each(corners, "proposal corners", 12, window=POINT)


BOXES = 9
"""Boxes per pixel of EfficientDet. Source: tan2020, section 3.2."""


def efficientdet(
    image: int, *, channels: int, crossings: int, layers: int, classes: int
) -> ConvolutionalNetwork:
    """EfficientDet on EfficientNet-B0: a pyramid crossed both ways several times, light heads.

    Args:
        image: pixels per side.
        channels: of the pyramid and the heads.
        crossings: times that the pyramid is crossed down and up.
        layers: convolutions of each head.
        classes: of objects.

    Source: tan2020, table 1 and section 3.2.
    """
    trunk = Trunk(square(image))
    inverted_groups(trunk, scaled_b0(width=1.0, depth=1.0), carried=frozenset({3, 5}))
    pictures = _resampled(trunk, channels)
    for crossing in range(1, crossings + 1):
        _cross(trunk, pictures, name=f"crossing {crossing}")
    for name, features in (("classes", classes), ("corners", 4)):
        # Convolutions that all levels share, each followed by a normalisation of every level.
        heads = [trunk.at(picture, kept=name != "classes") for picture in pictures]
        for place, head in enumerate(heads):
            for index in range(1, layers + 1):
                label = f"{name} {index} {place}"
                _separable(head, label, channels, shared=place > 0)
                head.normalise(f"{label} norm")
                head.activate(f"{label} activation", smooth=True)
            _separable(head, f"{name} {place}", BOXES * features, shared=place > 0)
        if name == "classes":
            heads[-1].append(loss(sum(head.picture.values for head in heads)))
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


DARKNET = ((64, 1), (128, 2), (256, 8), (512, 8), (1024, 4))
"""Channels and residual blocks. Source: redmon2018, table 1."""


def yolo_v3(image: int, *, classes: int) -> ConvolutionalNetwork:
    """YOLOv3: Darknet-53 and three heads with three boxes per pixel, leaky ReLU in place.

    Source: redmon2018, sections 2.3 and 2.4, and its published configuration.
    """
    trunk = Trunk(square(image))
    trunk.unit("stem", 32, window=THREE)
    trunk.section("stem", cuttable=False)
    for group, (channels, blocks) in enumerate(DARKNET, start=1):
        trunk.unit("halve", channels, window=HALVE)
        trunk.section(f"group {group} first")
        trunk.unit("reduce", channels // 2)
        trunk.unit("convolve", channels, window=THREE)
        trunk.add("residual")
        trunk.section(f"group {group} rest", repeats=blocks)
        if group in {3, 4}:
            trunk.skip()
    for head, channels in enumerate((512, 256, 128), start=1):
        if head > 1:
            # Half the channels at twice the side, beside the picture that was carried.
            trunk.unit("narrow", channels)
            carried = trunk.take()
            larger = Picture(channels=channels, sides=carried.sides)
            trunk.append(pointwise("enlarge", larger.values, read=1), larger)
            trunk.join("join", trunk.at(carried))
        for index in (1, 2):
            trunk.unit(f"narrow {index}", channels)
            trunk.unit(f"convolve {index}", 2 * channels, window=THREE)
        trunk.unit("narrow 3", channels)
        branch = trunk.fork() if head < 3 else trunk
        branch.unit("output convolve", 2 * channels, window=THREE)
        branch.convolve("output", 3 * (5 + classes), bias=True)
        if head < 3:
            trunk.section(f"head {head}")
    return trunk.finish("head 3")
