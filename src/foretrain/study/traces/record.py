"""Records: what one line of a log says of a job, whatever the log's format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

from foretrain.errors import InputError
from foretrain.measured.job import End, Job, Log, Remainder, Trace
from foretrain.study.problems import Problems
from foretrain.throughput import Curve
from foretrain.units import as_written

FINISHED = ("completed", "complete", "finished", "succeeded", "success", "pass", "passed",
            "terminated")  # fmt: skip
KILLED = ("cancelled", "canceled", "killed", "preempted", "revoked", "requeued")
FAILED = ("failed", "failure", "timeout", "node_fail", "out_of_memory", "boot_fail", "deadline",
          "error")  # fmt: skip
RUNNING = ("running", "suspended", "completing", "resizing")
PENDING = ("pending", "waiting")

ENDS = {
    **dict.fromkeys(FINISHED, End.FINISHED),
    **dict.fromkeys(KILLED, End.KILLED),
    **dict.fromkeys(FAILED, End.FAILED),
    **dict.fromkeys(RUNNING, End.RUNNING),
    "stopped": End.STOPPED,
}
"""How logs call the end of a job."""

UNREADABLE = "cannot be read"
"""Why lines are left out that are not what a line of their format is."""

NEVER_RAN = "have not run"


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
            or else came, until then.
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
        NotAJob: for a job that had not begun when the log was written.
    """
    word = text.split(maxsplit=1)[0].lower() if text else "finished"
    if word in PENDING:
        raise NotAJob("had not begun when the log was written")
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
) -> Log:
    """The log that records make, the first job coming at 0 s.

    Args:
        records: of submissions, in the order of the log.
        name: of the trace.
        curve: how jobs scale, by the devices that they held.
        remainder: what was left out; takes records that are no sound jobs.
        problems: told where no job is left that ended.
    """
    submitted = _told_once(records, remainder)
    last = max((each.until for each in submitted), default=0.0)
    sound = []
    for each in submitted:
        # Those that still ran did so for as many seconds as the log saw of them.
        closed = each if each.ran is not None else replace(each, ran=last - each.since)
        if each.ran is not None and each.last_seen and each.until >= last:
            closed = replace(each, end=End.RUNNING)
        if _sound(closed, remainder):
            sound.append(closed)
    if all(each.end is End.RUNNING for each in sound):
        problems.add("", "holds no job that ran and ended.")
        problems.add_all(f"line {line}: {told}" for line, told in remainder.lines())
    problems.check()
    first = min(each.arrival for each in sound)
    named = tuple(_named_apart(sound))
    jobs = tuple(_job(each, curve(each.devices), first=first) for each in named)
    return Log(
        trace=Trace(name=name, jobs=jobs),
        begun={each.name: each.begun - first for each in named if each.begun is not None},
        left_out=remainder.left_out(),
        resubmitted=len(sound) - len({each.name for each in sound}),
        priorities={each.name: each.priority for each in named if each.priority is not None},
        nodes={each.name: each.nodes for each in named if each.nodes},
    )


def _job(record: Record, curve: Curve, *, first: float) -> Job:
    """The job of a record, in a trace that begins with the first arrival."""
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
        kinds=record.kinds,
        sequence=record.line,
    )


def _told_once(records: Sequence[Record], remainder: Remainder) -> list[Record]:
    """The records without those that say again, or later, what another says.

    A job that was requeued has a record for each of its runs, each with a submission of its own;
    a job that is told by two overlapping extracts of a log has one submission.
    """
    found: dict[tuple[object, ...], Record] = {}
    for record in records:
        key: tuple[object, ...] = (record.name, record.arrival, record.begun)
        before = found.get(key)
        if before is None:
            found[key] = record
        elif replace(record, line=before.line) == before or record.end is End.RUNNING:
            remainder.add("repeat another entry", record.line, f"see line {before.line}.")
        elif before.end is End.RUNNING:
            remainder.add("repeat another entry", before.line, f"see line {record.line}.")
            found[key] = record
        else:
            found[*key, record.line] = record
    return list(found.values())


def _sound(record: Record, remainder: Remainder) -> bool:
    """Whether a record is a job that ran; if not, it is left out."""
    job, ran, begun = f"job {record.name}", record.ran or 0.0, record.begun
    if not record.devices:
        remainder.add("hold no device", record.line)
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


def _named_apart(records: Sequence[Record]) -> Iterator[Record]:
    """The records in the order of submission, each under a name of its own: 7, 7#2, 7#3."""
    taken = {record.name for record in records}
    seen: set[str] = set()
    for record in sorted(records, key=lambda each: (each.arrival, each.line)):
        if record.name not in seen:
            seen.add(record.name)
            yield record
            continue
        free = next(name for run in count(2) if (name := f"{record.name}#{run}") not in taken)
        taken.add(free)
        yield replace(record, name=free)
