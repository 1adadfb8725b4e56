"""Traces of clusters: the table of formats, and the one way to read them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from foretrain.errors import InputError, nearest
from foretrain.measured.job import Log, Remainder, Trace
from foretrain.study.files import read_text
from foretrain.study.problems import Problems
from foretrain.study.traces.format import MOST_BYTES, Format, first_cells, rows
from foretrain.study.traces.formats import HELIOS, OPENB, PAI, PHILLY, SACCT, SWF, TIRESIAS, mapped
from foretrain.study.traces.record import UNREADABLE, NotAJob, log_of
from foretrain.throughput import elastic, rigid
from foretrain.units import as_written

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
) -> Trace:
    """The jobs of a log; see `read_log`."""
    return read_log(path, format=format, columns=columns, serial=serial).trace


def read_log(
    path: Path,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    serial: float | None = None,
) -> Log:
    """The jobs of a log, and when each began.

    An entry that cannot be read, or tells of no job that ran, is left out with its line and the
    reason; the others are read all the same.

    Args:
        path: the file, compressed by gzip or not.
        format: a name of `FORMATS`, or "csv"; None to tell by the names of the columns.
        columns: of a CSV with names of its own, by what they hold: arrival, duration, devices and,
            if there, name, begun, end, estimate, user, account, qos, group, kind.
        serial: share of a job's time that more devices do not shorten, assumed of all jobs; None
            for jobs that run on the devices that they held.

    Raises:
        InputError: where the file, its format or its columns cannot be read, or no job is left.
    """
    text = read_text(path, most=MOST_BYTES)
    layout = _layout(text, path, format=format, columns=columns or {})
    problems, remainder = Problems(str(path)), Remainder()
    lines = rows(text, layout, problems=problems, remainder=remainder)
    records = []
    for row in lines:
        try:
            record = layout.record(row)
        except NotAJob as why:
            remainder.add(str(why), row.line)
            continue
        except InputError as error:
            row.wrong(str(error))
        if row.problems:
            remainder.add(UNREADABLE, row.line, " ".join(row.problems))
        else:
            records.append(record)
    problems.check()
    return log_of(
        records,
        name=path.name,
        curve=rigid if serial is None else elastic(serial),
        remainder=remainder,
        problems=problems,
    )


def _layout(text: str, path: Path, *, format: str | None, columns: Mapping[str, str]) -> Format:
    """The format by its name, or by the first line of the file."""
    if columns or format == OWN:
        if format not in {None, OWN}:
            raise InputError(
                f"{path}: columns are mapped for a CSV, not for the format {as_written(format)}."
            )
        return mapped(columns)
    known = ", ".join([*FORMATS, OWN])
    if format is not None:
        if format not in FORMATS:
            near = nearest(format, [*FORMATS, OWN])
            raise InputError(f"{path}: unknown format {as_written(format)}.{near} Known: {known}.")
        return FORMATS[format]
    for layout in FORMATS.values():
        if layout.named and layout.needs and {*layout.needs} <= first_cells(text, layout):
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
        there = first_cells(text, layout)
        lacking = [column for column in layout.needs if column not in there]
        if layout.named and lacking and len(lacking) < 0.5 * len(layout.needs):
            told += f" To be read as {name} it lacks {', '.join(lacking)}."
    return told
