"""Slurm: what `sacct --parsable2` prints of jobs; steps of jobs are left out.

Ask it for JobID, User, Partition, Submit, Start, Elapsed, Timelimit, State and AllocTRES of all
users' allocations, with `--parsable2` for `|` between cells and the names in the first line.
"""

from __future__ import annotations

import re

from foretrain.study.traces.format import Format, Row
from foretrain.study.traces.record import NEVER_RAN, NotAJob, Record, ended

DEVICES = re.compile(r"gres/gpu(?::([\w.-]+))?=(\d+)")
"""Devices among the resources of a job, of a kind or of all kinds together."""


def sacct_job(row: Row) -> Record:
    """A job of a row that sacct prints."""
    name = row.needed("JobID")
    if "." in name:
        raise NotAJob("are steps of jobs")
    found = {kind: int(count) for kind, count in DEVICES.findall(row.text("AllocTRES"))}
    devices = found.pop("", 0) or sum(found.values())
    if not devices:
        raise NotAJob("hold no device")
    if not row.has("Start"):
        raise NotAJob(NEVER_RAN)
    limited = row.has("Timelimit") and row.text("Timelimit") not in {"UNLIMITED", "Partition_Limit"}
    return Record(
        line=row.line,
        name=name,
        arrival=row.moment("Submit"),
        ran=row.duration("ElapsedRaw" if row.has("ElapsedRaw") else "Elapsed"),
        devices=devices,
        end=ended(row.needed("State")),
        begun=row.moment("Start"),
        estimate=row.duration("Timelimit") if limited else None,
        user=row.text("User"),
        group=row.text("Partition"),
        kinds=tuple(sorted(found)),
    )


SACCT = Format(
    says="what sacct --parsable2 prints: JobID, Submit, Start, Elapsed, State, AllocTRES",
    columns=(
        "JobID", "User", "Partition", "Submit", "Start", "Elapsed", "ElapsedRaw", "Timelimit",
        "State", "AllocTRES",
    ),
    needs=("JobID", "Submit", "Start", "State", "AllocTRES"),
    record=sacct_job,
    open=True,
    delimiter="|",
)  # fmt: skip
