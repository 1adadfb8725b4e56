"""Networks that read speech.

Networks that read speech: Jasper and QuartzNet (convolutions), Deep Speech 2 (recurrent).

A picture has one dimension, frames of 10 ms, and 64 filter-bank channels.

wav2vec 2.0: convolutions that make tokens of a wave, and an encoder of these tokens.

Source: baevski2020, sections 2 and 4.2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from foretrain.errors import InputError
from foretrain.workload.convolution.operators import Picture, Window, loss
from foretrain.workload.convolution.trunk import ConvolutionalNetwork, Trunk
from foretrain.workload.graph import Model
from foretrain.workload.operator import UNDIVIDED, Matrices, Operator, Size, matmul
from foretrain.workload.parts.block import Run, layer
from foretrain.workload.parts.encoder import encoder_run
from foretrain.workload.parts.ends import whole
from foretrain.workload.parts.stream import HiddenStates, Norm, at_least, norm

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


VALUES_OF_FRAME = 160
"""Values of a wave of 16 kHz in a frame of 10 ms."""

_SHORTEST = 3
"""Frames under the first token's window of 400 values."""

_CHANNELS = 512
_WINDOWS = ((10, 5), (3, 2), (3, 2), (3, 2), (3, 2), (2, 2), (2, 2))
"""Size and stride of each convolution over the wave. Source: baevski2020, section 4.2."""

_POSITIONS = Window(size=128)
_GROUPS = 16
"""The convolution that tells positions. Source: baevski2020, section 4.2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wav2Vec:
    """The shape of a wav2vec 2.0 that is tuned to write letters.

    Attributes:
        hidden: width of the residual stream.
        run: layers of the encoder.
        normed: whether every convolution over the wave has biases and a norm, not only the first
            a norm.
        letters: told from each token, the blank among them.
    """

    hidden: int
    run: Run
    normed: bool
    letters: int = 32

    def __post_init__(self) -> None:
        at_least(self, 1, "hidden", "letters")

    def model(self, name: str, frames: int) -> Model:
        """The model for `frames` of 10 ms, two of which make a token.

        Dropped layers and CTC's sum over alignments are not counted.
        """
        if frames < _SHORTEST:
            raise InputError(
                f"sequence must be at least {_SHORTEST} frames of 10 ms for {name}, got {frames}."
            )
        trunk = Trunk(Picture(channels=1, sides=(frames * VALUES_OF_FRAME,)))
        for index, (size, stride) in enumerate(_WINDOWS, start=1):
            window = Window(size=size, stride=stride, padding=0)
            trunk.convolve(f"wave {index}", _CHANNELS, window=window, bias=self.normed)
            if self.normed or index == 1:
                trunk.normalise(f"wave {index} norm")
            trunk.activate(f"wave {index} activation", smooth=True)
        (tokens,) = trunk.picture.sides
        stream = HiddenStates(
            tokens=tokens, hidden=self.hidden, norm=Norm.SCALE_AND_SHIFT, dropout=True
        )
        trunk.normalise("projection norm")
        trunk.convolve("projection", stream.hidden, bias=True)
        trunk.convolve("positions", stream.hidden, window=_POSITIONS, groups=_GROUPS, bias=True)
        trunk.activate("positions activation", smooth=True)
        # The vector of masked tokens, the scales of the positions' window, an addition, dropout.
        trunk.append(
            Operator(
                name="mask, positions and dropout",
                weights=stream.hidden + _POSITIONS.area(1),
                forward=Size(values=3 * stream.values, fixed=stream.values),
                backward=Size(values=3 * stream.values, fixed=stream.values),
                kept=Size(fixed=stream.values),
            )
        )
        trunk.section("wave", cuttable=False)
        trunk.append(norm("final norm", stream))
        trunk.append(whole("letters", tokens, (self.hidden, self.letters), bias=True))
        trunk.append(loss(float(tokens * self.letters)))
        wave, head = (section.layer for section in trunk.finish("letters", cuttable=False).sections)
        layers = (wave, layer(self.run, stream), head)
        return Model(name=name, layers=layers, tokens=tokens, dimensions=1)


def wav2vec(*, layers: int, hidden: int, heads: int, normed: bool) -> Wav2Vec:
    """A wav2vec 2.0 of some sizes.

    Args:
        layers: of the encoder.
        hidden: width of the residual stream.
        heads: of attention.
        normed: whether every convolution over the wave has biases and a norm.
    """
    return Wav2Vec(hidden=hidden, run=encoder_run(layers, hidden, heads), normed=normed)
