"""Formats: how a log is laid out, and its lines as rows."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from foretrain.errors import InputError, nearest
from foretrain.files.problems import Problems
from foretrain.files.traces.record import UNREADABLE, Record
from foretrain.files.traces.row import Row
from foretrain.measured.log import Remainder


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


def read_text(path: Path) -> str:
    """The characters of a file, compressed by gzip or not.

    Raises:
        InputError: where it cannot be read.
    """
    try:
        content = path.read_bytes()
        plain = gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
        return plain.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not UTF-8 text.") from None
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: cannot be read: {reason}.") from None


def rows(text: str, layout: Format, *, problems: Problems, remainder: Remainder) -> Iterator[Row]:
    """The lines of a log.

    Args:
        text: of the file.
        layout: its format.
        problems: take what is wrong with the names of the columns; then there are no lines.
        remainder: takes lines that are blank or have too few or too many cells.
    """
    lines = list(cells(text, layout))
    names: Sequence[str] = layout.columns
    if layout.named:
        names = [name.strip() for name in lines[0][1]] if lines else []
        lines = lines[1:]
        if not _named_well(names, layout, problems):
            return
    filled = [number for number, found in lines if any(found)]
    for number, found in lines:
        if not any(found):
            if filled and number < filled[-1]:
                remainder.add("are blank", number)
        elif len(found) != len(names):
            told = f"has {len(found)} cells, but there are {len(names)} columns."
            remainder.add(UNREADABLE, number, told)
        else:
            yield Row(dict(zip(names, found, strict=True)), number)


def cells(text: str, layout: Format) -> Iterator[tuple[int, list[str]]]:
    """Number and cells of each line."""
    lines = text.splitlines()
    if layout.delimiter == ",":
        reader = csv.reader(lines)
        yield from ((reader.line_num, found) for found in reader)
        return
    for number, line in enumerate(lines, start=1):
        if not (layout.comment and line.lstrip().startswith(layout.comment)):
            yield number, line.split(layout.delimiter or None)


def _named_well(names: Sequence[str], layout: Format, problems: Problems) -> bool:
    """Whether the columns are those of the format; what is wrong is noted."""
    known = ", ".join(layout.columns)
    for name in layout.needs:
        if name not in names:
            problems.add("line 1", f"the column {name} is missing.{nearest(name, names)}")
    for name in names:
        if name and name not in layout.columns and not layout.open:
            near = nearest(name, layout.columns)
            problems.add("line 1", f"unknown column {name!r}.{near} Known: {known}.")
    if len(set(names)) < len(names):
        problems.add("line 1", "names a column twice.")
    return not problems.found
