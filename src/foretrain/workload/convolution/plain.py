"""Networks without residual connections, plain and with branches.

Networks without branches: LeNet, AlexNet, OverFeat, VGG, Adam's, CosmoFlow.

GoogLeNet (Inception v1) and Inception v3: branches side by side, joined by channels.
"""

from __future__ import annotations

from collections.abc import Sequence

from foretrain.workload.convolution.operators import Window, cube, square
from foretrain.workload.convolution.trunk import ConvolutionalNetwork, Trunk

HALF = Window(size=2, stride=2, padding=0)
OVERLAPPING = Window(size=3, stride=2, padding=0)


def _convolution(
    trunk: Trunk, name: str, channels: int, *, window: Window, groups: int = 1
) -> None:
    """A convolution with bias and its ReLU."""
    trunk.convolve(name, channels, window=window, groups=groups, bias=True)
    trunk.activate(f"{name} activation")


def _classifier(trunk: Trunk, hidden: Sequence[int], classes: int) -> ConvolutionalNetwork:
    """Fully connected layers, each a section of its own."""
    for index, features in enumerate(hidden, start=1):
        trunk.connect("connect", features)
        trunk.activate("activation")
        trunk.section(f"connected {index}")
    trunk.connect("classes", classes)
    return trunk.finish("classifier")


def lenet_5(image: int) -> ConvolutionalNetwork:
    """LeNet-5 for ten digits; the second convolution reads every map.

    Source: lecun1998, figure 2 (whose second convolution reads some maps only).
    """
    trunk = Trunk(square(image, channels=1))
    for index, (channels, padding) in enumerate(((6, 2), (16, 0)), start=1):
        _convolution(trunk, "convolve", channels, window=Window(size=5, padding=padding))
        trunk.pool("pooling", HALF)
        trunk.section(f"convolution {index}")
    return _classifier(trunk, (120, 84), 10)


def mnist(image: int) -> ConvolutionalNetwork:
    """Two convolutions and two connected layers: the size that MNIST examples of frameworks have.

    Assumed: 32 and 64 channels of 5 x 5 windows, 512 connected features.
    """
    trunk = Trunk(square(image, channels=1))
    for index, channels in enumerate((32, 64), start=1):
        _convolution(trunk, "convolve", channels, window=Window(size=5))
        trunk.pool("pooling", HALF)
        trunk.section(f"convolution {index}")
    return _classifier(trunk, (512,), 10)


def alexnet(
    image: int,
    *,
    channels: tuple[int, int, int, int, int],
    hidden: tuple[int, ...] = (4096, 4096),
    classes: int = 1000,
    groups: int = 1,
) -> ConvolutionalNetwork:
    """Five convolutions, three of them before a pooling, and connected layers.

    Args:
        image: pixels per side.
        channels: of the five convolutions.
        hidden: features of the connected layers.
        classes: outputs of the classifier.
        groups: of the second, fourth and fifth convolution (2 for the original's two devices).

    Source: krizhevsky2012, section 3.5 (two groups); krizhevsky2014 (one).
    """
    windows = (
        Window(size=11, stride=4, padding=2),
        Window(size=5),
        Window(size=3),
        Window(size=3),
        Window(size=3),
    )
    trunk = Trunk(square(image))
    for index, (width, window) in enumerate(zip(channels, windows, strict=True), start=1):
        split = groups if index in {2, 4, 5} else 1
        _convolution(trunk, "convolve", width, window=window, groups=split)
        if index in {1, 2} and groups > 1:
            trunk.activate("local response", smooth=True)
        if index in {1, 2, 5}:
            trunk.pool("pooling", OVERLAPPING)
        trunk.section(f"convolution {index}")
    if trunk.picture.sides != (6, 6):
        trunk.average("average pooling", sides=6)
    return _classifier(trunk, hidden, classes)


def overfeat(image: int) -> ConvolutionalNetwork:
    """OverFeat, fast model, for images of 231 pixels.

    Source: sermanet2014, table 1.
    """
    rows = (
        (96, Window(size=11, stride=4, padding=0), True),
        (256, Window(size=5, padding=0), True),
        (512, Window(size=3), False),
        (1024, Window(size=3), False),
        (1024, Window(size=3), True),
    )
    trunk = Trunk(square(image))
    for index, (channels, window, pooled) in enumerate(rows, start=1):
        _convolution(trunk, "convolve", channels, window=window)
        if pooled:
            trunk.pool("pooling", HALF)
        trunk.section(f"convolution {index}")
    return _classifier(trunk, (3072, 4096), 1000)


def vgg(image: int, *, convolutions: tuple[int, ...]) -> ConvolutionalNetwork:
    """VGG without normalisation.

    Args:
        image: pixels per side.
        convolutions: of 3 x 3, between two poolings.

    Source: simonyan2015, table 1.
    """
    trunk = Trunk(square(image))
    for group, (channels, count) in enumerate(
        zip((64, 128, 256, 512, 512), convolutions, strict=True), start=1
    ):
        for index in range(1, count + 1):
            _convolution(trunk, "convolve", channels, window=Window(size=3))
            if index == count:
                trunk.pool("pooling", HALF)
            trunk.section(f"convolution {group}.{index}")
    if trunk.picture.sides != (7, 7):
        trunk.average("average pooling", sides=7)
    return _classifier(trunk, (4096, 4096), 1000)


