"""Jobs of a trace: when each came, what it wanted and how it ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from math import inf, isfinite

from foretrain.errors import InputError
from foretrain.throughput import Curve


class End(StrEnum):
    """How a job ends."""

    FINISHED = "finished"
    STOPPED = "stopped"
    """Early, because it had learned enough or would not."""

    FAILED = "failed"
    KILLED = "killed"
    """By its user or an operator."""

    RUNNING = "running"
    """Not yet: it ran when its log was written, so how long it takes is known from below only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One training job.

    Attributes:
        name: what it is called; no two jobs of a trace share it.
        arrival: seconds since the trace began.
        sequence: its place in the order of submission, such as its line in a log: of jobs that
            arrive at one time the lowest came first.
        work: units of its curve that it wants to do: samples, or seconds where it is rigid.
        curve: how quickly it goes on which devices.
        devices: how many it asks for; one of the curve's counts.
        end: how it ends.
        ends_after: units of work after which it ends; `work` where it finishes, at most that
            otherwise.
        restart: seconds that a start after a preemption takes before work goes on.
        start: seconds that the first start takes.
        preemptible: whether it may be interrupted.
        priority: weight among other jobs, above 0.
        deadline: seconds since the trace began by which it should end; None without one.
        estimate: seconds on `devices` that its user said it would take; None if nothing was said.
        user: who submitted it.
        group: the virtual cluster or queue that it was submitted to.
        kinds: kinds of devices that it can use; empty for all.
    """

    name: str
    arrival: float
    work: float
    curve: Curve
    devices: int
    end: End = End.FINISHED
    ends_after: float = inf
    restart: float = 0.0
    start: float = 0.0
    preemptible: bool = True
    priority: float = 1.0
    deadline: float | None = None
    estimate: float | None = None
    user: str = ""
    group: str = ""
    kinds: tuple[str, ...] = ()
    sequence: int = 0

    def __post_init__(self) -> None:
        if self.ends_after == inf:
            object.__setattr__(self, "ends_after", self.work)
        for wrong in _problems(self):
            raise InputError(f"job {self.name}: {wrong}")


def _problems(job: Job) -> Iterable[str]:
    """What cannot be, in words."""
    if not (job.arrival >= 0 and isfinite(job.arrival)):
        yield f"arrival must be at least 0 s, got {job.arrival}."
    if not 0 < job.work < inf:
        yield f"work must be above 0, got {job.work}."
    if not 0 < job.ends_after <= job.work:
        yield f"ends_after must be above 0 and at most work ({job.work}), got {job.ends_after}."
    if job.devices not in job.curve.counts:
        yield f"devices must be one of the counts of its curve, got {job.devices}."
    if not (job.restart >= 0 and job.start >= 0):
        yield f"restart and start must be at least 0 s, got {job.restart} and {job.start}."
    if not 0 < job.priority < inf:
        yield f"priority must be above 0, got {job.priority}."
    if job.estimate is not None and not 0 <= job.estimate < inf:
        yield f"estimate must be at least 0 s, got {job.estimate}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Jobs in the order of their arrival.

    Attributes:
        name: where they come from.
        jobs: sorted by (arrival, sequence); where both are equal, in the order given.
    """

    name: str
    jobs: tuple[Job, ...]

    def __post_init__(self) -> None:
        if not self.jobs:
            raise InputError(f"the trace {self.name} has no job.")
        ordered = sorted(self.jobs, key=lambda job: (job.arrival, job.sequence))
        object.__setattr__(self, "jobs", tuple(ordered))
        names = [job.name for job in ordered]
        if len(set(names)) < len(names):
            twice = Counter(names).most_common(1)[0][0]
            raise InputError(f"the trace {self.name} has two jobs called {twice}. Rename one.")
