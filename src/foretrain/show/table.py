"""Tables: rows that the terminal and the page both show, written once.

Facts and pieces: what a screen shows line by line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from foretrain.show.document import CoefficientSource
from foretrain.show.words import in_one_unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A heading and what stands under it.

    Attributes:
        name: the heading.
        meaning: what it means, where the name does not say it.
        number: whether numbers stand under it.
        short: the heading where room is scarce.
        spare: where room is scarce, columns with larger numbers go first; with 0 they stay.
        group: columns of one group are compared with each other, and so have one unit.
    """

    name: str
    meaning: str = ""
    number: bool = False
    short: str = ""
    spare: int = 0
    group: str = ""

    @property
    def heading(self) -> str:
        """The name, what follows its first word on a second line where numbers stand below."""
        return self.name.replace(" ", "\n", 1) if self.number else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Texts in rows under columns; values of a column, or of a group of them, have one unit."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        places: dict[str, list[int]] = {}
        for place, column in enumerate(self.columns):
            places.setdefault(column.group or f"#{place}", []).append(place)
        cells = {
            (row, place): text
            for row, each in enumerate(self.rows)
            for place, text in enumerate(each)
        }
        for together in places.values():
            keys = [key for key in cells if key[1] in together]
            cells |= zip(keys, in_one_unit([cells[key] for key in keys]), strict=True)
        rows = (
            tuple(cells[row, place] for place in range(len(each)))
            for row, each in enumerate(self.rows)
        )
        object.__setattr__(self, "rows", tuple(rows))


def coefficients(sources: Sequence[CoefficientSource]) -> Table:
    """Every coefficient with its interval and source."""
    columns = (
        Column(name="coefficient"),
        Column(name="value", number=True),
        Column(name="interval"),
        Column(name="found"),
        Column(name="source"),
    )
    rows = [
        (
            source.name,
            f"{source.value:.4g} {source.unit}".strip(),
            f"{source.low:.4g} to {source.high:.4g}",
            source.kind,
            source.source,
        )
        for source in sources
    ]
    return Table(columns=columns, rows=tuple(rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A label and what is known under it; `text` first, `more` behind it in a lighter voice."""

    label: str
    text: str
    more: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One piece of a whole: `share` is a fraction of it."""

    name: str
    amount: float
    share: float