def cosmoflow_512(image: int) -> ConvolutionalNetwork:
    """CosmoFlow for volumes of 512 pixels a side with 4 channels.

    Reconstructed from what is published of it: 2,128,064 weights without biases, 4 x 512^3 and
    16 x 255^3 values before the first two convolutions, 32 x 253^3 after the second.

    Source: kahira2021 (of the windows, only the first two are certain).
    """
    trunk = Trunk(cube(image, channels=4))
    rows = ((16, 3), (32, 3), (64, 3), (128, 3), (256, 2), (256, 2), (256, 2))
    for index, (channels, size) in enumerate(rows, start=1):
        trunk.convolve("convolve", channels, window=Window(size=size, padding=0))
        trunk.activate("activation")
        if min(trunk.picture.sides) > 1:
            trunk.pool("pooling", HALF, average=True)
        trunk.section(f"convolution {index}")
    trunk.connect("connect", 256, bias=False)
    trunk.activate("activation")
    trunk.section("connected")
    trunk.connect("parameters", 4, bias=False)
    return trunk.finish("head")


def cosmoflow(image: int) -> ConvolutionalNetwork:
    """CosmoFlow as MLPerf HPC trains it, for volumes of 128 pixels a side with 4 channels.

    Source: mlperf-hpc, cosmoflow.py (windows of 2, 32 channels doubled four times).
    """
    trunk = Trunk(cube(image, channels=4))
    for index, channels in enumerate((32, 64, 128, 256, 512), start=1):
        trunk.convolve("convolve", channels, window=Window(size=2), bias=True)
        trunk.activate("activation")
        trunk.pool("pooling", HALF)
        trunk.section(f"convolution {index}")
    return _classifier(trunk, (128, 64), 4)


POOL = Window(size=3, stride=2)
VALID = Window(size=3, stride=2, padding=0)
SMOOTH = Window(size=3)

MODULES = {
    "3a": (64, 96, 128, 16, 32, 32),
    "3b": (128, 128, 192, 32, 96, 64),
    "4a": (192, 96, 208, 16, 48, 64),
    "4b": (160, 112, 224, 24, 64, 64),
    "4c": (128, 128, 256, 24, 64, 64),
    "4d": (112, 144, 288, 32, 64, 64),
    "4e": (256, 160, 320, 32, 128, 128),
    "5a": (256, 160, 320, 32, 128, 128),
    "5b": (384, 192, 384, 48, 128, 128),
}
"""Channels of 1x1; 1x1, 3x3; 1x1, 5x5; 1x1 after pooling. Source: szegedy2015, table 1."""


def _unit(
    trunk: Trunk, name: str, channels: int, *, size: int | tuple[int, int], norm: bool
) -> None:
    if norm:
        trunk.unit(name, channels, window=Window(size=size))
        return
    trunk.convolve(name, channels, window=Window(size=size), bias=True)
    trunk.activate(f"{name} activation")


def googlenet(image: int, *, norm: bool, auxiliary: bool = False) -> ConvolutionalNetwork:
    """GoogLeNet.

    Args:
        image: pixels per side.
        norm: the common form with batch normalisation, whose third branch has 3x3 windows; without,
            the original with biases, local responses and 5x5 windows.
        auxiliary: whether the two auxiliary classifiers are trained too.

    Source: szegedy2015, table 1; torchvision (with normalisation).
    """
    trunk = Trunk(square(image))
    if norm:
        trunk.unit("stem", 64, window=Window(size=7, stride=2))
    else:
        trunk.convolve("stem", 64, window=Window(size=7, stride=2), bias=True)
        trunk.activate("stem activation")
    trunk.pool("stem pooling", POOL)
    if not norm:
        trunk.activate("stem response", smooth=True)
    _unit(trunk, "reduce", 64, size=1, norm=norm)
    _unit(trunk, "convolve", 192, size=3, norm=norm)
    if not norm:
        trunk.activate("response", smooth=True)
    trunk.pool("pooling", POOL)
    trunk.section("stem", cuttable=False)
    for name, channels in MODULES.items():
        second, third, fourth = trunk.fork(), trunk.fork(), trunk.fork()
        _unit(trunk, "1x1", channels[0], size=1, norm=norm)
        _unit(second, "3x3 reduce", channels[1], size=1, norm=norm)
        _unit(second, "3x3", channels[2], size=3, norm=norm)
        _unit(third, "5x5 reduce", channels[3], size=1, norm=norm)
        _unit(third, "5x5", channels[4], size=3 if norm else 5, norm=norm)
        fourth.pool("branch pooling", SMOOTH)
        _unit(fourth, "pool project", channels[5], size=1, norm=norm)
        trunk.join("join", second, third, fourth)
        if auxiliary and name in {"4a", "4d"}:
            _googlenet_auxiliary(trunk.fork(), norm=norm)
        if name in {"3b", "4e"}:
            trunk.pool("pooling", POOL)
        trunk.section(f"module {name}")
    return trunk.classify(1000)


