"""Formats: how a log is laid out, and its lines as rows.

Rows: the cells of one line of a log, read as what they should be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from foretrain.errors import nearest
from foretrain.measured.job import Remainder
from foretrain.study.documents import CsvRecord, lines_of, records
from foretrain.study.problems import Problems
from foretrain.study.traces.record import UNREADABLE, Record
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


UNSET = frozenset({"", "unknown", "none", "n/a", "null"})
"""Cells that say nothing, in lower case."""

LARGEST = 1e15
"""From here on a float no longer tells a tenth of a second apart: no time of a log is so large."""


class Row:
    """One line of a log.

    A cell that is not what it should be is noted among its problems; what is returned for it then
    only serves to find further ones.

    Attributes:
        line: its number in the file, the first line being 1.
        problems: what is wrong with it, as far as it was read.
    """

    def __init__(self, cells: Mapping[str, str], line: int) -> None:
        self.line = line
        self.problems: list[str] = []
        self._cells = cells

    def wrong(self, text: str) -> None:
        """Note a problem of this line."""
        self.problems.append(text)

    def has(self, column: str) -> bool:
        """Whether a cell says something."""
        return self._cells.get(column, "").strip().lower() not in UNSET

    def text(self, column: str) -> str:
        """What a cell says; empty where it says nothing."""
        return self._cells.get(column, "").strip() if self.has(column) else ""

    def needed(self, column: str) -> str:
        """What a cell says that must say something."""
        if not self.has(column):
            self.wrong(f"{column} is empty. Fill it in, or leave the line out.")
        return self.text(column)

    def number(self, column: str) -> float:
        """A number."""
        cell = self.needed(column)
        try:
            value = float(cell)
        except ValueError:
            value = float("nan")
        sane = abs(value) < LARGEST
        if cell and not sane:
            self.wrong(f"{column} is {as_written(cell)}, not a number below {LARGEST:g}.")
        return value if sane else 1.0

    def count(self, column: str) -> int:
        """A whole number of at least 0."""
        value = self.number(column)
        if value < 0 or value != int(value):
            self.wrong(f"{column} is {value:g}, not a whole number of at least 0.")
            return 1
        return int(value)

    def moment(self, column: str) -> float:
        """A time: seconds, or a date with a time of day; seconds since some fixed day."""
        cell = self.needed(column)
        try:
            moment = float(cell)
        except ValueError:
            try:
                told = datetime.fromisoformat(cell)
                moment = (told if told.tzinfo else told.replace(tzinfo=UTC)).timestamp()
            except (ValueError, OverflowError):
                moment = LARGEST
        if abs(moment) < LARGEST:
            return moment
        if cell:
            self.wrong(
                f"{column} is {as_written(cell)}, neither seconds nor a date like"
                " 2017-10-09 07:01:55."
            )
        return 0.0

    def duration(self, column: str) -> float:
        """Seconds that something took: a number, or days-hours:minutes:seconds."""
        cell = self.needed(column)
        if cell.startswith("-"):
            self.wrong(f"{column} is {as_written(cell)}; nothing takes less than no time.")
            return 1.0
        days, _, rest = cell.rpartition("-") if ":" in cell else ("", "", cell)
        seconds = 0.0
        try:
            for part in rest.split(":"):
                seconds = 60.0 * seconds + float(part)
            seconds += 86_400.0 * float(days or 0)
        except ValueError:
            if cell:
                self.wrong(f"{column} is {as_written(cell)}, neither seconds nor 1-02:03:04.")
            return 1.0
        if not seconds < LARGEST:
            self.wrong(f"{column} is {seconds:g} s; a job cannot run for that long.")
            return 1.0
        return seconds
