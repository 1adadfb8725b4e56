"""GoogLeNet (Inception v1) and Inception v3: branches side by side, joined by channels."""

from __future__ import annotations

from collections.abc import Sequence

from foretrain.workload.convolution.operators import Window, square
from foretrain.workload.convolution.trunk import ConvolutionalNetwork, Trunk

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
