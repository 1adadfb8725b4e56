"""Philly: one line per job of a cluster of Microsoft's, without states, users or waiting times.

Source: jeon2019 and its log, as AdaptDL's authors reduced it to a table.
"""

from __future__ import annotations

from foretrain.study.traces.format import Format, Row
from foretrain.study.traces.record import Record


def _record(row: Row) -> Record:
    return Record(
        line=row.line,
        name=f"line-{row.line:06}",
        arrival=row.moment("timestamp"),
        ran=row.duration("duration"),
        devices=row.count("num_gpus"),
        group=row.text("cluster"),
    )


PHILLY = Format(
    says="jobs of Philly as a table: timestamp, duration, num_gpus",
    columns=("timestamp", "duration", "num_gpus", "gpu_time", "cluster"),
    needs=("timestamp", "duration", "num_gpus"),
    record=_record,
)
