"""Networks that label every pixel: down to small pictures and up again, with skip connections."""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.workload.library.convolution.network import Network
from foretrain.workload.library.convolution.operators import loss
from foretrain.workload.library.convolution.picture import Picture, Window, square
from foretrain.workload.library.convolution.trunk import Trunk

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


def unet_2d(image: int, *, classes: int = 2) -> Network:
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


def tiny_unet(image: int) -> Network:
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


def unet(shape: UNet) -> Network:
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


def _labels(trunk: Trunk, classes: int) -> Network:
    trunk.convolve("labels", classes, bias=True)
    trunk.append(loss(trunk.picture.values))
    return trunk.finish("labels", cuttable=False)
