"""CSV: from text to cells, a record at a time; one that is not CSV costs no other."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from foretrain.errors import InputError

MOST_BROKEN: Final = 1000
"""Records that are not CSV, after which a file is called none: the search for the end of each reads
on as far as a cell may reach."""

MOST_CELLS: Final = 1000
"""Of a record; the widest table of ours has 60 columns."""

ADVICE: Final = (
    'Write comma-separated values, with "..." around those that hold a comma or a quote.'
)


@dataclass(frozen=True, slots=True)
class CsvRecord:
    """One record of a CSV file: a line, or several where a cell holds the ends of lines.

    Attributes:
        line: where it begins, the first line being 1.
        cells: none of a blank line, and of what is not CSV.
        problem: why it is not CSV; empty where it is.
    """

    line: int
    cells: list[str]
    problem: str = ""

    def __bool__(self) -> bool:
        """Whether it is more than a blank line."""
        return bool(self.problem) or any(self.cells)

    def row(self, names: Sequence[str]) -> dict[str, str]:
        """Its cells by the names of their columns.

        Raises:
            InputError: it is not CSV, or has too few or too many cells.
        """
        if self.problem:
            raise InputError(self.problem)
        if len(self.cells) != len(names):
            raise InputError(f"has {len(self.cells)} cells, the header has {len(names)}.")
        return dict(zip(names, self.cells, strict=True))


def records(text: str, where: str) -> Iterator[CsvRecord]:
    """The records of a CSV file, blank lines too.

    Where a quote is not closed, what follows its line is read as if it were not there: so that one
    slip costs one record, and not all the others.

    Args:
        text: of the file.
        where: what to call it in messages.

    Raises:
        InputError: where so much of it is not CSV that it is something else.
    """
    lines = _Lines(text)
    reader = csv.reader(lines, strict=True)
    broken = 0
    while True:
        begin = lines.place
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            lines.place = begin
            next(lines)
            broken += 1
            if broken > MOST_BROKEN:
                raise InputError(
                    f"{where}: line {begin.number} is not CSV: {error}; nor are {MOST_BROKEN:,} "
                    f"before it. {ADVICE}"
                ) from None
            yield CsvRecord(begin.number, [], f"is not CSV: {error}. {ADVICE}")
            continue
        wide = len(cells) > MOST_CELLS
        told = f"has {len(cells):,} cells; at most {MOST_CELLS:,} are read." if wide else ""
        yield CsvRecord(begin.number, [] if wide else cells, told)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a line begins.

    Attributes:
        character: counted from 0.
        number: of the line, counted from 1.
    """

    character: int
    number: int


def lines_of(text: str) -> Iterator[str]:
    """The lines of a text, each with its end, one at a time: a list of all takes much memory."""
    return _Lines(text)


class _Lines:
    """The lines of a text, which one can go back to."""

    def __init__(self, text: str) -> None:
        self._text = text if "\n" in text else text.replace("\r", "\n")
        self.place = _Place(0, 1)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        begin = self.place.character
        if begin >= len(self._text):
            raise StopIteration
        end = self._text.find("\n", begin) + 1 or len(self._text)
        self.place = _Place(end, self.place.number + 1)
        return self._text[begin:end]
