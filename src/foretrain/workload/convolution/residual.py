"""Residual networks, plain and inverted.

Residual networks: ResNet (v1.5), ResNeXt, wide ResNet and their squeeze-and-excitation kin.

DenseNet: every layer reads what all layers before it in its block made.

Inverted residuals: MobileNet v2, EfficientNet and EfficientNet v2.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from foretrain.errors import InputError
from foretrain.workload.convolution.operators import Window, square
from foretrain.workload.convolution.trunk import ConvolutionalNetwork, Trunk
from foretrain.workload.graph import Model

WIDTHS = (64, 128, 256, 512)
POOL = Window(size=3, stride=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResNet:
    """The shape of a residual network.

    Attributes:
        blocks: blocks of each of the four groups.
        bottleneck: whether a block is 1x1, 3x3, 1x1 (four times as wide at its end) or two 3x3.
        groups: groups of the 3x3 convolution of a bottleneck.
        width: channels per group of channels in the first group of blocks; 64 for one group.
        squeeze: channels over those that squeeze and excitation leaves; 0 without.
        stem: window of the first convolution; 3 for small images, which are not halved there.
        early: whether a bottleneck's first 1x1 strides (v1, the original), not its 3x3 (v1.5).
        classes: outputs of the classifier.
        frozen: groups that are not trained, the stem with them; norms are then frozen in all.
    """

    blocks: tuple[int, int, int, int]
    bottleneck: bool = True
    groups: int = 1
    width: int = 64
    squeeze: int = 0
    stem: int = 7
    early: bool = False
    classes: int = 1000
    frozen: int = 0

    @property
    def expansion(self) -> int:
        """Channels at the end of a block over those of its group."""
        return 4 if self.bottleneck else 1

    def model(self, name: str, image: int) -> Model:
        """The network for square images of `image` pixels."""
        return resnet(self, image).model(name)


def resnet(shape: ResNet, image: int) -> ConvolutionalNetwork:
    """A residual network for square images of `image` pixels.

    Source: he2016, table 1 (v1.5 moves the stride of a bottleneck into its 3x3 convolution).
    """
    if not image >= 32:
        raise InputError(f"image must be at least 32 pixels for a resnet, got {image}.")
    trunk = Trunk(square(image))
    resnet_groups(trunk, shape)
    return trunk.classify(shape.classes)


def resnet_groups(
    trunk: Trunk,
    shape: ResNet,
    *,
    strides: tuple[int, ...] = (1, 2, 2, 2),
    carried: int = 0,
) -> None:
    """The stem and as many groups as there are strides.

    Args:
        trunk: where they are written down.
        shape: of the network.
        strides: of each group's first block.
        carried: groups before the last whose pictures are carried past the sections that follow.
    """
    small = shape.stem == 3
    trunk.unit("stem", 64, window=Window(size=shape.stem, stride=1 if small else 2))
    if not small:
        trunk.pool("stem pooling", POOL)
    trunk.section("stem", cuttable=False, frozen=shape.frozen > 0)
    for index, stride in enumerate(strides):
        first, rest = f"group {index + 2} first", f"group {index + 2} rest"
        frozen = index < shape.frozen
        _residual_block(trunk, shape, width=WIDTHS[index], stride=stride)
        trunk.section(first, frozen=frozen)
        if shape.blocks[index] > 1:
            _residual_block(trunk, shape, width=WIDTHS[index])
            trunk.section(rest, repeats=shape.blocks[index] - 1, frozen=frozen)
        if len(strides) - 1 - carried <= index < len(strides) - 1:
            trunk.skip()


def _residual_block(trunk: Trunk, shape: ResNet, *, width: int, stride: int = 1) -> None:
    channels = shape.expansion * width
    shortcut = trunk.fork()
    if shape.bottleneck:
        inner = width * shape.width // 64 * shape.groups
        first, second = (stride, 1) if shape.early else (1, stride)
        trunk.unit("reduce", inner, window=Window(stride=first))
        trunk.unit("convolve", inner, window=Window(size=3, stride=second), groups=shape.groups)
        trunk.convolve("expand", 4 * width)
        trunk.normalise("expand norm")
    else:
        trunk.unit("first", width, window=Window(size=3, stride=stride))
        trunk.convolve("second", width, window=Window(size=3))
        trunk.normalise("second norm")
    if shape.squeeze:
        trunk.squeeze("squeeze", channels // shape.squeeze)
    if shortcut.picture != trunk.picture:
        shortcut.convolve("project", channels, window=Window(stride=stride))
        shortcut.normalise("project norm")
    trunk.add("residual activation")


@dataclass(frozen=True, slots=True, kw_only=True)
class DenseNet:
    """The shape of a DenseNet.

    Attributes:
        growth: channels that a layer adds.
        blocks: layers of each block.
    """

    growth: int
    blocks: tuple[int, ...]

    def model(self, name: str, image: int) -> Model:
        """The network for square images of `image` pixels."""
        return densenet(self, image).model(name)


def densenet(shape: DenseNet, image: int) -> ConvolutionalNetwork:
    """A DenseNet with bottlenecks and halving transitions, for 1000 classes.

    Source: huang2017, table 1.
    """
    trunk = Trunk(square(image))
    trunk.unit("stem", 2 * shape.growth, window=Window(size=7, stride=2))
    trunk.pool("stem pooling", Window(size=3, stride=2))
    trunk.section("stem", cuttable=False)
    for block, layers in enumerate(shape.blocks, start=1):
        for index in range(1, layers + 1):
            before = trunk.fork()
            trunk.normalise("norm")
            trunk.activate("activation")
            trunk.unit("reduce", 4 * shape.growth)
            trunk.convolve("convolve", shape.growth, window=Window(size=3))
            trunk.join("join", before)
            trunk.section(f"layer {block}.{index}")
        if block < len(shape.blocks):
            trunk.normalise("norm")
            trunk.activate("activation")
            trunk.convolve("reduce", trunk.picture.channels // 2)
            trunk.pool("pooling", Window(size=2, stride=2, padding=0), average=True)
            trunk.section(f"transition {block}")
    trunk.normalise("final norm")
    trunk.activate("final activation")
    return trunk.classify(1000)


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
