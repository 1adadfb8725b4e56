"""Reads tables of measurements, and inventories of networks (CSV).

Reads inventories of networks (CSV): one network a line, in the short forms below.

`convolutions`: `3@224>64@112/7` reads 3 channels at 224 pixels a side and writes 64 at 112 through
windows of 7; ` g32` keeps 32 groups apart, ` x4` stands for four of them; `7x14` are unequal sides.
`products`: `197x384>1536` has 197 rows, a depth of 384 and 1536 columns, and a parameter on the
right; `6*197x64>197` are six without a parameter.
`moves`: `pooling 803 1605 1 / 1003 1605 1` are values of 16 bits, values of 32 bits and kernels,
forward / backward.

Reads tables of measurements (CSV): a row that cannot be read costs no other, nothing guessed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeVar

from foretrain.errors import InputError, nearest
from foretrain.measured.run import MeasuredRun, Subject, TableKind, UnreadRow
from foretrain.study.documents import CsvRecord, records
from foretrain.study.files import read_text
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
from foretrain.workload.convolution.operators import Picture
from foretrain.workload.operator import Matrices
from foretrain.workload.totals import Convolution, Inventory, Move, Product, Traffic

INVENTORY_COLUMNS = (
    "name",
    "image",
    "parameters",
    "kept",
    "convolutions",
    "products",
    "moves",
    "source",
)
MOST_INVENTORY = 64 * 2**20

_SIDES = r"[0-9]+(?:x[0-9]+)?"
_CONVOLUTION = re.compile(
    rf"([0-9]+)@({_SIDES})>([0-9]+)@({_SIDES})/({_SIDES})(?: g([0-9]+))?(?: x([0-9]+))?"
)
_NUMBER = r"[0-9.]+(?:e\+?[0-9]+)?"
_PRODUCT = re.compile(rf"(?:({_NUMBER})\*)?({_NUMBER})x([0-9]+)>([0-9]+)(?: x([0-9]+))?")
_MOVE = re.compile(
    rf"([a-z ]+) ({_NUMBER}) ({_NUMBER}) ([0-9]+) / ({_NUMBER}) ({_NUMBER}) ([0-9]+)"
)

Key = tuple[str, int]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventories:
    """The networks of a file.

    Attributes:
        known: by name and pixels per side.
        wrong: lines that cannot be read, each with the name of its network and the reason.
    """

    known: Mapping[Key, Inventory]
    wrong: Mapping[str, str]


def read_inventories(path: Path) -> Inventories:
    """The networks of a file.

    Raises:
        InputError: the file is no such table.
    """
    lines = (each for each in records(read_text(path, most=MOST_INVENTORY), str(path)) if each)
    if tuple(next(lines, CsvRecord(1, [])).cells) != INVENTORY_COLUMNS:
        raise InputError(f"{path}: the columns must be {', '.join(INVENTORY_COLUMNS)}.")
    found: dict[Key, Inventory] = {}
    wrong: dict[str, str] = {}
    for line in lines:
        try:
            cells = line.row(INVENTORY_COLUMNS)
            inventory = Inventory(
                name=cells["name"],
                image=int(cells["image"]),
                parameters=float(cells["parameters"]),
                kept=float(cells["kept"]),
                convolutions=tuple(_each(cells["convolutions"], _CONVOLUTION, _convolution)),
                products=tuple(_each(cells["products"], _PRODUCT, _product)),
                moves=tuple(
                    _each(
                        cells["moves"],
                        _MOVE,
                        lambda found: Move(
                            name=found[1],
                            forward=_traffic(*found.groups()[1:4]),
                            backward=_traffic(*found.groups()[4:]),
                        ),
                    )
                ),
                source=cells["source"],
            )
        except ValueError as error:
            name = line.cells[0] if line.cells else ""
            wrong[name] = f"{path.name}: line {line.line}: {error}"
            continue
        found[inventory.name, inventory.image] = inventory
    return Inventories(known=found, wrong=wrong)


def with_inventories(
    rows: Sequence[MeasuredRun | UnreadRow], inventories: Inventories
) -> tuple[MeasuredRun | UnreadRow, ...]:
    """The rows, each run with the operators of its network where they are known."""
    found: list[MeasuredRun | UnreadRow] = []
    for row in rows:
        if isinstance(row, UnreadRow):
            found.append(row)
            continue
        network = row.network
        inventory = inventories.known.get((network.name, network.image or 0))
        if inventory is None and network.name in inventories.wrong:
            unread = UnreadRow(
                line=0,
                id=row.id,
                source_id=row.source_id,
                subject=row.subject,
                reason=inventories.wrong[network.name],
            )
            found.append(unread)
        else:
            found.append(replace(row, network=replace(network, inventory=inventory)))
    return tuple(found)


def _each(text: str, form: re.Pattern[str], make: Callable[[re.Match[str]], T]) -> Iterator[T]:
    for item in filter(None, text.split("; ")):
        match = form.fullmatch(item)
        if match is None:
            raise InputError(
                f"{as_written(item)} is of no form that the head of the reader explains."
            )
        yield make(match)


def _sides(text: str) -> tuple[int, int]:
    height, _, width = text.partition("x")
    return int(height), int(width or height)


def _convolution(match: re.Match[str]) -> Convolution:
    channels, sides, outputs, results, window, groups, count = match.groups()
    return Convolution(
        picture=Picture(channels=int(channels), sides=_sides(sides)),
        result=Picture(channels=int(outputs), sides=_sides(results)),
        window=_sides(window),
        groups=int(groups or 1),
        count=int(count or 1),
    )


def _product(match: re.Match[str]) -> Product:
    batch, rows, depth, columns, count = match.groups()
    return Product(
        matrices=Matrices(
            batch=float(batch or 1), rows=float(rows), depth=float(depth), columns=float(columns)
        ),
        weights=batch is None,
        count=int(count or 1),
    )


def _traffic(half: str, full: str, kernels: str) -> Traffic:
    return Traffic(half=float(half), full=float(full), kernels=int(kernels))


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
