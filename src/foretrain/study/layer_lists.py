"""Reads layer lists (CSV): one layer of a network a line, with what was measured of it if anything.

Sides of pictures are written 226x226 (height, width; three of a volume, one of a signal), and left
empty for a single pixel, as a connected layer has it. Columns stand in any order; those that nobody
fills may be left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeVar

from foretrain.errors import InputError
from foretrain.study.documents import CsvRecord, records
from foretrain.study.files import read_text
from foretrain.study.keys import reader
from foretrain.study.problems import Problems, unknown_key
from foretrain.units import FLOP, SECONDS, VALUES, as_written
from foretrain.workload.convolution.layer_list import (
    LayerKind,
    ListedLayer,
    model_of_layers,
    spread,
)
from foretrain.workload.convolution.operators import Picture, Window
from foretrain.workload.graph import Model

MOST_BYTES: Final = 4 * 2**20
MOST_LAYERS: Final = 10_000
MOST_SIDES: Final = 3
LARGEST: Final = 10**9

WANTED: Final = ("name", "kind", "channels", "filters")
NUMBERS: Final = ("weights", "inputs", "outputs", "kept")
TIMES: Final = ("forward", "backward", "both")
COLUMNS: Final = (
    *WANTED,
    *("input", "output", "kernel", "stride", "groups"),
    *NUMBERS,
    "flop",
    *TIMES,
    "layer",
)
"""Every column: sizes, counts of values where the sizes do not say them, and seconds."""

SINGLE_PIXEL: Final[tuple[int, ...]] = ()
ONE: Final[tuple[int, ...]] = (1,)
"""Sides where none are written: of a picture, and of a window or its stride."""

Cells = Mapping[str, str]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerListFile:
    """A layer list, as a study names it.

    Attributes:
        path: of the file.
        seconds: that both passes of one sample through the whole network take; None where rows say
            theirs, or nobody measured them.
    """

    path: str
    seconds: float | None = None


def read_layer_list(path: Path, *, seconds: float | None = None) -> Model:
    """The network of a layer list.

    Args:
        path: of the file.
        seconds: that both passes of one sample take; None for what the rows say.

    Raises:
        InputError: the file is no such list; every line that is wrong is told.
    """
    rows = read_layers(path)
    if seconds is not None:
        try:
            rows = spread(rows, seconds)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
    return model_of_layers(path.stem, rows)


def read_layers(path: Path) -> tuple[ListedLayer, ...]:
    """The layers of a list, in order.

    Raises:
        InputError: the file is no such list; every line that is wrong is told.
    """
    lines = (each for each in records(read_text(path, most=MOST_BYTES), str(path)) if each)
    problems = Problems(str(path))
    columns = _header(next(lines, CsvRecord(1, [])), problems)
    rows: list[ListedLayer] = []
    names: dict[str, int] = {}
    for line in lines:
        row = _row(line, columns, problems)
        if len(names) >= MOST_LAYERS:
            raise InputError(f"{path}: has more than {MOST_LAYERS:,} layers.")
        if row is None:
            continue
        if row.name in names:
            told = f"{as_written(row.name)} is the layer of line {names[row.name]} already."
            problems.add(f"line {line.line}: name", told)
        names[row.name] = line.line
        rows.append(row)
    problems.check()
    if not rows:
        raise InputError(f"{path}: has no layers.")
    _check_dimensions(rows, path)
    return tuple(_single_pixels(row, len(_sides_of(rows))) for row in rows)


def _header(line: CsvRecord, problems: Problems) -> Sequence[str]:
    """The names of the columns."""
    columns = line.cells
    for name in columns:
        if name not in COLUMNS:
            problems.add(f"column {as_written(name)}", unknown_key(name, COLUMNS))
        elif columns.count(name) > 1:
            problems.add(f"column {as_written(name)}", "stands there twice.")
    for name in WANTED:
        if name not in columns:
            problems.add(f"column '{name}'", "is missing.")
    problems.check()
    return columns


def _row(line: CsvRecord, columns: Sequence[str], problems: Problems) -> ListedLayer | None:
    """One layer; None, with every problem noted, where it is none."""
    where, known = f"line {line.line}", len(problems.found)
    with problems.noting(where):
        cells = line.row(columns)
        found = _Cells(cells, where, problems)
        fields = {
            "name": found.read("name", _text),
            "kind": found.read("kind", reader(LayerKind)),
            "picture": found.picture("channels", "input"),
            "result": found.picture("filters", "output"),
            "window": found.window(),
            "groups": found.read("groups", _count, 1),
            **{name: found.read(name, VALUES.read) for name in NUMBERS},
            "flop": found.read("flop", FLOP.read),
            **{name: found.read(name, SECONDS.read) for name in TIMES},
            "layer": cells.get("layer", ""),
        }
        if len(problems.found) == known:
            return ListedLayer(**fields)  # type: ignore[arg-type]
    return None


class _Cells:
    """The cells of one line, of which every one that is wrong is noted."""

    def __init__(self, cells: Cells, where: str, problems: Problems) -> None:
        self._cells, self._where, self._problems = cells, where, problems

    def read(self, name: str, read: Callable[[str], T], absent: T | None = None) -> T | None:
        """A cell; what stands for an empty one, which WANTED must not be."""
        text = self._cells.get(name, "").strip()
        if not text and name not in WANTED:
            return absent
        with self._problems.noting(f"{self._where}: {name}"):
            return read(text)
        return None

    def picture(self, channels: str, sides: str) -> Picture | None:
        """Channels and sides of a picture; None where they are wrong."""
        many, along = self.read(channels, _count), self.read(sides, _sides, SINGLE_PIXEL)
        return None if many is None or along is None else Picture(channels=many, sides=along)

    def window(self) -> Window | None:
        """Kernel and stride; None where they are wrong."""
        size, stride = self.read("kernel", _sides, ONE), self.read("stride", _sides, ONE)
        if size is None or stride is None:
            return None
        return Window(size=_folded(size), stride=_folded(stride))


def _folded(sides: tuple[int, ...]) -> int | tuple[int, ...]:
    """One number for every dimension where only one is written."""
    return sides[0] if len(sides) == 1 else sides


def _text(text: str) -> str:
    if not text:
        raise InputError("is missing.")
    return text


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:11]) <= LARGEST):
        raise InputError(f"{as_written(text)} is no whole number of at least 1.")
    return int(text)


def _sides(text: str) -> tuple[int, ...]:
    sides = text.split("x")
    if len(sides) > MOST_SIDES:
        raise InputError(f"{as_written(text)} has more than {MOST_SIDES} dimensions.")
    return tuple(_count(side.strip()) for side in sides)


def _sides_of(rows: Sequence[ListedLayer]) -> tuple[int, ...]:
    """The sides of the samples."""
    return rows[0].picture.sides


def _check_dimensions(rows: Sequence[ListedLayer], path: Path) -> None:
    """Refuse pictures and windows that slide along other dimensions than the samples have."""
    problems, wanted = Problems(str(path)), len(_sides_of(rows))
    for row in rows:
        window = [row.window.size, row.window.stride]
        sides = {
            "input": row.picture.sides,
            "output": row.result.sides,
            **{
                name: each
                for name, each in zip(("kernel", "stride"), window, strict=True)
                if isinstance(each, tuple)
            },
        }
        for name, each in sides.items():
            if each and len(each) != wanted:
                told = f"has {len(each)} sides; the samples have {wanted}."
                problems.add(f"{as_written(row.name)}: {name}", told)
    problems.check()


def _single_pixels(row: ListedLayer, dimensions: int) -> ListedLayer:
    """The row with as many sides of 1 as samples have, where none are written."""
    single = (1,) * dimensions
    return replace(
        row,
        picture=replace(row.picture, sides=row.picture.sides or single),
        result=replace(row.result, sides=row.result.sides or single),
    )
