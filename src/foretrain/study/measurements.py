"""Reads tables of measurements (CSV): a row that cannot be read costs no other, nothing guessed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from foretrain.errors import InputError, nearest
from foretrain.measured.run import MeasuredRun, Subject, TableKind, UnreadRow
from foretrain.study.documents import CsvRecord, records
from foretrain.study.files import read_text
from foretrain.study.inventories import read_inventories, with_inventories
from foretrain.study.measurement_rows import (
    CHOICES,
    COLUMNS,
    LEAST_COUNT,
    NUMBERS,
    REQUIRED,
    run_of,
)
from foretrain.study.problems import Problems
from foretrain.units import MOST, as_written

MOST_BYTES = 64 * 2**20
INVENTORIES = "networks.csv"
"""The file beside a table of single devices that lists the operators of its networks."""

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")

MOST_COUNT: Final = 1e12
"""Of anything that is counted one by one: layers, devices, tokens."""

ANY: Final = "any"
ID: Final = "id"
MOST_LETTERS: Final[Mapping[str, int]] = {ID: 100, "source_id": 100, ANY: 10_000}

USUAL_SUBJECT: Final[Mapping[TableKind, Subject]] = {
    TableKind.COLLECTIVES: Subject.TRANSFER_TIME,
    TableKind.MEMORY: Subject.PEAK_MEMORY,
}
"""What tables measure that do not measure steps."""

Row = MeasuredRun | UnreadRow


def read_runs(path: Path, *, kind: str | None = None) -> tuple[MeasuredRun, ...]:
    """The measured runs of a CSV table of which every row must be readable.

    Args:
        path: the table.
        kind: as `read_measurements` has it.

    Raises:
        InputError: the table, or a row of it, cannot be read; the message lists what is wrong.
    """
    rows = read_measurements(path, kind=kind)
    problems = Problems(str(path))
    problems.add_all(row.reason for row in rows if isinstance(row, UnreadRow))
    problems.check()
    return tuple(row for row in rows if isinstance(row, MeasuredRun))


def read_measurements(path: Path, *, kind: str | None = None) -> tuple[Row, ...]:
    """The rows of a CSV table: measured runs, and what cannot be read, with line and reason.

    Args:
        path: the table.
        kind: of table (`llm_training`, `memory`, ...); taken from the file's name if None.

    Raises:
        InputError: the file is no such table; the message lists what is wrong.
    """
    text, table = read_text(path, most=MOST_BYTES), _table(path, kind)
    rows = measurements_from(text, table=table, where=str(path))
    beside = path.with_name(INVENTORIES)
    if table is TableKind.SINGLE_DEVICE and beside.is_file():
        return with_inventories(rows, read_inventories(beside))
    return rows


def measurements_from(text: str, *, table: TableKind, where: str) -> tuple[Row, ...]:
    """The rows of a table's text; `where` names it in messages."""
    lines = (each for each in records(text, where) if each)
    head = next(lines, None)
    if head is None:
        raise InputError(f"{where}: is empty; a table starts with a line of column names.")
    problems = Problems(where)
    problems.add_all([f": {head.problem}"] if head.problem else [])
    problems.add_all(f": {each}" for each in _header_problems(head.cells, table))
    problems.check()
    seen: dict[str, int] = {}
    return tuple(_row(line, head.cells, table, seen=seen) for line in lines)


def _row(line: CsvRecord, header: list[str], table: TableKind, *, seen: dict[str, int]) -> Row:
    """A line as a measured run, or why it is none.

    Args:
        line: of the file.
        header: names of the columns.
        table: its kind.
        seen: lines of the ids before; takes the row's.
    """
    cells: dict[str, str] = {}
    try:
        cells = line.row(header)
        if wrong := " ".join(_cell_problems(cells)):
            raise InputError(wrong)
        run = run_of(cells, table)
        if run.id in seen:
            raise InputError(f"id {as_written(run.id)} stands in line {seen[run.id]} too.")
    except InputError as error:
        return UnreadRow(
            line=line.line,
            id=_short(cells.get("id", "")) or f"line {line.line}",
            source_id=_short(cells.get("source_id", "")),
            subject=USUAL_SUBJECT.get(table, Subject.STEP_TIME),
            reason=f"line {line.line}: {error}",
        )
    seen[run.id] = line.line
    return run


def _short(name: str) -> str:
    """A name; nothing of one that is too long to be any."""
    return name if len(name) <= MOST_LETTERS[ID] else ""


def _table(path: Path, kind: str | None) -> TableKind:
    known = ", ".join(TableKind)
    name = path.stem if kind is None else kind
    if name in set(TableKind):
        return TableKind(name)
    if kind is not None:
        raise InputError(
            f"--kind: unknown kind '{kind}'.{nearest(kind, TableKind)} Known: {known}."
        )
    raise InputError(
        f"{path}: the file's name is not a kind of table.{nearest(name, TableKind)} "
        f"Give one with --kind. Known: {known}."
    )


def _header_problems(header: list[str], table: TableKind) -> Iterator[str]:
    known = COLUMNS[table]
    for name in [name for name, times in Counter(header).items() if times > 1]:
        yield f"column {as_written(name)} occurs more than once."
    unknown = [name for name in dict.fromkeys(header) if name not in known]
    for name in unknown:
        told = f" Columns of a {table} table: {', '.join(known)}." * (name == unknown[-1])
        yield f"unknown column {as_written(name)}.{nearest(name, known)}{told}"
    for name in REQUIRED[table]:
        if name not in header:
            hint = nearest(name, unknown)
            written_as = hint.replace("Did you mean", "Is it") if hint else ""
            yield f"column '{name}' is missing.{written_as}"


def _cell_problems(cells: Mapping[str, str]) -> Iterator[str]:
    for name, value in cells.items():
        least, number = LEAST_COUNT.get(name), _number(value)
        whole = number is not None and number.is_integer()
        most = MOST_LETTERS.get(name, MOST_LETTERS[ANY])
        if len(value) > most:
            yield f"{name} has {len(value):,} letters; at most {most:,} are read."
        elif value and least is not None and not (whole and least <= (number or 0) <= MOST_COUNT):
            yield (
                f"{name} is {as_written(value)}, not a whole number of at least {least} and below "
                f"{MOST_COUNT:.0e}."
            )
        elif value and name in NUMBERS and number is None:
            yield f"{name} is {as_written(value)}, not a number of at least 0 and below {MOST:.0e}."
        elif value and value not in CHOICES.get(name, (value,)):
            yield f"{name} is {as_written(value)}, not one of: {', '.join(CHOICES[name])}."


def _number(text: str) -> float | None:
    """A number that can be meant; None if the text is none."""
    value = float(text) if NUMBER.fullmatch(text) else -1.0
    return value if value == 0 or 1 / MOST <= value <= MOST else None
