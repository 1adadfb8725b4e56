"""Traces of clusters: the table of formats, and the one way to read them.

Slurm: what `sacct --parsable2` prints of jobs; steps of jobs are left out.

Ask it for JobID, JobName, User, Account, QOS, Partition, Submit, Eligible, Start, Elapsed,
Timelimit, State, AllocTRES, ReqTRES, Licenses and SubmitLine of all users' allocations, with
`--parsable2` for `|` between cells and the names in the first line. Jobs that wait hold nothing
yet: what they ask for stands in ReqTRES. What they wait for, and how many tasks of an array may run
at once, stands in SubmitLine.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Final

from foretrain.errors import InputError, nearest
from foretrain.measured.job import OPEN_ENDS, Dependency, DependsOn, End, Job, Log, Remainder, Trace
from foretrain.study.files import read_text
from foretrain.study.problems import Problems
from foretrain.study.quotas import WORKLOADS
from foretrain.study.traces.format import (
    MOST_BYTES,
    Format,
    Row,
    first_cells,
    held_licenses,
    rows,
    submit_options,
)
from foretrain.study.traces.formats import HELIOS, OPENB, PAI, PHILLY, SWF, TIRESIAS, mapped
from foretrain.study.traces.record import (
    NEVER_RAN,
    NO_DEVICE,
    UNREADABLE,
    NotAJob,
    Record,
    ended,
    log_of,
)
from foretrain.throughput import elastic, rigid
from foretrain.units import as_written

DEVICES = re.compile(r"gres/gpu(?::([\w.-]+))?=(\d+)")
"""Devices among the resources of a job, of a kind or of all kinds together."""

ON_NODES = re.compile(r"(?:^|,)node=(\d+)")
"""Nodes among them."""


TASK = re.compile(r"(.+)_(?:(\d+)|\[[^\]%]*(?:%(\d+))?\])(?:\+\d+)?")
"""A task of an array, or those that wait and how many of them at once: 7_3, 7_[4-9%2]."""


def sacct_job(row: Row) -> Record:
    """A job of a row that sacct prints."""
    name = row.needed("JobID")
    if "." in name.partition("[")[0]:
        raise NotAJob("are steps of jobs")
    end = ended(row.needed("State"))
    waits = end is End.PENDING
    if not (row.has("Start") or waits):
        raise NotAJob(NEVER_RAN)
    held = row.text("ReqTRES" if waits else "AllocTRES")
    found = {kind: int(count) for kind, count in DEVICES.findall(held)}
    devices = found.pop("", 0) or sum(found.values())
    if not devices:
        raise NotAJob("wait, and do not tell in ReqTRES for which devices" if waits else NO_DEVICE)
    lay = ON_NODES.search(row.text("AllocTRES"))
    nodes = int(lay[1]) if lay else row.count("NNodes") if row.has("NNodes") else 0
    record = Record(
        line=row.line,
        name=name,
        arrival=row.moment("Submit"),
        ran=None if waits else _ran(row),
        devices=devices,
        end=end,
        begun=None if waits else row.moment("Start"),
        estimate=_limit(row),
        user=row.text("User"),
        account=row.text("Account"),
        qos=row.text("QOS"),
        group=row.text("Partition"),
        kinds=tuple(sorted(found)),
        priority=row.number("Priority") if row.has("Priority") else None,
        nodes=nodes,
        eligible=row.moment("Eligible") if row.has("Eligible") else None,
        again=True,
    )
    return _with_options(record, row)


def _with_options(record: Record, row: Row) -> Record:
    """A record with what its submission, its array and its name tell of it."""
    submitted, number = submit_options(row.text("SubmitLine")), TASK.fullmatch(record.name)
    label, after, not_kept = row.text("JobName") or submitted.label, submitted.after, []
    if not label and any(each.what is DependsOn.SINGLETON for each in after):
        after = tuple(each for each in after if each.what is not DependsOn.SINGLETON)
        not_kept.append("the dependency singleton without a JobName")
    if "+" in record.name:
        not_kept.append("that the components of a heterogeneous job start together")
    licenses = held_licenses(row.text("Licenses") or submitted.licenses)
    if licenses is None:
        not_kept.append("licences of which one of several will do")
    return replace(
        record,
        after=tuple(_of_job(each, alone=number is None) for each in after),
        array=number[1] if number else "",
        at_once=int(number[3] or submitted.at_once) if number else 0,
        label=label,
        licenses=licenses or (),
        switches=submitted.switches,
        not_kept=(*submitted.not_kept, *not_kept),
    )


def _ran(row: Row) -> float:
    """Seconds that a job ran, by any of the columns that tell it."""
    if not row.has("ElapsedRaw") and not row.has("Elapsed") and row.has("End"):
        return row.moment("End") - row.moment("Start")
    return row.duration("ElapsedRaw" if row.has("ElapsedRaw") else "Elapsed")


def _limit(row: Row) -> float | None:
    """The time limit of a job; None where it has that of its partition, or none."""
    for column, unit in (("Timelimit", 1.0), ("TimelimitRaw", 60.0)):
        if row.has(column) and row.text(column).lower() not in {"unlimited", "partition_limit"}:
            return unit * row.duration(column)
    return None


def _of_job(after: Dependency, *, alone: bool) -> Dependency:
    """What a job waits for; of one that is no task, what would be of tasks is of the whole."""
    if alone and after.what is DependsOn.TASK:
        return after._replace(what=DependsOn.SUCCESS)
    return after


SACCT = Format(
    says="what sacct --parsable2 prints: JobID, Submit, Start, Elapsed, State, AllocTRES",
    columns=(
        "JobID", "User", "Account", "QOS", "Partition", "Submit", "Start", "Elapsed", "ElapsedRaw",
        "Timelimit", "TimelimitRaw", "State", "AllocTRES", "NNodes", "Priority", "ReqTRES",
        "Eligible", "End", "JobName", "Licenses", "SubmitLine",
    ),
    needs=("JobID", "Submit", "Start", "State", "AllocTRES"),
    record=sacct_job,
    open=True,
    delimiter="|",
    free=("SubmitLine", "JobName"),
)  # fmt: skip


ARRAY: Final = re.compile(r"([^\[\]]*_)\[([^\[\]%]+)(?:%\d+)?\]")
"""Tasks of an array that wait, which one entry tells: 7_[1-5,9%2]."""

MOST_TASKS: Final = 100_000
"""Of an array. Slurm allows 4,000,001, and 1,001 where nobody asks for more."""


def tasks(record: Record) -> Iterator[Record]:
    """The tasks of an array that one entry tells, or the record itself.

    Args:
        record: of an entry.

    Raises:
        InputError: the tasks are no numbers and ranges, or too many.
    """
    told = ARRAY.fullmatch(record.name)
    if told is None or record.end is not End.PENDING:
        yield record
        return
    numbers: list[int] = []
    for part in told[2].split(","):
        ends, _, step = part.partition(":")
        first, _, last = ends.partition("-")
        try:
            found = range(int(first), int(last or first) + 1, int(step or 1))
        except ValueError:
            found = range(0)
        if not 0 < len(found) <= MOST_TASKS - len(numbers):
            raise InputError(
                f"the tasks of {as_written(record.name)} are no numbers and ranges such as"
                f" 7_[1-5,9], or more than {MOST_TASKS:,}."
            )
        numbers += found
    for number in numbers:
        yield replace(record, name=f"{told[1]}{number}")


FORMATS: Mapping[str, Format] = {
    "philly": PHILLY,
    "tiresias": TIRESIAS,
    "openb": OPENB,
    "helios": HELIOS,
    "pai": PAI,
    "swf": SWF,
    "sacct": SACCT,
    "kueue": WORKLOADS,
}
SINCE = "jobs.since"

OWN = "csv"
"""The format whose columns the user maps."""


def read_trace(
    path: Path,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    serial: float | None = None,
) -> Trace:
    """The jobs of a log; see `read_log`."""
    return read_log(path, format=format, columns=columns, serial=serial).trace


def read_log(
    path: Path,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    serial: float | None = None,
    since: str | None = None,
) -> Log:
    """The jobs of a log, and when each began.

    An entry that cannot be read, or tells of no job that ran, is left out with its line and the
    reason; the others are read all the same.

    Args:
        path: the file, compressed by gzip or not.
        format: a name of `FORMATS`, or "csv"; None to tell by the names of the columns.
        columns: of a CSV with names of its own, by what they hold: arrival, duration, devices and,
            if there, name, begun, end, estimate, user, account, qos, group, kind.
        serial: share of a job's time that more devices do not shorten, assumed of all jobs; None
            for jobs that run on the devices that they held.
        since: a date, or seconds as the log has them, from which it tells of all jobs, as asked of
            `sacct --starttime`; None to find out whether it was cut.

    Raises:
        InputError: where the file, its format or its columns cannot be read, or no job is left.
    """
    text = read_text(path, most=MOST_BYTES)
    layout = _layout(text, path, format=format, columns=columns or {})
    problems, remainder = Problems(str(path)), Remainder()
    lines = (
        layout.objects(text, str(path), remainder)
        if layout.objects
        else rows(text, layout, problems=problems, remainder=remainder)
    )
    records: list[Record] = []
    for row in lines:
        try:
            told = tuple(tasks(layout.record(row)))
        except NotAJob as why:
            remainder.add(str(why), row.line)
            continue
        except InputError as error:
            row.wrong(str(error))
        if row.problems:
            remainder.add(UNREADABLE, row.line, " ".join(row.problems))
        else:
            records += told
    asked = Row({SINCE: since or ""}, 0)
    opened = asked.moment(SINCE) if since else None
    problems.add_all(asked.problems)
    problems.check()
    log = log_of(
        records,
        name=path.name,
        curve=rigid if serial is None else elastic(serial),
        remainder=remainder,
        problems=problems,
        since=opened,
    )
    return with_waits(log)


def with_waits(log: Log) -> Log:
    """A log whose jobs wait for others of it alone, by the names that these have in it.

    Args:
        log: whose jobs name others by what they were called when they were submitted.

    A job that was requeued is waited for until the last run that ended before the other began.
    What a log contradicts, or is of jobs that are not in it, is told as not kept. From when a job
    stood in the queue follows from what it waits for, where all of that is kept.
    """
    if not any(job.after for job in log.trace.jobs):
        return log
    others, not_kept = _LoggedRuns(log), Counter(log.not_kept)
    found = []
    for job in log.trace.jobs:
        kept = tuple(each for each in (others.meant(each, job) for each in job.after) if each)
        if len(kept) < len(job.after):
            not_kept[NOT_THERE] += 1
        explained = len(kept) == len(job.after) and not all(others.own(each, job) for each in kept)
        found.append(replace(job, after=kept, eligible=None if explained else job.eligible))
    return replace(log, trace=replace(log.trace, jobs=tuple(found)), not_kept=not_kept)


NOT_THERE: Final = "what they waited for in jobs that are not in the log, or ended otherwise"

RUN: Final = re.compile(r"(.+)#\d+")
"""A later run of a job, by its name in a log."""


class _LoggedRuns:
    """The jobs of a log, by the names by which others wait for them."""

    def __init__(self, log: Log) -> None:
        jobs = log.trace.jobs
        self._begun = log.begun
        self._names = {job.name for job in jobs}
        self._arrays = {job.array for job in jobs if job.array}
        self._runs: dict[str, list[Job]] = {}
        for job in jobs:
            self._runs.setdefault(self._first(job.name), []).append(job)

    def _first(self, name: str) -> str:
        """The name of the first run of a job."""
        told = RUN.fullmatch(name)
        return told[1] if told and told[1] in self._names else name

    def own(self, after: Dependency, job: Job) -> bool:
        """Whether what is waited for is an earlier run of the job itself."""
        return self._first(after.job) == self._first(job.name)

    def meant(self, after: Dependency, job: Job) -> Dependency | None:
        """What a job waits for by the names of the log; None where that is not in it."""
        if after.what is DependsOn.SINGLETON or self.own(after, job):
            return after
        meant = after.meant(job)
        if meant.job not in self._runs:
            return meant if meant.job in self._arrays else None
        begun, runs = self._begun.get(job.name, inf), self._runs[meant.job]
        last = ([each for each in runs if self._over(each) <= begun] or runs)[-1]
        good = last.end is End.FINISHED
        never = {DependsOn.SUCCESS: not good, DependsOn.FAILURE: good}.get(meant.what, False)
        # Who began all the same waited for something else at last.
        odd = never and begun < inf and last.end not in OPEN_ENDS
        return None if odd else meant._replace(job=last.name)

    def _over(self, job: Job) -> float:
        return self._begun.get(job.name, job.arrival) + job.ends_after


def _layout(text: str, path: Path, *, format: str | None, columns: Mapping[str, str]) -> Format:
    """The format by its name, or by the first line of the file."""
    if columns or format == OWN:
        if format not in {None, OWN}:
            raise InputError(
                f"{path}: columns are mapped for a CSV, not for the format {as_written(format)}."
            )
        return mapped(columns)
    known = ", ".join([*FORMATS, OWN])
    if format is not None:
        if format not in FORMATS:
            near = nearest(format, [*FORMATS, OWN])
            raise InputError(f"{path}: unknown format {as_written(format)}.{near} Known: {known}.")
        return FORMATS[format]
    for layout in FORMATS.values():
        if _tells(text, layout):
            return layout
    if path.name.removesuffix(".gz").endswith(".swf"):
        return SWF
    raise InputError(
        f"{path}: its columns are those of no format that is known.{_nearly(text)} Name one:"
        f" {known}; with csv, say which columns hold arrival, duration and devices."
    )


def _tells(text: str, layout: Format) -> bool:
    """Whether a log tells by its first line that it has a format."""
    if layout.objects:
        return text.lstrip().startswith("{")
    named = layout.named and bool(layout.needs)
    return named and {*layout.needs} <= first_cells(text, layout)


def _nearly(text: str) -> str:
    """The formats of whose columns a log has more than half, and which ones it lacks."""
    told = ""
    for name, layout in FORMATS.items():
        there = first_cells(text, layout)
        lacking = [column for column in layout.needs if column not in there]
        if layout.named and lacking and len(lacking) < 0.5 * len(layout.needs):
            told += f" To be read as {name} it lacks {', '.join(lacking)}."
    if re.match(r"\s*JobID\b(?!\|)", text):
        told += " What sacct prints is read with --parsable2."
    return told
