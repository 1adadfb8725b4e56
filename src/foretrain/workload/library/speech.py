"""Networks that read speech: Jasper and QuartzNet (convolutions), Deep Speech 2 (recurrent).

A picture has one dimension, frames of 10 ms, and 64 filter-bank channels.

Networks that read speech.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from foretrain.workload.convolution.operators import UNSPLIT_UNIT, loss
from foretrain.workload.convolution.picture import Picture, Window
from foretrain.workload.convolution.trunk import ConvolutionalNetwork, Trunk
from foretrain.workload.library.convolutional import frames
from foretrain.workload.operator import Matrices, Operator, Size, matmul

LETTERS = 29
"""28 letters and the blank."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Jasper:
    """The shape of a Jasper or QuartzNet.

    Attributes:
        blocks: channels and window of each residual block.
        first: window of the first convolution.
        last: channels and window of the convolution after the blocks.
        separable: whether a convolution is one per channel and then one of window 1.
        dense: whether a block adds the inputs of all blocks before it, not only its own.
        units: convolutions of a block.
    """

    blocks: tuple[tuple[int, int], ...]
    first: int
    last: tuple[int, int]
    separable: bool
    dense: bool
    units: int = 5


JASPER_10X5 = Jasper(
    blocks=tuple(
        row for row in ((256, 11), (384, 13), (512, 17), (640, 21), (768, 25)) for _ in "ab"
    ),
    first=11,
    last=(896, 29),
    separable=False,
    dense=True,
)
"""Source: li2019, table 1 and figure 2 (dense residual)."""

QUARTZNET_15X5 = Jasper(
    blocks=tuple(
        row for row in ((256, 33), (256, 39), (512, 51), (512, 63), (512, 75)) for _ in "abc"
    ),
    first=33,
    last=(512, 87),
    separable=True,
    dense=False,
)
"""Source: kriman2020, table 1."""


def jasper(shape: Jasper, frames: int) -> ConvolutionalNetwork:
    """Jasper or QuartzNet for `frames` of features; CTC's sum over alignments is not counted."""
    trunk = Trunk(Picture(channels=64, sides=(frames,)))
    _unit(trunk, "stem", 256, window=Window(size=shape.first, stride=2), separable=shape.separable)
    trunk.section("stem", cuttable=False)
    panes: list[Picture] = []
    for index, (channels, size) in enumerate(shape.blocks, start=1):
        if shape.dense:
            trunk.skip()
        panes = [*(panes if shape.dense else []), trunk.picture]
        _block(trunk, shape, panes, channels=channels, window=Window(size=size))
        if index == len(shape.blocks):
            trunk.drop()
        trunk.section(f"block {index}")
    channels, size = shape.last
    _unit(trunk, "last", channels, window=Window(size=size), separable=shape.separable)
    trunk.unit("wide", 1024)
    trunk.convolve("letters", LETTERS, bias=True)
    trunk.append(loss(trunk.picture.values))
    return trunk.finish("head", cuttable=False)


def _block(
    trunk: Trunk, shape: Jasper, panes: list[Picture], *, channels: int, window: Window
) -> None:
    for index in range(1, shape.units):
        _unit(trunk, f"unit {index}", channels, window=window, separable=shape.separable)
    _convolve(trunk, "last unit", channels, window=window, separable=shape.separable)
    for index, pane in enumerate(panes, start=1):
        branch = trunk.at(pane)
        branch.convolve(f"residual {index}", channels)
        branch.normalise(f"residual {index} norm")
    trunk.add("residual activation", read=1 + len(panes))


def _unit(trunk: Trunk, name: str, channels: int, *, window: Window, separable: bool) -> None:
    _convolve(trunk, name, channels, window=window, separable=separable)
    trunk.activate(f"{name} activation")


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
        _bidirectional(trunk, hidden, first=index == 1)
        trunk.section(f"recurrent {index}")
    trunk.normalise("norm")
    trunk.convolve("letters", LETTERS)
    trunk.append(loss(trunk.picture.values))
    return trunk.finish("head", cuttable=False)


def _bidirectional(trunk: Trunk, hidden: int, *, first: bool) -> None:
    if not first:
        trunk.normalise("norm")
    result = Picture(channels=hidden, sides=trunk.picture.sides)
    trunk.convolve("inputs", 2 * 3 * hidden, bias=True)
    trunk.append(recurrent("recurrence", trunk.picture.pixels, hidden=hidden), result)
    trunk.add("sum of directions")


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
        unit=UNSPLIT_UNIT,
    )
    return replace(product, kernels=steps)


ENTRIES = (
    frames(
        "jasper-10x5",
        partial(jasper, JASPER_10X5),
        summary="Jasper DR 10x5, 29 letters",
        source="li2019, table 1",
        aliases=("jasper",),
    ),
    frames(
        "quartznet-15x5",
        partial(jasper, QUARTZNET_15X5),
        summary="QuartzNet 15x5, 29 letters",
        source="kriman2020, table 1",
        aliases=("quartznet",),
    ),
    frames(
        "deep-speech-2",
        deep_speech_2,
        summary="Deep Speech 2 with five bidirectional GRUs of 800 (sizes assumed), 29 letters",
        source="amodei2016, section 3",
        aliases=("deepspeech2", "deepspeech-2"),
    ),
)
