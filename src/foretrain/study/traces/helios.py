"""Helios and Acme: Slurm logs of SenseTime's clusters and of Shanghai AI Laboratory, as tables.

Source: hu2021 and hu2024; columns as their README files list them.
"""

from __future__ import annotations

from foretrain.measured.job import End
from foretrain.study.traces.format import Format, Row
from foretrain.study.traces.record import NEVER_RAN, NotAJob, Record, ended


def _record(row: Row) -> Record:
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
    record=_record,
)  # fmt: skip
