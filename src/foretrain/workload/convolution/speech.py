"""Networks that read speech: Jasper and QuartzNet (convolutions), Deep Speech 2 (recurrent).

A picture has one dimension, frames of 10 ms, and 64 filter-bank channels.
"""

from __future__ import annotations

from dataclasses import replace

from foretrain.workload.convolution.operators import loss
from foretrain.workload.convolution.picture import Picture, Window
from foretrain.workload.convolution.trunk import ConvolutionalNetwork, Trunk
from foretrain.workload.operator import UNDIVIDED, Matrices, Operator, Size, matmul

LETTERS = 29
"""28 letters and the blank."""


def jasper(
    frames: int,
    *,
    blocks: tuple[tuple[int, int], ...],
    first: int,
    last: tuple[int, int],
    separable: bool,
    dense: bool,
    units: int = 5,
) -> ConvolutionalNetwork:
    """Jasper or QuartzNet for `frames` of features; CTC's sum over alignments is not counted.

    Args:
        frames: of 10 ms.
        blocks: channels and window of each residual block.
        first: window of the first convolution.
        last: channels and window of the convolution after the blocks.
        separable: whether a convolution is one per channel and then one of window 1.
        dense: whether a block adds the inputs of all blocks before it, not only its own.
        units: convolutions of a block.
    """
    trunk = Trunk(Picture(channels=64, sides=(frames,)))
    _convolve(trunk, "stem", 256, window=Window(size=first, stride=2), separable=separable)
    trunk.activate("stem activation")
    trunk.section("stem", cuttable=False)
    panes: list[Picture] = []
    for index, (channels, size) in enumerate(blocks, start=1):
        if dense:
            trunk.skip()
        panes = [*(panes if dense else []), trunk.picture]
        for unit in range(1, units):
            _convolve(
                trunk, f"unit {unit}", channels, window=Window(size=size), separable=separable
            )
            trunk.activate(f"unit {unit} activation")
        _convolve(trunk, "last unit", channels, window=Window(size=size), separable=separable)
        for place, pane in enumerate(panes, start=1):
            branch = trunk.at(pane)
            branch.convolve(f"residual {place}", channels)
            branch.normalise(f"residual {place} norm")
        trunk.add("residual activation", read=1 + len(panes))
        if index == len(blocks):
            trunk.drop()
        trunk.section(f"block {index}")
    channels, size = last
    _convolve(trunk, "last", channels, window=Window(size=size), separable=separable)
    trunk.activate("last activation")
    trunk.unit("wide", 1024)
    trunk.convolve("letters", LETTERS, bias=True)
    trunk.append(loss(trunk.picture.values))
    return trunk.finish("head", cuttable=False)


def _convolve(trunk: Trunk, name: str, channels: int, *, window: Window, separable: bool) -> None:
    if separable:
        trunk.convolve(
            f"{name} depthwise",
            trunk.picture.channels,
            window=window,
            groups=trunk.picture.channels,
        )
        trunk.convolve(name, channels)
    else:
        trunk.convolve(name, channels, window=window)
    trunk.normalise(f"{name} norm")


def deep_speech_2(frames: int, *, hidden: int = 800, layers: int = 5) -> ConvolutionalNetwork:
    """Deep Speech 2: two convolutions over time and frequency, then bidirectional GRUs.

    Assumed: spectra of 161 frequencies, layers of 800 whose two directions are added up.

    Source: amodei2016, sections 3.2 and 3.4 (kinds of layers).
    """
    trunk = Trunk(Picture(channels=1, sides=(161, frames)))
    trunk.unit("first", 32, window=Window(size=(41, 11), stride=2))
    trunk.unit("second", 32, window=Window(size=(21, 11), stride=(2, 1)))
    trunk.section("convolutions", cuttable=False)
    frequencies, steps = trunk.picture.sides
    trunk.view(Picture(channels=32 * frequencies, sides=(steps,)))
    for index in range(1, layers + 1):
        if index > 1:
            trunk.normalise("norm")
        result = Picture(channels=hidden, sides=trunk.picture.sides)
        trunk.convolve("inputs", 2 * 3 * hidden, bias=True)
        trunk.append(recurrent("recurrence", trunk.picture.pixels, hidden=hidden), result)
        trunk.add("sum of directions")
        trunk.section(f"recurrent {index}")
    trunk.normalise("norm")
    trunk.convolve("letters", LETTERS)
    trunk.append(loss(trunk.picture.values))
    return trunk.finish("head", cuttable=False)


def recurrent(
    name: str, steps: int, *, hidden: int, gates: int = 3, directions: int = 2
) -> Operator:
    """The products of a recurrent layer with its own state, one kernel after another.

    Every step reads all weights again. The gates are kept for the backward pass.
    """
    product = matmul(
        name,
        Matrices(rows=1, columns=gates * hidden, depth=hidden, batch=float(directions * steps)),
        weights=directions * gates * hidden * (hidden + 1),
        kept=Size(values=directions * (gates + 1) * hidden * steps),
        units=1,
        unit=f"recurrent layers have {UNDIVIDED}",
    )
    return replace(product, kernels=steps)
