"""Rows: the cells of one line of a log, read as what they should be."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from foretrain.units import as_written

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
        moment = _seconds(cell)
        if cell and moment is None:
            self.wrong(
                f"{column} is {as_written(cell)}, neither seconds nor a date like"
                " 2017-10-09 07:01:55."
            )
        return moment or 0.0

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


def _seconds(cell: str) -> float | None:
    """A time as seconds since some fixed day; None where it is none."""
    try:
        seconds = float(cell)
    except ValueError:
        try:
            moment = datetime.fromisoformat(cell)
            seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            return None
    return seconds if abs(seconds) < LARGEST else None
