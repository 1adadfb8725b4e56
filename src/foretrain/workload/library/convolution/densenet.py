"""DenseNet: every layer reads what all layers before it in its block made."""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.workload.library.convolution.network import Network
from foretrain.workload.library.convolution.picture import Window, square
from foretrain.workload.library.convolution.trunk import Trunk


@dataclass(frozen=True, slots=True, kw_only=True)
class DenseNet:
    """The shape of a DenseNet.

    Attributes:
        growth: channels that a layer adds.
        blocks: layers of each block.
    """

    growth: int
    blocks: tuple[int, ...]


def densenet(shape: DenseNet, image: int) -> Network:
    """A DenseNet with bottlenecks and halving transitions, for 1000 classes.

    Source: huang2017, table 1.
    """
    trunk = Trunk(square(image))
    trunk.unit("stem", 2 * shape.growth, window=Window(size=7, stride=2))
    trunk.pool("stem pooling", Window(size=3, stride=2))
    trunk.section("stem", cuttable=False)
    for block, layers in enumerate(shape.blocks, start=1):
        for index in range(1, layers + 1):
            _layer(trunk, shape.growth)
            trunk.section(f"layer {block}.{index}")
        if block < len(shape.blocks):
            _transition(trunk)
            trunk.section(f"transition {block}")
    trunk.normalise("final norm")
    trunk.activate("final activation")
    return trunk.classify(1000)


def _layer(trunk: Trunk, growth: int) -> None:
    before = trunk.fork()
    trunk.normalise("norm")
    trunk.activate("activation")
    trunk.unit("reduce", 4 * growth)
    trunk.convolve("convolve", growth, window=Window(size=3))
    trunk.join("join", before)


def _transition(trunk: Trunk) -> None:
    trunk.normalise("norm")
    trunk.activate("activation")
    trunk.convolve("reduce", trunk.picture.channels // 2)
    trunk.pool("pooling", Window(size=2, stride=2, padding=0), average=True)
