"""PAI: Alibaba's task table of 2020, whose file does not name its columns.

A task has instances that each ask for hundredths of a device; devices are rounded up. The table
does not tell when a task was submitted: it arrives when it began, so it says nothing of waiting.
"""

from __future__ import annotations

from math import ceil

from foretrain.measured.job import End
from foretrain.study.traces.format import Format, Row
from foretrain.study.traces.record import NEVER_RAN, NotAJob, Record, ended


def _record(row: Row) -> Record:
    if not row.has("plan_gpu") or not row.number("plan_gpu"):
        raise NotAJob("hold no device")
    if not row.has("start_time"):
        raise NotAJob(NEVER_RAN)
    begun, end = row.moment("start_time"), ended(row.needed("status"))
    told = end is not End.RUNNING or row.has("end_time")
    return Record(
        line=row.line,
        name=f"{row.needed('job_name')}/{row.needed('task_name')}",
        arrival=begun,
        ran=row.moment("end_time") - begun if told else None,
        devices=ceil(row.count("inst_num") * row.number("plan_gpu") / 100.0),
        end=end,
        kinds=(row.text("gpu_type"),) if row.has("gpu_type") else (),
    )


PAI = Format(
    says="tasks of Alibaba's PAI cluster of 2020 (pai_task_table)",
    columns=(
        "job_name", "task_name", "inst_num", "status", "start_time", "end_time", "plan_cpu",
        "plan_mem", "plan_gpu", "gpu_type",
    ),
    needs=(),
    record=_record,
    named=False,
)  # fmt: skip
