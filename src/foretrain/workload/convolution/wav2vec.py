"""wav2vec 2.0: convolutions that make tokens of a wave, and an encoder of these tokens.

Source: baevski2020, sections 2 and 4.2.
"""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.errors import InputError
from foretrain.workload.convolution.operators import loss
from foretrain.workload.convolution.picture import Picture, Window
from foretrain.workload.convolution.trunk import Trunk
from foretrain.workload.graph import Model
from foretrain.workload.operator import Operator, Size
from foretrain.workload.parts.block import Run, layer
from foretrain.workload.parts.encoder import encoder_run
from foretrain.workload.parts.ends import whole
from foretrain.workload.parts.stream import HiddenStates, Norm, at_least, norm

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
