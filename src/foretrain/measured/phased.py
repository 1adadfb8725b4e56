"""Jobs whose speed changes on the way: another batch, another length of sequence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from foretrain.errors import InputError
from foretrain.throughput import Curve


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """A part of a job.

    Attributes:
        begins: units of work done at which it begins.
        curve: how quickly the job then goes.
        scale: units of the job's work in a unit of the curve's, above 0: what a step of the new
            batch counts in steps of the first.
    """

    begins: float
    curve: Curve
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not self.begins >= 0:
            raise InputError(f"Phase.begins must be at least 0, got {self.begins}.")
        if not self.scale > 0:
            raise InputError(f"Phase.scale must be above 0, got {self.scale}.")


@dataclass(frozen=True, slots=True)
class Phased:
    """A curve that is another one from some work on.

    Attributes:
        phases: ascending; the first begins at 0. All can use the same numbers of devices.
    """

    phases: tuple[Phase, ...]

    def __post_init__(self) -> None:
        begins = [phase.begins for phase in self.phases]
        if not begins or begins[0] != 0.0 or begins != sorted(set(begins)):
            raise InputError(f"phases must begin at 0 and ascend, got {begins}.")

    @property
    def counts(self) -> tuple[int, ...]:
        """Numbers of devices on which the job can run, ascending."""
        return self.phases[0].curve.counts

    def rate(self, devices: float, *, nodes: int, kind: str, done: float) -> float:
        """Units of work per second."""
        now = current(self.phases, done)
        return now.scale * now.curve.rate(devices, nodes=nodes, kind=kind, done=done)

    def until(self, done: float) -> float:
        """Units of work done at which the next phase begins; infinity in the last."""
        return next((phase.begins for phase in self.phases if phase.begins > done), inf)


def current(phases: Sequence[Phase], done: float) -> Phase:
    """The phase of a job that has done some work."""
    return next(phase for phase in reversed(phases) if phase.begins <= done)
