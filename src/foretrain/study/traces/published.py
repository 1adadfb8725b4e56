"""Logs that somebody published as tables: Philly, Tiresias, Helios and Acme, PAI.

Philly: one line per job of a cluster of Microsoft's, without states, users or waiting times.
Tiresias: the job lists of its simulator; durations are those on the devices asked for.
Helios and Acme: Slurm logs of SenseTime's clusters and of Shanghai AI Laboratory.
PAI: Alibaba's task table of 2020, whose file does not name its columns.

Sources: jeon2019 and its log, as AdaptDL's authors reduced it to a table; gu2019, its published
simulator; hu2021 and hu2024, columns as their README files list them.
"""

from __future__ import annotations

from math import ceil

from foretrain.measured.job import End
from foretrain.study.traces.format import Format, Row
from foretrain.study.traces.record import NEVER_RAN, NotAJob, Record, ended

PHILLY = Format(
    says="jobs of Philly as a table: timestamp, duration, num_gpus",
    columns=("timestamp", "duration", "num_gpus", "gpu_time", "cluster"),
    needs=("timestamp", "duration", "num_gpus"),
    record=lambda row: Record(
        line=row.line,
        name=f"line-{row.line:06}",
        arrival=row.moment("timestamp"),
        ran=row.duration("duration"),
        devices=row.count("num_gpus"),
        group=row.text("cluster"),
    ),
)

TIRESIAS = Format(
    says="job lists of Tiresias' simulator: job_id, num_gpu, submit_time, duration",
    columns=(
        "job_id", "num_gpu", "submit_time", "iterations", "model_name", "duration", "interval",
    ),
    needs=("job_id", "num_gpu", "submit_time", "duration"),
    record=lambda row: Record(
        line=row.line,
        name=f"job-{row.count('job_id'):06}",
        arrival=row.moment("submit_time"),
        ran=row.duration("duration"),
        devices=row.count("num_gpu"),
        group=row.text("model_name"),
    )
)  # fmt: skip


def helios_job(row: Row) -> Record:
    """A job of Helios or Acme."""
    if not row.count("gpu_num"):
        raise NotAJob("hold no device")
    if not row.has("start_time"):
        raise NotAJob(NEVER_RAN)
    end, begun = ended(row.needed("state")), row.moment("start_time")
    told = end is not End.RUNNING or row.has("duration")
    return Record(
        line=row.line,
        name=row.needed("job_id"),
        arrival=row.moment("submit_time"),
        ran=row.duration("duration") if told else None,
        devices=row.count("gpu_num"),
        end=end,
        begun=begun,
        user=row.text("user"),
        group=row.text("vc") or row.text("type"),
    )


HELIOS = Format(
    says="jobs of Helios' clusters, or of Seren and Kalos",
    columns=(
        "job_id", "user", "vc", "type", "gpu_num", "cpu_num", "node_num", "mem_per_pod_GB",
        "shared_mem_per_pod", "state", "submit_time", "start_time", "end_time", "fail_time",
        "stop_time", "duration", "queue", "gpu_time",
    ),
    needs=("job_id", "gpu_num", "state", "submit_time", "start_time", "duration"),
    record=helios_job,
)  # fmt: skip


def pai_job(row: Row) -> Record:
    """A task, whose instances each ask for hundredths of a device; devices are rounded up.

    The table does not tell when a task was submitted: it arrives when it began, so it says nothing
    of waiting.
    """
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
    record=pai_job,
    named=False,
)  # fmt: skip
