"""Networks that label every pixel: down to small pictures and up again, with skip connections.

V-Net: volumes down to small ones and up again, each level with a residual connection.
"""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.workload.convolution.operators import loss
from foretrain.workload.convolution.picture import Picture, Window, cube, square
from foretrain.workload.convolution.trunk import ConvolutionalNetwork, Trunk

VALID = Window(size=3, padding=0)
SAME = Window(size=3)
HALF = Window(size=2, stride=2, padding=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class UNet:
    """The shape of a U-Net whose convolutions keep the sides and stride instead of pooling.

    Attributes:
        picture: one sample.
        channels: of each level, the largest picture first.
        classes: labels of a pixel.
        supervised: levels below the first whose labels are trained too.
    """

    picture: Picture
    channels: tuple[int, ...]
    classes: int
    supervised: int = 0


def unet_2d(image: int, *, classes: int = 2) -> ConvolutionalNetwork:
    """U-Net without normalisation or padding, for grey images of 572 pixels.

    Source: ronneberger2015, figure 1.
    """
    trunk = Trunk(square(image, channels=1))
    widths = (64, 128, 256, 512)
    for level, channels in enumerate(widths, start=1):
        _plain_pair(trunk, channels)
        trunk.section(f"down {level}")
        trunk.skip()
        trunk.pool("pooling", HALF)
    _plain_pair(trunk, 1024)
    trunk.section("bottom")
    for level, channels in reversed(tuple(enumerate(widths, start=1))):
        trunk.enlarge("enlarge", channels)
        trunk.join("join", trunk.at(trunk.take()))
        _plain_pair(trunk, channels)
        trunk.section(f"up {level}")
    return _labels(trunk, classes)


def _plain_pair(trunk: Trunk, channels: int, *, window: Window = VALID) -> None:
    for name in ("first", "second"):
        trunk.convolve(name, channels, window=window, bias=True)
        trunk.activate(f"{name} activation")


def tiny_unet(image: int) -> ConvolutionalNetwork:
    """U-Net half as wide and with one level fewer, padded, for grey images and one class.

    Source: NVIDIA's DeepLearningExamples, UNet_Industrial (TinyUNet), sizes from memory.
    """
    trunk = Trunk(square(image, channels=1))
    widths = (32, 64, 128)
    for level, channels in enumerate(widths, start=1):
        _plain_pair(trunk, channels, window=SAME)
        trunk.section(f"down {level}")
        trunk.skip()
        trunk.pool("pooling", HALF)
    _plain_pair(trunk, 256, window=SAME)
    trunk.section("bottom")
    for level, channels in reversed(tuple(enumerate(widths, start=1))):
        trunk.enlarge("enlarge", channels)
        trunk.join("join", trunk.at(trunk.take()))
        _plain_pair(trunk, channels, window=SAME)
        trunk.section(f"up {level}")
    return _labels(trunk, 1)


def unet(shape: UNet) -> ConvolutionalNetwork:
    """U-Net with instance normalisation, in two or three dimensions.

    Source: isensee2021, section "Network topology" (nnU-Net).
    """
    trunk = Trunk(shape.picture)
    depth = len(shape.channels)
    for level, channels in enumerate(shape.channels, start=1):
        _pair(trunk, channels, stride=1 if level == 1 else 2)
        trunk.section(f"down {level}")
        if level < depth:
            trunk.skip()
    for level, channels in reversed(tuple(enumerate(shape.channels[:-1], start=1))):
        trunk.enlarge("enlarge", channels, bias=False)
        trunk.join("join", trunk.at(trunk.take()))
        _pair(trunk, channels, stride=1)
        if 1 < level <= 1 + shape.supervised:
            trunk.fork().convolve("labels", shape.classes, bias=True)
        trunk.section(f"up {level}")
    return _labels(trunk, shape.classes)


def _pair(trunk: Trunk, channels: int, *, stride: int) -> None:
    trunk.unit("first", channels, window=Window(size=3, stride=stride))
    trunk.unit("second", channels, window=Window(size=3))


def _labels(trunk: Trunk, classes: int) -> ConvolutionalNetwork:
    trunk.convolve("labels", classes, bias=True)
    trunk.append(loss(trunk.picture.values))
    return trunk.finish("labels", cuttable=False)


CONVOLUTIONS = (1, 2, 3, 3)
"""Convolutions of each level, the largest volumes first; three at the bottom."""


def vnet(side: int, *, classes: int, window: int = 5) -> ConvolutionalNetwork:
    """V-Net with batch normalisation, for cubic volumes of one channel.

    Source: milletari2016, figure 2, where windows are 5 wide.
    """
    trunk = Trunk(cube(side, channels=1))
    widths = [16 * 2**level for level in range(len(CONVOLUTIONS))]
    for level, count in enumerate(CONVOLUTIONS):
        if level:
            trunk.unit("halve", widths[level], window=HALF)
        _convolutions(trunk, widths[level], count, window=window)
        trunk.section(f"down {level + 1}")
        trunk.skip()
    trunk.unit("halve", 2 * widths[-1], window=HALF)
    _convolutions(trunk, 2 * widths[-1], 3, window=window)
    trunk.section("bottom")
    for level in reversed(range(len(CONVOLUTIONS))):
        trunk.enlarge("enlarge", widths[level], bias=False)
        trunk.join("join", trunk.at(trunk.take()))
        _convolutions(trunk, 2 * widths[level], CONVOLUTIONS[level], window=window)
        trunk.section(f"up {level + 1}")
    trunk.convolve("labels", classes, bias=True)
    trunk.append(loss(trunk.picture.values))
    return trunk.finish("labels", cuttable=False)


def _convolutions(trunk: Trunk, channels: int, count: int, *, window: int) -> None:
    """Convolutions of one width, and the sum with what they read."""
    for position in range(1, count + 1):
        trunk.unit(f"convolution {position}", channels, window=Window(size=window))
    trunk.add("residual")
