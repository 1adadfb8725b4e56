"""Jobs of a trace: when each came, what it wanted and how it ended.

Logs: jobs that ran, when each began, and what else the log held.

Jobs whose speed changes on the way: another batch, another length of sequence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import inf, isfinite
from typing import NamedTuple

from foretrain.errors import InputError
from foretrain.measured.sweep import TrialRung
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


class DependsOn(StrEnum):
    """What a job waits for in another one."""

    START = "after"
    """That it has begun."""

    END = "afterany"
    SUCCESS = "afterok"
    """That it has finished; a job that failed never does."""

    FAILURE = "afternotok"
    """That it has ended otherwise than by finishing."""

    PROMOTION = "promoted"
    """That the rule of its sweep lets its trial go on."""


class Dependency(NamedTuple):
    """What a job waits for before it may start.

    Attributes:
        job: name of the other job; of an array, all of its tasks.
        what: in it.
    """

    job: str
    what: DependsOn = DependsOn.END


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
        account: that is charged for it.
        qos: its quality of service, by which a site weighs and bounds it.
        array: the array of which it is a task; empty for none.
        after: all that must have happened before it may start.
        nice: what its user takes off its priority.
        group: the virtual cluster, partition or queue that it was submitted to.
        kinds: kinds of devices that it can use; empty for all.
        rung: what of a hyper-parameter sweep it is; None for a job by itself.
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
    account: str = ""
    qos: str = ""
    array: str = ""
    after: tuple[Dependency, ...] = ()
    nice: float = 0.0
    group: str = ""
    kinds: tuple[str, ...] = ()
    sequence: int = 0
    rung: TrialRung | None = field(default=None, metadata={"if_set": True})

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


LISTED = 10
"""Entries that are listed of those that are left out for one reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """One entry of a log that is not among its jobs.

    Attributes:
        line: where it stands in the file, the first line being 1.
        told: what is wrong with it; empty where the reason says all.
    """

    line: int
    told: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Entries of a log that are not among its jobs, for one reason.

    Attributes:
        reason: as in "3 entries hold no device".
        count: how many.
        first: the first of them, at most `LISTED`.
    """

    reason: str
    count: int
    first: tuple[LogEntry, ...] = ()


class Remainder:
    """Collects what of a log is not among its jobs."""

    def __init__(self, before: tuple[LeftOut, ...] = ()) -> None:
        """What was left out before, if anything."""
        self._found = {each.reason: (each.count, [*each.first]) for each in before}

    def add(self, reason: str, line: int, told: str = "") -> None:
        """Leave an entry out.

        Args:
            reason: as in "3 entries hold no device", the same words for all that are alike.
            line: where it stands.
            told: what is wrong with this one.
        """
        count, first = self._found.get(reason, (0, []))
        if count < LISTED:
            first.append(LogEntry(line=line, told=told))
        self._found[reason] = count + 1, first

    def left_out(self) -> tuple[LeftOut, ...]:
        """What was left out, the most frequent reason first."""
        found = (
            LeftOut(reason=reason, count=count, first=tuple(first))
            for reason, (count, first) in self._found.items()
        )
        return tuple(sorted(found, key=lambda each: -each.count))

    def lines(self) -> Iterator[tuple[int, str]]:
        """Line and reason of the entries that are listed, for an error of a log without jobs."""
        for reason, (_, first) in self._found.items():
            yield from ((each.line, each.told or f"entries that {reason}.") for each in first)


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """What a cluster's log tells.

    Attributes:
        trace: jobs that ran. What each wanted is not known; its work is what it did. One that
            still ran when the log was written has `End.RUNNING`, and its work is what the log saw.
        begun: seconds since the trace began when each first held devices, by the job's name;
            without those of which it is not known.
        left_out: entries that are no such jobs.
        resubmitted: jobs of the trace that an earlier entry of the same name precedes, such as
            runs of a job that was requeued.
        priorities: the last that the scheduler gave, by the job's name; without those not told.
        nodes: on how many each lay, likewise.
    """

    trace: Trace
    begun: Mapping[str, float] = field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()
    resubmitted: int = 0
    priorities: Mapping[str, float] = field(default_factory=dict)
    nodes: Mapping[str, int] = field(default_factory=dict)

    def later(self, seconds: float) -> Log:
        """The same log, begun so many seconds later.

        Args:
            seconds: at least 0.
        """
        if not seconds:
            return self
        jobs = tuple(replace(job, arrival=job.arrival + seconds) for job in self.trace.jobs)
        begun = {name: moment + seconds for name, moment in self.begun.items()}
        return replace(self, trace=replace(self.trace, jobs=jobs), begun=begun)

    @property
    def running(self) -> int:
        """How many jobs still ran when the log was written."""
        return sum(job.end is End.RUNNING for job in self.trace.jobs)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPhase:
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
            raise InputError(f"JobPhase.begins must be at least 0, got {self.begins}.")
        if not self.scale > 0:
            raise InputError(f"JobPhase.scale must be above 0, got {self.scale}.")


@dataclass(frozen=True, slots=True)
class Phased:
    """A curve that is another one from some work on.

    Attributes:
        phases: ascending; the first begins at 0. All can use the same numbers of devices.
    """

    phases: tuple[JobPhase, ...]

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


def current(phases: Sequence[JobPhase], done: float) -> JobPhase:
    """The phase of a job that has done some work."""
    return next(phase for phase in reversed(phases) if phase.begins <= done)
