"""SWF: the Standard Workload Format of the Parallel Workloads Archive; -1 is not known.

A job that was swapped out has a line for all of it and further ones for its parts.

Source: chapin1999, section 3.
"""

from __future__ import annotations

from foretrain.measured.job import End
from foretrain.study.traces.format import Format, Row
from foretrain.study.traces.record import NEVER_RAN, NotAJob, Record

NOT_KNOWN = -1.0

BURSTS = frozenset({2.0, 3.0, 4.0})
"""Codes of lines that tell of a part of a job's time, between being swapped out."""

STATUS = {0.0: End.FAILED, 1.0: End.FINISHED, 5.0: End.KILLED, NOT_KNOWN: End.FINISHED}


def swf_job(row: Row) -> Record:
    """A job of a line of the archive."""
    status = row.number("status")
    if status in BURSTS:
        raise NotAJob("tell of parts of a job, which has a line of its own")
    if status not in STATUS:
        row.wrong(f"status is {status:g}. Known: -1, 0, 1, 5, and 2 to 4 for parts of a job.")
    ran, devices = row.number("run time"), -1
    # Processors that a job held, or else asked for.
    for column in ("allocated processors", "requested processors"):
        if row.number(column) not in {NOT_KNOWN, 0.0}:
            devices = row.count(column)
            break
    if NOT_KNOWN in (ran, devices):
        raise NotAJob(NEVER_RAN)
    arrival, waited = row.number("submit time"), row.number("wait time")
    if arrival == NOT_KNOWN:
        raise NotAJob("do not tell when they were submitted")
    limit = row.number("requested time")
    return Record(
        line=row.line,
        name=f"job-{row.count('job number'):07}",
        arrival=arrival,
        ran=ran,
        devices=devices,
        end=STATUS.get(status, End.FINISHED),
        begun=arrival + waited if waited != NOT_KNOWN else None,
        estimate=limit if limit > 0 else None,
        user=row.text("user"),
        group=row.text("queue"),
    )


SWF = Format(
    says="the Standard Workload Format, .swf",
    columns=(
        "job number", "submit time", "wait time", "run time", "allocated processors", "CPU time",
        "memory", "requested processors", "requested time", "requested memory", "status", "user",
        "group", "executable", "queue", "partition", "preceding job", "think time",
    ),
    needs=(),
    record=swf_job,
    named=False,
    delimiter="",
    comment=";",
)  # fmt: skip
