"""Jobs of a trace: when each came, what it wanted and how it ended.

Logs: jobs that ran, when each began, and what else the log held.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import inf
from typing import Final, NamedTuple

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

    PENDING = "pending"
    """Not yet: it waited when its log was written, so how long it takes is not known at all."""


OPEN_ENDS: Final = frozenset({End.RUNNING, End.PENDING})
"""Of jobs whose log was written before they ended."""


class DependsOn(StrEnum):
    """What a job waits for in another one."""

    START = "after"
    """That it has begun."""

    END = "afterany"
    SUCCESS = "afterok"
    """That it has finished; a job that failed never does."""

    FAILURE = "afternotok"
    """That it has ended otherwise than by finishing."""

    TASK = "aftercorr"
    """Of an array: that its task of the same number has finished."""

    SINGLETON = "singleton"
    """Of no job that is named: that those of its user and label that came before have ended."""

    PROMOTION = "promoted"
    """That the rule of its sweep lets its trial go on."""


class Dependency(NamedTuple):
    """What a job waits for before it may start.

    Attributes:
        job: name of the other job; of an array, all of its tasks. Empty for a singleton.
        what: in it.
    """

    job: str
    what: DependsOn = DependsOn.END

    def meant(self, job: Job) -> Dependency:
        """What it is for a job: a task waits for a task, and a singleton for itself to be alone."""
        if self.what is DependsOn.TASK:
            number = job.name.removeprefix(f"{job.array}_").partition("#")[0]
            return Dependency(f"{self.job}_{number}", DependsOn.SUCCESS)
        return Dependency(job.name, self.what) if self.what is DependsOn.SINGLETON else self


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
        eligible: seconds since the trace began before which it does not stand in the queue, as its
            user or an operator wished; None for its arrival.
        rung: what of a hyper-parameter sweep it is; None for a job by itself.
        label: what its user calls it, as other jobs of the same script.
        licenses: how many of each it holds while it runs, by name.
        switches: under how many leaf switches it wants to lie, and for how many seconds it waits
            for so few; None for any.
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
    eligible: float | None = field(default=None, metadata={"if_set": True})
    rung: TrialRung | None = field(default=None, metadata={"if_set": True})
    label: str = field(default="", metadata={"if_set": True})
    licenses: tuple[tuple[str, int], ...] = field(default=(), metadata={"if_set": True})
    switches: tuple[int, float] | None = field(default=None, metadata={"if_set": True})

    def __post_init__(self) -> None:
        if self.ends_after == inf:
            object.__setattr__(self, "ends_after", self.work)
        for wrong in (*_problems(self), *_unkept(self)):
            raise InputError(f"job {self.name}: {wrong}")


def _problems(job: Job) -> Iterable[str]:
    """What cannot be, in words."""
    if not (0 <= job.arrival < inf and 0 <= (job.eligible or 0.0) < inf):
        yield f"arrival and eligible must be at least 0 s, got {job.arrival} and {job.eligible}."
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


def _unkept(job: Job) -> Iterable[str]:
    """What cannot be waited for or held, in words."""
    if not all(many >= 1 for _, many in job.licenses):
        yield f"licenses must be at least 1 of each, got {job.licenses}."
    if job.switches is not None and not (job.switches[0] >= 1 and job.switches[1] >= 0):
        yield f"switches must be at least 1, and their wait 0 s, got {job.switches}."
    if not job.array and any(each.what is DependsOn.TASK for each in job.after):
        yield "aftercorr is for tasks of arrays. Name its array, or write afterok."


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Jobs in the order of their arrival.

    Attributes:
        name: where they come from.
        jobs: sorted by (arrival, sequence); where both are equal, in the order given.
        opened: seconds since the trace began from which it tells of all jobs; before, of those
            alone that ran or waited then.
        found: when each of those that then ran had begun, by its name: it holds devices from there
            on, whatever the policy.
    """

    name: str
    jobs: tuple[Job, ...]
    opened: float = field(default=0.0, metadata={"if_set": True})
    found: Mapping[str, float] = field(default_factory=dict, metadata={"if_set": True})

    def __post_init__(self) -> None:
        if not self.jobs:
            raise InputError(f"the trace {self.name} has no job.")
        ordered = sorted(self.jobs, key=lambda job: (job.arrival, job.sequence))
        object.__setattr__(self, "jobs", tuple(ordered))
        names = [job.name for job in ordered]
        if len(set(names)) < len(names):
            twice = Counter(names).most_common(1)[0][0]
            raise InputError(f"the trace {self.name} has two jobs called {twice}. Rename one.")

    def later(self, seconds: float) -> Trace:
        """The same jobs, all of them so many seconds later.

        Args:
            seconds: at least 0.
        """
        return replace(
            self,
            jobs=tuple(_later(job, seconds) for job in self.jobs),
            opened=self.opened + seconds if self.opened else 0.0,
            found={name: begun + seconds for name, begun in self.found.items()},
        )

    def only(self, jobs: Sequence[Job]) -> Trace:
        """The same trace with some of its jobs.

        Args:
            jobs: those that stay; what they wait for in others is taken to have happened.
        """
        there = {each for job in jobs for each in (job.name, job.array)}
        free = (
            replace(job, after=tuple(each for each in job.after if each.meant(job).job in there))
            if job.after
            else job
            for job in jobs
        )
        return replace(self, jobs=tuple(free))


def _later(job: Job, seconds: float) -> Job:
    eligible = None if job.eligible is None else job.eligible + seconds
    return replace(job, arrival=job.arrival + seconds, eligible=eligible)


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
            still ran when the log was written has `End.RUNNING`, and its work is what the log saw;
            one that had not begun has `End.PENDING`, and its work is what it may run.
        begun: seconds since the trace began when each first held devices, by the job's name;
            without those of which it is not known.
        left_out: entries that are no such jobs.
        resubmitted: jobs of the trace that an earlier entry of the same name precedes, such as
            runs of a job that was requeued.
        priorities: the last that the scheduler gave, by the job's name; without those not told.
        nodes: on how many each lay, likewise.
        origin: seconds since 1970, where the log has dates, at which the trace begins.
        at_once: tasks of an array that may run at once, by its name; without those of all tasks.
        not_kept: how many jobs ask for something that is not simulated, by what that is in words.
    """

    trace: Trace
    begun: Mapping[str, float] = field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()
    resubmitted: int = 0
    priorities: Mapping[str, float] = field(default_factory=dict)
    nodes: Mapping[str, int] = field(default_factory=dict)
    origin: float = field(default=0.0, metadata={"if_set": True})
    at_once: Mapping[str, int] = field(default_factory=dict, metadata={"if_set": True})
    not_kept: Mapping[str, int] = field(default_factory=dict, metadata={"if_set": True})

    def later(self, seconds: float) -> Log:
        """The same log, begun so many seconds later.

        Args:
            seconds: at least 0.
        """
        if not seconds:
            return self
        begun = {name: moment + seconds for name, moment in self.begun.items()}
        origin = self.origin - seconds
        return replace(self, trace=self.trace.later(seconds), begun=begun, origin=origin)

    @property
    def running(self) -> int:
        """How many jobs still ran when the log was written."""
        return sum(job.end is End.RUNNING for job in self.trace.jobs)

    @property
    def pending(self) -> int:
        """How many jobs had not begun when the log was written."""
        return sum(job.end is End.PENDING for job in self.trace.jobs)
