"""V-Net: volumes down to small ones and up again, each level with a residual connection."""

from __future__ import annotations

from foretrain.workload.library.convolution.network import Network
from foretrain.workload.library.convolution.operators import loss
from foretrain.workload.library.convolution.picture import Window, cube
from foretrain.workload.library.convolution.trunk import Trunk

HALF = Window(size=2, stride=2, padding=0)
CONVOLUTIONS = (1, 2, 3, 3)
"""Convolutions of each level, the largest volumes first; three at the bottom."""


def vnet(side: int, *, classes: int, window: int = 5) -> Network:
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
