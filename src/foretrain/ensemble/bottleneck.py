"""The bottleneck: which stage of a shared stream sets the pace of the members."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from foretrain.errors import InputError
from foretrain.measured.ensemble_study import Bottleneck, Stage

SATURATED: Final = 0.75
"""Share of the time that a stage works from which on it holds the others up.

A stage that sets the pace works all the time, but for the noise of a machine and the first samples.
"""

REMEDIES: Final = {
    Stage.READER: "More workers read at once, or faster storage; or a smaller form of the samples.",
    Stage.DECODER: "More workers, if cores are left; or less work in the shared transform.",
    Stage.TRANSPORT: "More cores or fewer processes, if cores are short; else more memory, so that"
    " more samples lie ready, or smaller samples.",
    Stage.TRAINER: "Nothing is lost: members train as quickly as they can.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressure:
    """What the stages of a stream did in an interval, in shares of it.

    Attributes:
        reading: time of the workers in the data set, over all their time.
        decoding: in the shared transform, likewise.
        storing: writing samples where members read them, likewise.
        waiting: time without a batch of the member that waits least, over all its time.
        fill: slots that hold samples which not all have read, over all slots.
    """

    reading: float
    decoding: float
    storing: float
    waiting: float
    fill: float

    def __post_init__(self) -> None:
        for name in ("reading", "decoding", "storing", "waiting", "fill"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"Pressure.{name} must be a share, got {getattr(self, name)}.")

    @property
    def producing(self) -> float:
        """Share of the time in which workers were not held up by those behind them."""
        return min(1.0, self.reading + self.decoding + self.storing)

    @property
    def training(self) -> float:
        """Share of the time in which the member that sets the pace trained."""
        return 1.0 - self.waiting


def bottleneck(pressure: Pressure) -> Bottleneck:
    """The stage that sets the pace.

    The stage before a bottleneck finds its queue full and the one behind it empty. Workers that
    are never held up mean that it is one of their own; members that never wait, that it is they;
    where both wait, what lies between them. Where both are busy all the time, which happens when
    they share cores, the queue between them tells.

    Source: pittman2018, section 4: full upstream and empty downstream queues locate the stage.
    """
    producing, training = pressure.producing, pressure.training
    if max(producing, training) < SATURATED:
        return _found(Stage.TRANSPORT, 1.0 - max(producing, training), pressure)
    both = min(producing, training) >= SATURATED
    if pressure.fill >= 0.5 if both else training > producing:
        return _found(Stage.TRAINER, training, pressure)
    parts = {
        Stage.READER: pressure.reading,
        Stage.DECODER: pressure.decoding,
        Stage.TRANSPORT: pressure.storing,
    }
    stage = max(parts, key=lambda each: parts[each])
    return _found(stage, parts[stage], pressure)


def _found(stage: Stage, share: float, pressure: Pressure) -> Bottleneck:
    evidence = (
        f"workers read {pressure.reading:.0%}, decode {pressure.decoding:.0%} and store"
        f" {pressure.storing:.0%} of the time; the member that sets the pace waits"
        f" {pressure.waiting:.0%}; {pressure.fill:.0%} of the slots are full"
    )
    return Bottleneck(stage=stage, share=share, evidence=evidence, remedy=REMEDIES[stage])
