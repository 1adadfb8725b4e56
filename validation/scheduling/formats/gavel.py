"""Gavel's traces and throughputs, in the form in which their authors published them.

A trace has a job a line, its columns divided by tabs and not named. Throughputs are one JSON file:
steps per second by kind of device, job type and number of devices, alone (`null`) or in pairs,
which are left out here, as are devices that lie apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from foretrain.errors import InputError
from foretrain.measured.job import Job, Trace
from foretrain.study.documents import from_json, lines_of
from foretrain.study.files import read_text
from foretrain.study.problems import Problems
from foretrain.study.traces.format import MOST_BYTES
from foretrain.throughput import Point, ThroughputCurve
from foretrain.units import as_written

Throughputs = Mapping[tuple[str, int], ThroughputCurve]
"""Steps per second of a job type on a number of devices, for each kind of device."""

COLUMNS = (
    "job type", "command", "directory", "steps argument", "needs data", "steps", "devices",
    "weight", "SLO", "arrival",
)  # fmt: skip
APART = "_unconsolidated"
ALONE = "null"
JOB_TYPE = re.compile(r"\((?P<quote>['\"])(?P<name>.*)(?P=quote), *(?P<devices>[0-9]{1,6})\)")


def read_gavel(path: Path, throughputs: Throughputs) -> Trace:
    """Jobs of a trace; their work is steps.

    Raises:
        InputError: with every problem of the file and its line.
    """
    return read_rows(path, COLUMNS, make=lambda name, row: _job(name, row, throughputs))


def read_rows(
    path: Path, columns: Sequence[str], *, make: Callable[[str, Mapping[str, str]], Job]
) -> Trace:
    """A trace of one job a line.

    Args:
        path: the file, compressed or not.
        columns: their names, in order.
        make: a job of its name, which is its line in the file, and its row.

    Raises:
        InputError: with every problem of the file and its line.
    """
    problems = Problems(str(path))
    jobs: list[Job] = []
    text = read_text(path, most=MOST_BYTES)
    for number, line in enumerate(lines_of(text), start=1):
        cells = line.rstrip("\r\n").split("\t")
        try:
            if len(cells) != len(columns):
                raise InputError(
                    f"has {len(cells)} columns instead of {len(columns)}: {', '.join(columns)}."
                )
            jobs.append(make(f"{number:06d}", dict(zip(columns, cells, strict=True))))
        except (InputError, ValueError) as error:
            problems.add(f"line {number}", str(error))
    if not jobs:
        problems.add("", "holds no job that can be read.")
    problems.check()
    return Trace(name=path.name, jobs=tuple(jobs))


def read_throughputs(path: Path) -> Throughputs:
    """What each type of job does alone, on each kind of device that lies together.

    Raises:
        InputError: where the file is not such a table.
    """
    table = from_json(read_text(path, most=MOST_BYTES), str(path))
    points: dict[tuple[str, int], list[Point]] = {}
    try:
        for kind, rows in table.items():
            if not kind.endswith(APART):
                for key, devices, rate in _rates(rows):
                    point = Point(devices=devices, rate=rate, kind=kind)
                    points.setdefault((key, devices), []).append(point)
        return {
            (key, devices): ThroughputCurve(name=f"{key} on {devices}", points=tuple(mine))
            for (key, devices), mine in points.items()
        }
    except (ValueError, AttributeError, KeyError, TypeError) as error:
        raise InputError(f"{path}: is no table of throughputs: {error}.") from error


def curve_of(throughputs: Throughputs, key: str, devices: int) -> ThroughputCurve:
    """The throughput of a type of job on a number of devices.

    Raises:
        InputError: where nobody measured it.
    """
    found = throughputs.get((key, devices))
    if found is None:
        raise InputError(f"nobody measured {as_written(key)} on {devices} devices.")
    return found


def _job(name: str, row: Mapping[str, str], throughputs: Throughputs) -> Job:
    devices = int(row["devices"])
    curve = curve_of(throughputs, row["job type"], devices)
    return Job(
        name=name,
        arrival=float(row["arrival"]),
        work=float(row["steps"]),
        curve=curve,
        devices=devices,
        priority=float(row["weight"]),
        kinds=tuple(point.kind for point in curve.points),
        group=row["job type"],
    )


def _rates(rows: Mapping[str, Mapping[str, float]]) -> Iterator[tuple[str, int, float]]:
    """Job type, devices and steps per second, without those that cannot run."""
    for written, measured in rows.items():
        said = JOB_TYPE.fullmatch(written)
        if said is None:
            raise InputError(f"{as_written(written)} is no job type such as ('LM', 1)")
        if measured[ALONE] > 0.0:
            yield said["name"], int(said["devices"]), float(measured[ALONE])
