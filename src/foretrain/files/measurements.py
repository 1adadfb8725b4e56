"""Reads tables of measurements (CSV): every problem of a file at once, nothing guessed."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from math import isfinite
from pathlib import Path

from foretrain.errors import InputError, nearest
from foretrain.files.inventories import read_inventories, with_inventories
from foretrain.files.measurement_columns import (
    CHOICES,
    COLUMNS,
    LEAST_COUNT,
    NUMBERS,
    REQUIRED,
)
from foretrain.files.measurement_rows import run_of
from foretrain.files.problems import Problems
from foretrain.files.text import read_text
from foretrain.measured.run import MeasuredRun, Table
from foretrain.units import as_written

MOST_BYTES = 64 * 2**20
INVENTORIES = "networks.csv"
"""The file beside a table of single devices that lists the operators of its networks."""

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")

Line = tuple[int, list[str]]


def read_measurements(path: Path, *, kind: str | None = None) -> tuple[MeasuredRun, ...]:
    """The measured runs of a CSV table.

    Args:
        path: the table.
        kind: of table (`llm_training`, `memory`, ...); taken from the file's name if None.

    Raises:
        InputError: the file cannot be read as such a table; the message lists what is wrong.
    """
    text, table = read_text(path, most=MOST_BYTES), _table(path, kind)
    runs = measurements_from(text, table=table, where=str(path))
    beside = path.with_name(INVENTORIES)
    if table is Table.SINGLE_DEVICE and beside.is_file():
        return with_inventories(runs, read_inventories(beside))
    return runs


def measurements_from(text: str, *, table: Table, where: str) -> tuple[MeasuredRun, ...]:
    """The measured runs of a table's text; `where` names it in messages."""
    problems = Problems(where)
    header, lines = _split(text, where)
    for problem in _header_problems(header, table):
        problems.add("", problem)
    problems.check()
    runs: list[MeasuredRun] = []
    for number, values in lines:
        wrong = list(_line_problems(header, values)) or _append(runs, (header, values), table)
        for problem in wrong:
            problems.add(f"line {number}", problem)
    for problem in _repeated(runs):
        problems.add("", problem)
    problems.check()
    return tuple(runs)


def _append(runs: list[MeasuredRun], line: tuple[list[str], list[str]], table: Table) -> list[str]:
    """Adds the run of a line (header and values); what is wrong with it instead, if anything."""
    try:
        runs.append(run_of(dict(zip(*line, strict=True)), table))
    except InputError as error:
        return [str(error)]
    return []


def _table(path: Path, kind: str | None) -> Table:
    known = ", ".join(Table)
    name = path.stem if kind is None else kind
    if name in set(Table):
        return Table(name)
    if kind is not None:
        raise InputError(f"--kind: unknown kind '{kind}'.{nearest(kind, Table)} Known: {known}.")
    raise InputError(
        f"{path}: the file's name is not a kind of table.{nearest(name, Table)} "
        f"Give one with --kind. Known: {known}."
    )


def _split(text: str, where: str) -> tuple[list[str], list[Line]]:
    """The header and the lines that are not empty, each with its number in the file."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        lines = [(reader.line_num, values) for values in reader if values]
    except csv.Error as error:
        raise InputError(
            f"{where}: line {reader.line_num} is not CSV: {error}. Write comma-separated values, "
            'with "..." around those that hold a comma or a quote.'
        ) from None
    if not lines:
        raise InputError(f"{where}: is empty; a table starts with a line of column names.")
    return lines[0][1], lines[1:]


def _header_problems(header: list[str], table: Table) -> Iterator[str]:
    known = COLUMNS[table]
    for name in [name for name, times in Counter(header).items() if times > 1]:
        yield f"column {as_written(name)} occurs more than once."
    unknown = [name for name in dict.fromkeys(header) if name not in known]
    for name in unknown:
        told = f" Columns of a {table} table: {', '.join(known)}." * (name == unknown[-1])
        yield f"unknown column {as_written(name)}.{nearest(name, known)}{told}"
    for name in REQUIRED[table]:
        if name not in header:
            yield f"column '{name}' is missing.{_written_as(name, unknown)}"


def _written_as(name: str, unknown: list[str]) -> str:
    hint = nearest(name, unknown)
    return hint.replace("Did you mean", "Is it") if hint else ""


def _line_problems(header: list[str], values: list[str]) -> Iterator[str]:
    if len(values) != len(header):
        yield f"has {len(values)} cells, the header has {len(header)}."
        return
    for name, value in zip(header, values, strict=True):
        least = LEAST_COUNT.get(name)
        if value and least is not None and not _is_whole(value, least):
            yield f"{name} is {as_written(value)}, not a whole number of at least {least}."
        elif value and name in NUMBERS and _number(value) is None:
            yield f"{name} is {as_written(value)}, not a number of at least 0."
        elif value and value not in CHOICES.get(name, (value,)):
            yield f"{name} is {as_written(value)}, not one of: {', '.join(CHOICES[name])}."


def _number(text: str) -> float | None:
    """A finite number of at least 0; None if the text is no such number."""
    if not NUMBER.fullmatch(text):
        return None
    value = float(text)
    return value if isfinite(value) and value >= 0 else None


def _is_whole(text: str, least: int) -> bool:
    value = _number(text)
    return value is not None and value.is_integer() and value >= least


def _repeated(runs: list[MeasuredRun]) -> list[str]:
    times = Counter(run.id for run in runs)
    return [f"id {as_written(name)} occurs {n} times." for name, n in times.items() if n > 1]
