"""YOLOv3: Darknet-53 and three heads, each from a picture twice as large as the one before."""

from __future__ import annotations

from foretrain.workload.convolution.operators import pointwise
from foretrain.workload.convolution.picture import Picture, Window, square
from foretrain.workload.convolution.trunk import ConvolutionalNetwork, Trunk

THREE = Window(size=3)
HALVE = Window(size=3, stride=2)

GROUPS = ((64, 1), (128, 2), (256, 8), (512, 8), (1024, 4))
"""Channels and residual blocks. Source: redmon2018, table 1."""


def yolo_v3(image: int, *, classes: int) -> ConvolutionalNetwork:
    """YOLOv3 with three boxes per pixel of each head, leaky ReLU in place.

    Source: redmon2018, sections 2.3 and 2.4, and its published configuration.
    """
    trunk = Trunk(square(image))
    trunk.unit("stem", 32, window=THREE)
    trunk.section("stem", cuttable=False)
    for group, (channels, blocks) in enumerate(GROUPS, start=1):
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
