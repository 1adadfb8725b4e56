"""SWF: the Standard Workload Format of the Parallel Workloads Archive; -1 is not known.

Source: chapin1999, section 3.
"""

from __future__ import annotations

from foretrain.files.traces.format import Format
from foretrain.files.traces.record import LeftOut, Record, ended
from foretrain.files.traces.row import Row

NOT_KNOWN = -1.0


def _record(row: Row) -> Record:
    ran, devices = row.number("run time"), row.number("allocated processors")
    if devices in {NOT_KNOWN, 0.0}:
        devices = row.number("requested processors")
    if NOT_KNOWN in (ran, devices):
        raise LeftOut("have not run")
    arrival, waited = row.number("submit time"), row.number("wait time")
    limit = row.number("requested time")
    return Record(
        line=row.line,
        name=f"job-{row.count('job number'):07}",
        arrival=arrival,
        ran=ran,
        devices=int(devices),
        end=ended(row.text("status") if row.number("status") != NOT_KNOWN else ""),
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
    record=_record,
    named=False,
    delimiter="",
    comment=";",
)  # fmt: skip
