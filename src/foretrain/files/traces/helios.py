"""Helios and Acme: Slurm logs of SenseTime's clusters and of Shanghai AI Laboratory, as tables.

Source: hu2021 and hu2024; columns as their README files list them.
"""

from __future__ import annotations

from foretrain.files.traces.format import Format
from foretrain.files.traces.record import LeftOut, Record, ended
from foretrain.files.traces.row import Row


def _record(row: Row) -> Record:
    if not row.count("gpu_num"):
        raise LeftOut("hold no device")
    if not row.has("start_time"):
        raise LeftOut("have not run")
    return Record(
        line=row.line,
        name=row.needed("job_id"),
        arrival=row.moment("submit_time"),
        ran=row.duration("duration"),
        devices=row.count("gpu_num"),
        end=ended(row.text("state")),
        begun=row.moment("start_time"),
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
