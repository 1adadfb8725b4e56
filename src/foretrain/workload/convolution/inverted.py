"""Inverted residuals: MobileNet v2, EfficientNet and EfficientNet v2."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from foretrain.workload.convolution.picture import Window, square
from foretrain.workload.convolution.trunk import ConvolutionalNetwork, Trunk


@dataclass(frozen=True, slots=True, kw_only=True)
class InvertedBlocks:
    """Blocks of one width.

    Attributes:
        expansion: channels inside a block over those it reads.
        size: of the depthwise window.
        stride: of the first block.
        channels: that each block hands on.
        blocks: how many.
        squeeze: whether squeeze and excitation follows the depthwise convolution.
        fused: whether one convolution replaces expansion and depthwise.
    """

    expansion: int
    size: int
    stride: int
    channels: int
    blocks: int
    squeeze: bool = True
    fused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Inverted:
    """The shape of a network of inverted residuals.

    Attributes:
        stem: channels of the first convolution.
        groups: of blocks, in order.
        head: channels of the last convolution.
        smooth: whether activations are smooth (SiLU) rather than a bounded ReLU.
        wide: whether the channels that squeeze and excitation leaves are a quarter of those inside
            the block rather than of those it reads.
    """

    stem: int
    groups: tuple[InvertedBlocks, ...]
    head: int
    smooth: bool = True
    wide: bool = False


_B0 = (
    (1, 3, 1, 16, 1),
    (6, 3, 2, 24, 2),
    (6, 5, 2, 40, 2),
    (6, 3, 2, 80, 3),
    (6, 5, 1, 112, 3),
    (6, 5, 2, 192, 4),
    (6, 3, 1, 320, 1),
)
"""Expansion, window, stride, channels, blocks. Source: tan2019, table 1."""


def scaled_b0(*, width: float, depth: float, wide: bool = False) -> Inverted:
    """EfficientNet-B0 made wider and deeper.

    Source: tan2019, section 3.3 (channels are rounded to multiples of 8, blocks up).
    """
    groups = tuple(
        InvertedBlocks(
            expansion=expansion,
            size=size,
            stride=stride,
            channels=_eights(width * channels),
            blocks=ceil(depth * blocks),
        )
        for expansion, size, stride, channels, blocks in _B0
    )
    stem, head = _eights(32 * width), _eights(1280 * width)
    return Inverted(stem=stem, groups=groups, head=head, wide=wide)


def _eights(channels: float) -> int:
    """The nearest multiple of 8 that is not more than a tenth below."""
    rounded = max(8, int(channels + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * channels else rounded


def inverted(
    image: int,
    *,
    stem: int,
    groups: tuple[InvertedBlocks, ...],
    head: int,
    smooth: bool = True,
    wide: bool = False,
) -> ConvolutionalNetwork:
    """A network of inverted residuals for square images and 1000 classes; sizes as `Inverted`'s."""
    shape = Inverted(stem=stem, groups=groups, head=head, smooth=smooth, wide=wide)
    return _classifier(shape, image)


def efficientnet(
    image: int, *, width: float, depth: float, wide: bool = False
) -> ConvolutionalNetwork:
    """EfficientNet, so many times as wide and deep as B0; `wide` as `Inverted`'s."""
    return _classifier(scaled_b0(width=width, depth=depth, wide=wide), image)


def _classifier(shape: Inverted, image: int) -> ConvolutionalNetwork:
    trunk = Trunk(square(image))
    inverted_groups(trunk, shape)
    trunk.unit("head", shape.head, smooth=shape.smooth)
    return trunk.classify(1000)


def inverted_groups(
    trunk: Trunk, shape: Inverted, *, carried: frozenset[int] = frozenset()
) -> None:
    """The stem and all groups; the pictures of some are carried past the sections that follow."""
    trunk.unit("stem", shape.stem, window=Window(size=3, stride=2), smooth=shape.smooth)
    trunk.section("stem", cuttable=False)
    for index, group in enumerate(shape.groups, start=1):
        _block(trunk, shape, group, stride=group.stride)
        trunk.section(f"group {index} first")
        if group.blocks > 1:
            _block(trunk, shape, group)
            trunk.section(f"group {index} rest", repeats=group.blocks - 1)
        if index in carried:
            trunk.skip()


def _block(trunk: Trunk, shape: Inverted, group: InvertedBlocks, *, stride: int = 1) -> None:
    before = trunk.picture
    inside = group.expansion * before.channels
    window = Window(size=group.size, stride=stride)
    if group.fused and group.expansion == 1:
        trunk.unit("convolve", group.channels, window=window, smooth=True)
    elif group.fused:
        trunk.unit("expand", inside, window=window, smooth=True)
        trunk.convolve("project", group.channels)
        trunk.normalise("project norm")
    else:
        if group.expansion > 1:
            trunk.unit("expand", inside, smooth=shape.smooth)
        trunk.unit("depthwise", inside, window=window, groups=inside, smooth=shape.smooth)
        if group.squeeze:
            left = (inside if shape.wide else before.channels) // 4
            trunk.squeeze("squeeze", left, smooth=True)
        trunk.convolve("project", group.channels)
        trunk.normalise("project norm")
    if trunk.picture == before:
        trunk.add("residual")
