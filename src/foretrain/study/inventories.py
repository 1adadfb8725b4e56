"""Reads inventories of networks (CSV): one network a line, in the short forms below.

`convolutions`: `3@224>64@112/7` reads 3 channels at 224 pixels a side and writes 64 at 112 through
windows of 7; ` g32` keeps 32 groups apart, ` x4` stands for four of them; `7x14` are unequal sides.
`products`: `197x384>1536` has 197 rows, a depth of 384 and 1536 columns, and a parameter on the
right; `6*197x64>197` are six without a parameter.
`moves`: `pooling 803 1605 1 / 1003 1605 1` are values of 16 bits, values of 32 bits and kernels,
forward / backward.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from foretrain.errors import InputError
from foretrain.measured.run import MeasuredRun, UnreadRow
from foretrain.study.documents import CsvRecord, records
from foretrain.study.files import read_text
from foretrain.units import as_written
from foretrain.workload.convolution.operators import Picture
from foretrain.workload.operator import Matrices
from foretrain.workload.totals import Convolution, Inventory, Move, Product, Traffic

COLUMNS = ("name", "image", "parameters", "kept", "convolutions", "products", "moves", "source")
MOST_BYTES = 64 * 2**20

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
    lines = (each for each in records(read_text(path, most=MOST_BYTES), str(path)) if each)
    if tuple(next(lines, CsvRecord(1, [])).cells) != COLUMNS:
        raise InputError(f"{path}: the columns must be {', '.join(COLUMNS)}.")
    found: dict[Key, Inventory] = {}
    wrong: dict[str, str] = {}
    for line in lines:
        try:
            cells = line.row(COLUMNS)
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
