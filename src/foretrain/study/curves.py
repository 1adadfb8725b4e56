"""Throughput curves in files: what `foretrain scale --json` printed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from foretrain.errors import InputError
from foretrain.study.documents import from_json
from foretrain.study.problems import Problems, validated
from foretrain.study.reading import read_text
from foretrain.throughput import Point, ThroughputCurve
from foretrain.units import as_written

SCHEMA: Final = "foretrain/scale/1"
MOST_BYTES: Final = 2**24


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveEntry:
    """What is used of a point of the document."""

    workers: int
    throughput: float
    low: float
    high: float
    variance: float | None = None


USED: Final = tuple(CurveEntry.__dataclass_fields__)


def read_curve(path: Path, name: str, *, per_worker: int) -> ThroughputCurve:
    """The curve that a document of `scale` holds.

    Args:
        path: of the document.
        name: what the curve is of.
        per_worker: devices of one worker.

    Raises:
        InputError: it cannot be read, or is another document.
    """
    document = from_json(read_text(path, most=MOST_BYTES), str(path))
    if document.get("schema") != SCHEMA:
        raise InputError(
            f"{path}: schema is {as_written(document.get('schema'))}; '{SCHEMA}' is wanted, which"
            " foretrain scale STUDY --json prints."
        )
    problems, points = Problems(str(path)), []
    entries = document.get("points")
    for place, entry in enumerate(entries if isinstance(entries, list) else []):
        where = f"points[{place}]"
        found = problems.table(entry, where)
        used = {key: value for key, value in (found or {}).items() if key in USED}
        known = validated(CurveEntry, used, path=where, problems=problems)
        if known is not None and not problems.found:
            with problems.noting(where):
                points.append(
                    Point(
                        devices=known.workers * per_worker,
                        rate=known.throughput,
                        low=known.low,
                        high=known.high,
                        variance=known.variance,
                    )
                )
    problems.check()
    return ThroughputCurve(name=name, points=tuple(points))
