"""Records: what one line of a log says of a job, whatever the log's format.

A log that is written while a cluster works begins with jobs that run or wait, and ends with such
jobs. Where it says nothing of its beginning, two chances tell. In a log from the first job on, that
none of those that began has ended by the first end is anything from 0 to 1 alike; in a log that was
cut, whoever did not last until the cut is missing, and the chance is next to nothing. And whoever
waited before a cut did so for jobs that are missing: there seems to have been room.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, count
from math import comb, fsum, inf, log
from statistics import median
from typing import Final

from foretrain.errors import InputError
from foretrain.measured.job import OPEN_ENDS, Dependency, End, Job, Log, Remainder, Trace
from foretrain.study.problems import Problems
from foretrain.throughput import Curve
from foretrain.units import as_written

STATES: Final = {
    End.FINISHED: "completed complete finished succeeded success pass passed terminated",
    End.KILLED: "cancelled canceled killed preempted revoked requeued",
    End.FAILED: "failed failure timeout node_fail out_of_memory boot_fail deadline error"
    " launch_failed reconfig_fail special_exit",
    End.RUNNING: "running suspended completing resizing configuring signaling stage_out",
    End.PENDING: "pending waiting requeue_hold requeue_fed resv_del_hold",
    End.STOPPED: "stopped",
}
ENDS: Final = {word: end for end, words in STATES.items() for word in words.split()}
"""How logs call the end of a job."""

UNREADABLE = "cannot be read"
"""Why lines are left out that are not what a line of their format is."""

NEVER_RAN = "have not run"
NO_DEVICE = "hold no device"

BEFORE = "had not begun when the log was written"


class NotAJob(Exception):
    """An entry is no job that ran; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One submission of a job to a cluster.

    Attributes:
        line: where it stands.
        name: of the job.
        arrival: seconds since some day.
        ran: seconds, until the log was written where it still ran; None for from when it began,
            or else came, until then, and for a job that had not begun.
        devices: that it held.
        end: how it ended.
        begun: seconds since that day; None if not known.
        last_seen: whether it ran when it was last seen: then it ran on where nothing in the log is
            later.
        estimate: seconds that its user allowed or expected; None if not known.
        user: who submitted it.
        account: that is charged for it.
        qos: its quality of service.
        group: its virtual cluster, partition or queue.
        kinds: of devices.
        priority: the last that the scheduler gave it; None if not known.
        nodes: on how many it lay; 0 if not known.
        eligible: seconds since that day from which it stood in the queue; None if not known.
        again: whether entries of its name are runs of one job.
        after: what it waited for in others.
        nice: what is taken off its priority.
        array: of which it is a task.
        at_once: tasks of it that may run at once; 0 for all.
        label: what its user calls it.
        licenses: how many of each it holds.
        switches: under how many leaf switches it wants to lie, and for how many seconds it waits.
        not_kept: in words, what it asks for that is not simulated.
    """

    line: int
    name: str
    arrival: float
    ran: float | None
    devices: int
    end: End = End.FINISHED
    begun: float | None = None
    last_seen: bool = False
    estimate: float | None = None
    user: str = ""
    account: str = ""
    qos: str = ""
    group: str = ""
    kinds: tuple[str, ...] = ()
    priority: float | None = None
    nodes: int = 0
    eligible: float | None = None
    again: bool = False
    after: tuple[Dependency, ...] = ()
    nice: float = 0.0
    array: str = ""
    at_once: int = 0
    label: str = ""
    licenses: tuple[tuple[str, int], ...] = ()
    switches: tuple[int, float] | None = None
    not_kept: tuple[str, ...] = ()

    @property
    def since(self) -> float:
        """From when it ran, as far as is known."""
        return self.arrival if self.begun is None else self.begun

    @property
    def until(self) -> float:
        """The last moment that it tells of."""
        return max(self.arrival, self.since + (self.ran or 0.0))


def ended(text: str) -> End:
    """How a job ended.

    Raises:
        InputError: for a state that is not known.
    """
    word = text.split(maxsplit=1)[0].lower() if text else "finished"
    if word.endswith("+"):  # a column that was too narrow
        word = next((each for each in ENDS if each.startswith(word[:-1])), word)
    if word not in ENDS:
        raise InputError(f"unknown state {as_written(text)}. Known: {', '.join(ENDS)}.")
    return ENDS[word]


def log_of(
    records: Sequence[Record],
    *,
    name: str,
    curve: Callable[[int], Curve],
    remainder: Remainder,
    problems: Problems,
    since: float | None = None,
) -> Log:
    """The log that records make, the first job coming at 0 s.

    Args:
        records: of submissions, in the order of the log.
        name: of the trace.
        curve: how jobs scale, by the devices that they held.
        remainder: what was left out; takes records that are no sound jobs.
        problems: told where no job is left that ended.
        since: seconds since that day from which the log tells of all jobs; None to find out.
    """
    sound = _closed(_told_once(records, remainder), remainder)
    if all(each.end in OPEN_ENDS for each in sound):
        problems.add("", "holds no job that ran and ended.")
        problems.add_all(f"line {line}: {told}" for line, told in remainder.lines())
    problems.check()
    first = min(each.arrival for each in sound)
    runs = tuple(_named_apart(sound))
    named = tuple(each for each, _ in runs)
    jobs = (_job(each, curve(each.devices), first=first, before=before) for each, before in runs)
    opened = _opened(named) if since is None else since
    if opened > named[-1].arrival:
        problems.add("", f"tells of no job that was submitted after its beginning{CUT}")
        problems.check()
    found = (each for each in named if each.begun is not None and each.begun < opened)
    trace = Trace(
        name=name,
        jobs=tuple(jobs),
        opened=max(0.0, opened - first),
        found={each.name: each.since - first for each in found},
    )
    return Log(
        trace=trace,
        begun={each.name: each.begun - first for each in named if each.begun is not None},
        left_out=remainder.left_out(),
        resubmitted=len(sound) - len({each.name for each in sound}),
        priorities={each.name: each.priority for each in named if each.priority is not None},
        nodes={each.name: each.nodes for each in named if each.nodes},
        origin=first,
        at_once={each.array: each.at_once for each in named if each.at_once},
        not_kept=Counter(told for each in named for told in each.not_kept),
    )


def _closed(submitted: Sequence[Record], remainder: Remainder) -> list[Record]:
    """The sound records, all of them with how long they ran or are taken to run."""
    last = max((each.until for each in submitted), default=0.0)
    ran = [each.ran for each in submitted if each.ran and each.end not in OPEN_ENDS]
    usual = median(ran) if ran else 0.0
    sound = []
    for each in submitted:
        # Those that still ran did so for as many seconds as the log saw of them; those that had
        # not begun run for as long as they may, or else as jobs of the log do.
        seen = (each.estimate or usual) if each.end is End.PENDING else last - each.since
        closed = each if each.ran is not None else replace(each, ran=seen)
        if each.ran is not None and each.last_seen and each.until >= last:
            closed = replace(each, end=End.RUNNING)
        if _sound(closed, remainder):
            sound.append(closed)
    return sound


CUT: Final = ": jobs.since is later than all of them. Write an earlier time, or leave it out."

ODD: Final = 0.01
"""Chance of such a beginning below which a log is taken to be cut there."""

LEAST: Final = 20
"""Jobs that ran later from which on it is known how long jobs last."""

PROMPT: Final = 600.0
"""Seconds within which a scheduler starts a job that finds room; Slurm's loops take a minute, and
its priorities are worked out every five."""


def _opened(records: Sequence[Record]) -> float:
    """From when on records tell of all jobs: the first end where the log was cut before it.

    Args:
        records: of submissions.

    Returns:
        Seconds since some day; minus infinity for a log from the first job on.
    """
    begun = [each for each in records if each.begun is not None]
    first = min((each.until for each in begun if each.end not in OPEN_ENDS), default=-inf)
    ended = (each for each in begun if each.since >= first and each.end not in OPEN_ENDS)
    lasted = sorted(each.ran or 0.0 for each in ended)
    if len(lasted) < LEAST:
        return -inf
    lasting = 1.0
    for each in begun:
        if each.since < first:
            longer = len(lasted) - bisect_left(lasted, first - each.since)
            lasting *= (longer + 1) / (len(lasted) + 1)
    # The chance of such a product of two chances. Source: fisher1932.
    both = lasting * _idly(records, first)
    return first if both * (1.0 - log(both)) < ODD else -inf


def _idly(records: Sequence[Record], first: float) -> float:
    """The chance that as many wait before a moment, though there is room, as later in the log.

    There is room for a job if it, those that run and those that wait before it hold no more devices
    than were ever held at once. In a log from the first job on it then waits for a limit or a
    partition, before as after.
    """
    came, idle = [0, 0], [0, 0]
    for each, free in _room([each for each in records if _leaves(each) > each.arrival]):
        later = each.arrival >= first
        came[later] += 1
        waits = each.begun is None or each.begun > each.arrival + PROMPT
        idle[later] += free >= 0 and waits
    usual = (idle[1] + 1) / (came[1] + 2)
    return fsum(
        comb(came[0], many) * usual**many * (1.0 - usual) ** (came[0] - many)
        for many in range(idle[0], came[0] + 1)
    )


def _leaves(record: Record) -> float:
    """When a job was gone: never, for who waited to the end; not after it came, if nobody knows."""
    if record.end is End.PENDING:
        return inf
    return -inf if record.begun is None else record.until


def _room(jobs: Sequence[Record]) -> Iterator[tuple[Record, int]]:
    """Each job as it came, and how many of the most devices are left by it and those before it."""
    begun = [each for each in jobs if each.begun is not None]
    ends = ((each.until, 0, -each.devices) for each in begun)
    starts = ((each.since, 1, each.devices) for each in begun)
    held = accumulate(change for _, _, change in sorted((*ends, *starts)))
    most = max(held, default=0)
    moments = [(_leaves(each), 0, -each.devices) for each in jobs]
    moments += [(each.arrival, 1, place) for place, each in enumerate(jobs)]
    asked = 0
    for _, comes, what in sorted(moments):
        asked += jobs[what].devices if comes else what
        if comes:
            yield jobs[what], most - asked


def _job(record: Record, curve: Curve, *, first: float, before: str) -> Job:
    """The job of a record, in a trace that begins with the first arrival."""
    eligible = record.eligible
    return Job(
        name=record.name,
        arrival=record.arrival - first,
        work=record.ran or 0.0,
        curve=curve,
        devices=record.devices,
        end=record.end,
        estimate=record.estimate,
        user=record.user,
        account=record.account,
        qos=record.qos,
        group=record.group,
        nice=record.nice,
        array=record.array,
        label=record.label,
        licenses=record.licenses,
        switches=record.switches,
        kinds=record.kinds,
        sequence=record.line,
        eligible=None if eligible is None else max(0.0, eligible - first),
        after=(*record.after, *((Dependency(before),) if before else ())),
    )


def _told_once(records: Sequence[Record], remainder: Remainder) -> list[Record]:
    """The records without those that say again, or later, what another says.

    A job that was requeued has a record for each of its runs, each with a submission of its own;
    a job that is told by two overlapping extracts of a log has one submission.
    """
    found: dict[tuple[object, ...], Record] = {}
    begun = (each for each in records if each.end is not End.PENDING)
    began = {(each.name, each.arrival): each.line for each in begun}
    for record in records:
        if record.end is End.PENDING and (record.name, record.arrival) in began:
            line = began[record.name, record.arrival]
            remainder.add("repeat another entry", record.line, f"see line {line}.")
            continue
        key: tuple[object, ...] = (record.name, record.arrival, record.begun)
        before = found.get(key)
        if before is None:
            found[key] = record
        elif replace(record, line=before.line) == before or record.end in OPEN_ENDS:
            remainder.add("repeat another entry", record.line, f"see line {before.line}.")
        elif before.end in OPEN_ENDS:
            remainder.add("repeat another entry", before.line, f"see line {record.line}.")
            found[key] = record
        else:
            found[*key, record.line] = record
    return list(found.values())


def _sound(record: Record, remainder: Remainder) -> bool:
    """Whether a record is a job that ran; if not, it is left out."""
    job, ran, begun = f"job {record.name}", record.ran or 0.0, record.begun
    if not record.devices:
        remainder.add(NO_DEVICE, record.line)
    elif ran < 0:
        remainder.add("ended before they began", record.line, f"{job} ran {ran:g} s.")
    elif not ran:
        remainder.add("ran for no second", record.line)
    elif begun is not None and begun < record.arrival:
        told = f"{job} began {record.arrival - begun:g} s before."
        remainder.add("began before they were submitted", record.line, told)
    else:
        return True
    return False


def _named_apart(records: Sequence[Record]) -> Iterator[tuple[Record, str]]:
    """The records in the order of submission, each under a name of its own: 7, 7#2, 7#3.

    With each the name of the run that was requeued before it, if any: it does not begin before that
    has ended.
    """
    taken = {record.name for record in records}
    last: dict[str, Record] = {}
    for record in sorted(records, key=lambda each: (each.arrival, each.line)):
        before = last.get(record.name)
        if before is None:
            last[record.name] = record
            yield record, ""
            continue
        free = next(name for run in count(2) if (name := f"{record.name}#{run}") not in taken)
        taken.add(free)
        last[record.name] = own = replace(record, name=free)
        requeued = record.again and before.end not in OPEN_ENDS and before.until <= record.arrival
        yield own, before.name if requeued else ""
