"""Formats: how a log is laid out, and its lines as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from foretrain.errors import nearest
from foretrain.files.csv import CsvRecord, lines_of, records
from foretrain.files.problems import Problems
from foretrain.files.traces.record import UNREADABLE, Record
from foretrain.files.traces.row import Row
from foretrain.measured.log import Remainder
from foretrain.units import as_written


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """How a log is laid out.

    Attributes:
        says: what it is, in a phrase.
        columns: that it may have; their order matters only where no line names them.
        needs: columns without which a job cannot be read.
        record: a job of a row.
        named: whether the first line names the columns.
        open: whether columns may stand there that are not known, and are not read.
        delimiter: between cells; empty for any white space.
        comment: with which lines begin that are not read; empty if there are none.
    """

    says: str
    columns: tuple[str, ...]
    needs: tuple[str, ...]
    record: Callable[[Row], Record]
    named: bool = True
    open: bool = False
    delimiter: str = ","
    comment: str = ""


MOST_BYTES: Final = 256 * 2**20
"""Of a log, unpacked: those of a million jobs have 200 MB."""


def rows(text: str, layout: Format, *, problems: Problems, remainder: Remainder) -> Iterator[Row]:
    """The lines of a log.

    Args:
        text: of the file.
        layout: its format.
        problems: take what is wrong with the names of the columns; then there are no lines.
        remainder: takes lines that are blank, are not CSV, or have too few or too many cells.
    """
    lines = cells(text, layout, where=problems.where)
    names: Sequence[str] = layout.columns
    if layout.named:
        names = [name.strip() for name in next(lines, NOTHING).cells]
        if not _named_well(names, layout, problems):
            return
    blank: list[int] = []
    for line in lines:
        if line.problem:
            remainder.add(UNREADABLE, line.line, line.problem)
        elif not any(line.cells):
            blank.append(line.line)
        else:
            for number in blank:  # only those between others are gaps in the log
                remainder.add("are blank", number)
            blank.clear()
            if len(line.cells) == len(names):
                yield Row(dict(zip(names, line.cells, strict=True)), line.line)
            else:
                told = f"has {len(line.cells)} cells, but there are {len(names)} columns."
                remainder.add(UNREADABLE, line.line, told)


NOTHING: Final = CsvRecord(1, [])


def first_cells(text: str, layout: Format) -> frozenset[str]:
    """What stands in the first line of a log."""
    first = next(cells(text, layout, where=""), NOTHING)
    return frozenset(cell.strip() for cell in first.cells)


def cells(text: str, layout: Format, *, where: str) -> Iterator[CsvRecord]:
    """The lines of a log, comments left out."""
    if layout.delimiter == ",":
        yield from records(text, where)
        return
    for number, line in enumerate(lines_of(text), start=1):
        if not (layout.comment and line.lstrip().startswith(layout.comment)):
            yield CsvRecord(number, line.rstrip("\r\n").split(layout.delimiter or None))


def _named_well(names: Sequence[str], layout: Format, problems: Problems) -> bool:
    """Whether the columns are those of the format; what is wrong is noted."""
    known = ", ".join(layout.columns)
    for name in layout.needs:
        if name not in names:
            problems.add("line 1", f"the column {name} is missing.{nearest(name, names)}")
    for name in names:
        if name and name not in layout.columns and not layout.open:
            near = nearest(name, layout.columns)
            told = f"unknown column {as_written(name)}.{near} Known: {known}."
            problems.add("line 1", told)
    if len(set(names)) < len(names):
        problems.add("line 1", "names a column twice.")
    return not problems.found
