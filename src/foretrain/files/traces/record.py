"""Records: what one line of a log says of a job, whatever the log's format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from foretrain.errors import InputError
from foretrain.files.problems import Problems
from foretrain.measured.job import End, Job, Trace
from foretrain.measured.log import Log
from foretrain.throughput import Curve

FINISHED = ("completed", "complete", "finished", "succeeded", "success", "pass", "passed",
            "terminated", "1")  # fmt: skip
KILLED = ("cancelled", "canceled", "killed", "5", "preempted", "revoked")
FAILED = ("failed", "failure", "timeout", "node_fail", "out_of_memory", "boot_fail", "deadline",
          "0", "error")  # fmt: skip

ENDS = {
    **dict.fromkeys(FINISHED, End.FINISHED),
    **dict.fromkeys(KILLED, End.KILLED),
    **dict.fromkeys(FAILED, End.FAILED),
    "stopped": End.STOPPED,
}
"""How logs call the end of a job."""


class LeftOut(Exception):
    """An entry is no job that ran; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One job of a log.

    Attributes:
        line: where it stands.
        name: of the job.
        arrival: seconds since some day.
        ran: seconds.
        devices: that it held.
        end: how it ended.
        begun: seconds since that day; None if not known.
        estimate: seconds that its user allowed or expected; None if not known.
        user: who submitted it.
        group: its virtual cluster, partition or queue.
        kinds: of devices.
    """

    line: int
    name: str
    arrival: float
    ran: float
    devices: int
    end: End = End.FINISHED
    begun: float | None = None
    estimate: float | None = None
    user: str = ""
    group: str = ""
    kinds: tuple[str, ...] = ()


def ended(text: str) -> End:
    """How a job ended.

    Raises:
        InputError: for a state that is not known.
        LeftOut: for a job that has not ended.
    """
    word = text.split(maxsplit=1)[0].lower() if text else "finished"
    if word in {"running", "pending", "waiting", "suspended", "requeued", "3", "2", "4", "-1"}:
        raise LeftOut("have not ended")
    if word not in ENDS:
        raise InputError(f"unknown state {text!r}. Known: {', '.join(ENDS)}.")
    return ENDS[word]


def log_of(
    records: Sequence[Record],
    *,
    name: str,
    curve: Callable[[int], Curve],
    largest: int | None,
    problems: Problems,
    left_out: Counter[str],
) -> Log:
    """The log that records make, the first job coming at 0 s.

    Args:
        records: of jobs, in any order.
        name: of the trace.
        curve: how jobs scale, by the devices that they held.
        largest: devices of the cluster; None if not known.
        problems: takes what is wrong, and is checked.
        left_out: entries that are no jobs.
    """
    _check(records, largest, problems)
    if not records and not problems.found:
        problems.add("", "holds no job that ran.")
    problems.check()
    first = min(record.arrival for record in records)
    jobs = tuple(_job(record, first, curve) for record in records)
    begun = {each.name: each.begun - first for each in records if each.begun is not None}
    return Log(trace=Trace(name=name, jobs=jobs), begun=begun, left_out=dict(left_out))


def _check(records: Sequence[Record], largest: int | None, problems: Problems) -> None:
    lines: dict[str, int] = {}
    for record in records:
        where = f"line {record.line}"
        if record.name in lines:
            problems.add(where, f"a job called {record.name} stands in line {lines[record.name]}.")
        lines.setdefault(record.name, record.line)
        if largest is not None and record.devices > largest:
            problems.add(
                where,
                f"job {record.name} held {record.devices} devices; the cluster has {largest}.",
            )
        if record.begun is not None and record.begun < record.arrival:
            problems.add(where, f"job {record.name} began before it was submitted.")


def _job(record: Record, first: float, curve: Callable[[int], Curve]) -> Job:
    return Job(
        name=record.name,
        arrival=record.arrival - first,
        work=record.ran,
        curve=curve(record.devices),
        devices=record.devices,
        end=record.end,
        estimate=record.estimate,
        user=record.user,
        group=record.group,
        kinds=record.kinds,
    )