def _googlenet_auxiliary(trunk: Trunk, *, norm: bool) -> None:
    trunk.average("auxiliary pooling", sides=4)
    _unit(trunk, "auxiliary", 128, size=1, norm=norm)
    trunk.connect("auxiliary connect", 1024)
    trunk.connect("auxiliary classes", 1000)


def inception_v3(image: int, *, auxiliary: bool = False) -> ConvolutionalNetwork:
    """Inception v3 for images of 299 pixels, with or without its auxiliary classifier.

    Source: szegedy2016, table 1 and figures 5 to 7; torchvision (channels).
    """
    trunk = Trunk(square(image))
    trunk.unit("first", 32, window=VALID)
    trunk.unit("second", 32, window=Window(size=3, padding=0))
    trunk.unit("third", 64, window=Window(size=3))
    trunk.pool("first pooling", VALID)
    trunk.unit("fourth", 80)
    trunk.unit("fifth", 192, window=Window(size=3, padding=0))
    trunk.pool("second pooling", VALID)
    trunk.section("stem", cuttable=False)
    for index, pooled in enumerate((32, 64, 64), start=1):
        second, third, fourth = trunk.fork(), trunk.fork(), trunk.fork()
        trunk.unit("1x1", 64)
        _chain(second, "5x5", ((48, 1), (64, 5)))
        _chain(third, "3x3 twice", ((64, 1), (96, 3), (96, 3)))
        _pooled(fourth, pooled)
        trunk.join("join", second, third, fourth)
        trunk.section(f"module 35.{index}")
    _reduction_35(trunk)
    trunk.section("reduction 35")
    for index, width in enumerate((128, 160, 160, 192), start=1):
        _module_17(trunk, width)
        if auxiliary and index == 4:
            _auxiliary_v3(trunk.fork())
        trunk.section(f"module 17.{index}")
    _reduction_17(trunk)
    trunk.section("reduction 17")
    for index in (1, 2):
        _module_8(trunk)
        trunk.section(f"module 8.{index}")
    return trunk.classify(1000)


def _chain(trunk: Trunk, name: str, rows: Sequence[tuple[int, int | tuple[int, int]]]) -> Trunk:
    """Units in a row: channels and size of each window."""
    for index, (channels, size) in enumerate(rows, start=1):
        trunk.unit(f"{name} {index}", channels, window=Window(size=size))
    return trunk


def _pooled(trunk: Trunk, channels: int) -> Trunk:
    trunk.pool("branch pooling", SMOOTH, average=True)
    trunk.unit("pool project", channels)
    return trunk


def _reduction_35(trunk: Trunk) -> None:
    second, third = trunk.fork(), trunk.fork()
    trunk.unit("3x3", 384, window=VALID)
    _chain(second, "3x3 twice", ((64, 1), (96, 3)))
    second.unit("3x3 twice 3", 96, window=VALID)
    third.pool("branch pooling", VALID)
    trunk.join("join", second, third)


def _module_17(trunk: Trunk, width: int) -> None:
    second, third, fourth = trunk.fork(), trunk.fork(), trunk.fork()
    row, column = (1, 7), (7, 1)
    trunk.unit("1x1", 192)
    _chain(second, "7x7", ((width, 1), (width, row), (192, column)))
    twice = ((width, 1), (width, column), (width, row), (width, column), (192, row))
    _chain(third, "7x7 twice", twice)
    _pooled(fourth, 192)
    trunk.join("join", second, third, fourth)


def _reduction_17(trunk: Trunk) -> None:
    second, third = trunk.fork(), trunk.fork()
    trunk.unit("3x3 reduce", 192)
    trunk.unit("3x3", 320, window=VALID)
    _chain(second, "7x7", ((192, 1), (192, (1, 7)), (192, (7, 1))))
    second.unit("7x7 4", 192, window=VALID)
    third.pool("branch pooling", VALID)
    trunk.join("join", second, third)


def _fan(trunk: Trunk, name: str) -> Trunk:
    """A row and a column window side by side."""
    other = trunk.fork()
    trunk.unit(f"{name} row", 384, window=Window(size=(1, 3)))
    other.unit(f"{name} column", 384, window=Window(size=(3, 1)))
    trunk.join(f"{name} join", other)
    return trunk


def _module_8(trunk: Trunk) -> None:
    second, third, fourth = trunk.fork(), trunk.fork(), trunk.fork()
    trunk.unit("1x1", 320)
    _fan(_chain(second, "3x3", ((384, 1),)), "3x3")
    _fan(_chain(third, "3x3 twice", ((448, 1), (384, 3))), "3x3 twice")
    _pooled(fourth, 192)
    trunk.join("join", second, third, fourth)


def _auxiliary_v3(trunk: Trunk) -> None:
    trunk.pool("auxiliary pooling", Window(size=5, stride=3, padding=0), average=True)
    trunk.unit("auxiliary reduce", 128)
    trunk.unit("auxiliary", 768, window=Window(size=5, padding=0))
    trunk.average("auxiliary average")
    trunk.connect("auxiliary classes", 1000)
