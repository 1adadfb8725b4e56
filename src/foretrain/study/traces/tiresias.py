"""Tiresias: the job lists of its simulator; durations are those on the devices asked for.

Source: gu2019, its published simulator.
"""

from __future__ import annotations

from foretrain.study.traces.format import Format, Row
from foretrain.study.traces.record import Record


def _record(row: Row) -> Record:
    return Record(
        line=row.line,
        name=f"job-{row.count('job_id'):06}",
        arrival=row.moment("submit_time"),
        ran=row.duration("duration"),
        devices=row.count("num_gpu"),
        group=row.text("model_name"),
    )


TIRESIAS = Format(
    says="job lists of Tiresias' simulator: job_id, num_gpu, submit_time, duration",
    columns=(
        "job_id", "num_gpu", "submit_time", "iterations", "model_name", "duration", "interval",
    ),
    needs=("job_id", "num_gpu", "submit_time", "duration"),
    record=_record,
)  # fmt: skip
