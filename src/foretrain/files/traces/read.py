"""Traces of clusters: the table of formats, and the one way to read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from foretrain.errors import InputError, nearest
from foretrain.files.problems import Problems
from foretrain.files.traces.format import Format, cells, read_text, rows
from foretrain.files.traces.helios import HELIOS
from foretrain.files.traces.mapped import mapped
from foretrain.files.traces.openb import OPENB
from foretrain.files.traces.pai import PAI
from foretrain.files.traces.philly import PHILLY
from foretrain.files.traces.record import LeftOut, Record, log_of
from foretrain.files.traces.row import Row
from foretrain.files.traces.sacct import SACCT
from foretrain.files.traces.swf import SWF
from foretrain.files.traces.tiresias import TIRESIAS
from foretrain.measured.job import Trace
from foretrain.measured.log import Log
from foretrain.throughput import elastic, rigid

FORMATS: Mapping[str, Format] = {
    "philly": PHILLY,
    "tiresias": TIRESIAS,
    "openb": OPENB,
    "helios": HELIOS,
    "pai": PAI,
    "swf": SWF,
    "sacct": SACCT,
}
OWN = "csv"
"""The format whose columns the user maps."""


def read_trace(
    path: Path,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    serial: float | None = None,
    devices: int | None = None,
) -> Trace:
    """The jobs of a log; see `read_log`."""
    return read_log(path, format=format, columns=columns, serial=serial, devices=devices).trace


def read_log(
    path: Path,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    serial: float | None = None,
    devices: int | None = None,
) -> Log:
    """The jobs of a log, and when each began.

    Args:
        path: the file, compressed by gzip or not.
        format: a name of `FORMATS`, or "csv"; None to tell by the names of the columns.
        columns: of a CSV with names of its own, by what they hold: arrival, duration, devices and,
            if there, name, begun, end, estimate, user, group, kind.
        serial: share of a job's time that more devices do not shorten, assumed of all jobs; None
            for jobs that run on the devices that they held.
        devices: of the cluster; None if not known.

    Raises:
        InputError: with every problem of the file and its line.
    """
    text = read_text(path)
    layout = _layout(text, path, format=format, columns=columns or {})
    problems = Problems(str(path))
    left_out: Counter[str] = Counter()
    records = list(_records(rows(text, layout, problems), layout, left_out))
    return log_of(
        records,
        name=path.name,
        curve=rigid if serial is None else elastic(serial),
        largest=devices,
        problems=problems,
        left_out=left_out,
    )


def _records(lines: Iterator[Row], layout: Format, left_out: Counter[str]) -> Iterator[Record]:
    """The jobs of the lines that are sound; the others are noted or counted."""
    for row in lines:
        try:
            record = layout.record(row)
        except LeftOut as why:
            left_out[str(why)] += 1
            continue
        except InputError as error:
            row.wrong(str(error))
            continue
        if record.ran < 0:
            row.wrong(f"job {record.name} ended before it began: it ran {record.ran:g} s.")
        if not record.devices:
            row.wrong(f"job {record.name} holds no device.")
        if row.sound and record.ran == 0:
            left_out["ran for no second"] += 1
        elif row.sound:
            yield record


def _layout(text: str, path: Path, *, format: str | None, columns: Mapping[str, str]) -> Format:
    """The format by its name, or by the first line of the file."""
    if columns or format == OWN:
        if format not in {None, OWN}:
            raise InputError(f"{path}: columns are mapped for a CSV, not for the format {format}.")
        return mapped(columns)
    known = ", ".join([*FORMATS, OWN])
    if format is not None:
        if format not in FORMATS:
            near = nearest(format, [*FORMATS, OWN])
            raise InputError(f"{path}: unknown format {format!r}.{near} Known: {known}.")
        return FORMATS[format]
    for layout in FORMATS.values():
        first = next(cells(text, layout), (1, []))[1]
        if layout.named and layout.needs and {*layout.needs} <= {name.strip() for name in first}:
            return layout
    if path.name.removesuffix(".gz").endswith(".swf"):
        return SWF
    raise InputError(
        f"{path}: its columns are those of no format that is known.{_nearly(text)} Name one:"
        f" {known}; with csv, say which columns hold arrival, duration and devices."
    )


def _nearly(text: str) -> str:
    """The formats of whose columns a log has more than half, and which ones it lacks."""
    told = ""
    for name, layout in FORMATS.items():
        there = {cell.strip() for cell in next(cells(text, layout), (1, []))[1]}
        lacking = [column for column in layout.needs if column not in there]
        if layout.named and lacking and len(lacking) < 0.5 * len(layout.needs):
            told += f" To be read as {name} it lacks {', '.join(lacking)}."
    return told
