"""Networks that label every pixel: down to small pictures and up again, with skip connections.

V-Net: volumes down to small ones and up again, each level with a residual connection.
"""

from __future__ import annotations

from foretrain.workload.convolution.operators import Picture, Window, cube, loss, square
from foretrain.workload.convolution.trunk import ConvolutionalNetwork, Trunk

VALID = Window(size=3, padding=0)
SAME = Window(size=3)
HALF = Window(size=2, stride=2, padding=0)


def unet_2d(image: int, *, widths: tuple[int, ...], classes: int) -> ConvolutionalNetwork:
    """U-Net without normalisation, for grey images.

    Args:
        image: pixels per side, 572 for the published one.
        widths: channels of each level, the bottom's last.
        classes: labels of a pixel.

    Source: ronneberger2015, figure 1.
    """
    trunk = Trunk(square(image, channels=1))
    *levels, bottom = widths
    for level, channels in enumerate(levels, start=1):
        _plain_pair(trunk, channels, window=VALID)
        trunk.section(f"down {level}")
        trunk.skip()
        trunk.pool("pooling", HALF)
    _plain_pair(trunk, bottom, window=VALID)
    trunk.section("bottom")
    for level, channels in reversed(tuple(enumerate(levels, start=1))):
        trunk.enlarge("enlarge", channels)
        trunk.join("join", trunk.at(trunk.take()))
        _plain_pair(trunk, channels, window=VALID)
        trunk.section(f"up {level}")
    return _labels(trunk, classes)


def tiny_unet(
    image: int, *, widths: tuple[int, ...], bottom: int, classes: int
) -> ConvolutionalNetwork:
    """NVIDIA's U-Net for industrial inspection, for grey images.

    Blocks join what the way down kept, convolve to their width and to half of it, and enlarge.

    Args:
        image: pixels per side.
        widths: channels of the blocks on the way down; the first reads the image.
        bottom: channels of the smallest pictures.
        classes: labels of a pixel.

    Source: nvidia-examples, UNet_Industrial, model/unet.py and model/blocks.
    """
    trunk = Trunk(square(image, channels=1))
    for level, channels in enumerate(widths, start=1):
        _plain_pair(trunk, channels, window=SAME)
        trunk.section(f"down {level}")
        trunk.skip()
        trunk.pool("pooling", HALF)
    _plain_pair(trunk, bottom, window=SAME)
    trunk.enlarge("enlarge", bottom // 2)
    trunk.section("bottom")
    for level, channels in reversed(tuple(enumerate(widths[1:], start=2))):
        trunk.join("join", trunk.at(trunk.take()))
        _plain(trunk, "first", channels, window=SAME)
        _plain(trunk, "second", channels // 2, window=SAME)
        trunk.enlarge("enlarge", channels // 2)
        trunk.section(f"up {level}")
    trunk.join("join", trunk.at(trunk.take()))
    _plain_pair(trunk, widths[0], window=SAME)
    trunk.section("up 1")
    return _labels(trunk, classes)


def _plain_pair(trunk: Trunk, channels: int, *, window: Window) -> None:
    for name in ("first", "second"):
        _plain(trunk, name, channels, window=window)


def _plain(trunk: Trunk, name: str, channels: int, *, window: Window) -> None:
    trunk.convolve(name, channels, window=window, bias=True)
    trunk.activate(f"{name} activation")


def unet(
    *, picture: Picture, channels: tuple[int, ...], classes: int, supervised: int = 0
) -> ConvolutionalNetwork:
    """U-Net with instance normalisation, whose convolutions stride instead of pooling.

    Args:
        picture: one sample, in two or three dimensions.
        channels: of each level, the largest picture first.
        classes: labels of a pixel.
        supervised: levels below the first whose labels are trained too.

    Source: isensee2021, section "Network topology" (nnU-Net).
    """
    trunk = Trunk(picture)
    depth = len(channels)
    for level, width in enumerate(channels, start=1):
        _pair(trunk, width, stride=1 if level == 1 else 2)
        trunk.section(f"down {level}")
        if level < depth:
            trunk.skip()
    for level, width in reversed(tuple(enumerate(channels[:-1], start=1))):
        trunk.enlarge("enlarge", width, bias=False)
        trunk.join("join", trunk.at(trunk.take()))
        _pair(trunk, width, stride=1)
        if 1 < level <= 1 + supervised:
            trunk.fork().convolve("labels", classes, bias=True)
        trunk.section(f"up {level}")
    return _labels(trunk, classes)


def _pair(trunk: Trunk, channels: int, *, stride: int) -> None:
    trunk.unit("first", channels, window=Window(size=3, stride=stride))
    trunk.unit("second", channels, window=Window(size=3))


def _labels(trunk: Trunk, classes: int) -> ConvolutionalNetwork:
    trunk.convolve("labels", classes, bias=True)
    trunk.append(loss(trunk.picture.values), by_pixel=True)
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
    trunk.append(loss(trunk.picture.values), by_pixel=True)
    return trunk.finish("labels", cuttable=False)


def _convolutions(trunk: Trunk, channels: int, count: int, *, window: int) -> None:
    """Convolutions of one width, and the sum with what they read."""
    for position in range(1, count + 1):
        trunk.unit(f"convolution {position}", channels, window=Window(size=window))
    trunk.add("residual")
