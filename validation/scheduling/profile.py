"""Profiles of training: measured steps by placement and batch, and what was learned by batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from foretrain.errors import InputError
from foretrain.queueing.step_fit import TimedStep


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """Where training stands at the end of an epoch.

    Attributes:
        progress: steps of the smallest batch that it is worth, since training began.
        steps: steps that were made since training began.
        signal: squared norm of the mean gradient in the epoch.
        noise: variance of the gradient of the smallest batch.
    """

    progress: float
    steps: float
    signal: float
    noise: float

    def __post_init__(self) -> None:
        if not (self.progress > 0 and self.steps > 0):
            raise InputError(f"Epoch.progress and steps must be above 0, got {self}.")
        if not (self.signal >= 0 and self.noise > 0):
            raise InputError(
                f"Epoch.signal must be at least 0 and noise above 0, got {self.signal} and"
                f" {self.noise}."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """All that was measured of one model.

    Attributes:
        name: of the model.
        steps: in any order.
        epochs: of each total batch, in samples, from the first to the last.
    """

    name: str
    steps: tuple[TimedStep, ...]
    epochs: Mapping[int, tuple[Epoch, ...]]

    def __post_init__(self) -> None:
        for wrong in _problems(self):
            raise InputError(f"the profile of {self.name}: {wrong}")

    @property
    def smallest(self) -> int:
        """The total batch that training begins with and progress is counted in."""
        return min(self.epochs)

    @property
    def largest(self) -> int:
        """The largest total batch that still learns."""
        return max(self.epochs)

    @property
    def least(self) -> int:
        """The least batch of a device."""
        return min(timed.batch for timed in self.steps)

    @property
    def most(self) -> int:
        """The largest batch of a device: one that was measured wherever `largest` allows it."""
        measured: dict[tuple[int, int], set[int]] = {}
        for timed in self.steps:
            measured.setdefault((timed.nodes, timed.devices), set()).add(timed.batch)
        return max(
            batch
            for batch in {timed.batch for timed in self.steps}
            if all(
                batch in batches
                for (_, devices), batches in measured.items()
                if devices * batch <= self.largest
            )
        )

    @property
    def length(self) -> int:
        """Epochs after which training ends: those that every batch made."""
        return min(map(len, self.epochs.values()))


def _problems(profile: Profile) -> Iterable[str]:
    """What is missing, in words."""
    if not profile.steps:
        yield "steps is empty; give at least one."
    if not profile.epochs or not all(profile.epochs.values()):
        yield "epochs must name at least one batch, each with at least one epoch."


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A job as it was submitted, whose length follows from the profile of its model.

    Attributes:
        name: of the job.
        arrival: seconds since the workload began.
        application: name of the profile.
        devices: that its user asks for.
        batch: total batch that its user asks for.
    """

    name: str
    arrival: float
    application: str
    devices: int
    batch: int

    def __post_init__(self) -> None:
        if not self.arrival >= 0:
            raise InputError(f"Submission.arrival must be at least 0 s, got {self.arrival}.")
        if not (self.devices >= 1 and self.batch >= 1):
            raise InputError(
                f"Submission.devices and batch must be at least 1, got {self.devices} and"
                f" {self.batch}."
            )
