"""Tables: rows that the terminal and the page both show, made of the labels on a result's fields.

A field says how people read it: `step_time: float = field(metadata=label("step", SECONDS))`; a
property does so under `@labelled`. A table names the fields that it shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypedDict, TypeVar, Unpack

from foretrain.show.words import Written, in_one_unit, written
from foretrain.units import Quantity

Read = TypeVar("Read", bound=Callable[..., object])
Unit = Quantity | Callable[[Any], str] | None
"""How a value is written: with the unit of a quantity, by a function, or as it is."""


class ColumnLooks(TypedDict, total=False):
    """What else a label may say of a `Column`."""

    meaning: str
    short: str
    spare: int
    group: str


class TableLooks(TypedDict, total=False):
    """How a `Table` is shown."""

    best: int | None
    most: int | None
    legend: bool
    anchor: str
    keys: Mapping[str, Sequence[float | None]] | None


LABEL: Final = "label"
"""Under which a field's metadata holds its column."""


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
        unit: how what stands under it is written.
    """

    name: str
    meaning: str = ""
    number: bool = False
    short: str = ""
    spare: int = 0
    group: str = ""
    unit: Unit = None

    def text(self, value: object) -> str:
        """A value as it stands under the heading; nothing where there is none."""
        if value is None:
            return ""
        if isinstance(self.unit, Quantity):
            return written(self.unit, value)  # type: ignore[arg-type]
        if self.unit is not None:
            return self.unit(value)
        return value if isinstance(value, Written) else str(value)

    @property
    def heading(self) -> str:
        """The name, what follows its first word on a second line where numbers stand below."""
        return self.name.replace(" ", "\n", 1) if self.number else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Texts in rows under columns; values of a column, or of a group of them, have one unit.

    Attributes:
        best: place of the row that stands out.
        most: rows that a screen shows; None for all.
        legend: whether a screen says what the headings mean.
        anchor: what a page calls the rows, with their numbers; empty where nothing points at them.
        keys: numbers by which a page sorts columns whose texts have units; None: it sorts nothing.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    best: int | None = None
    most: int | None = None
    legend: bool = False
    anchor: str = ""
    keys: Mapping[str, Sequence[float | None]] | None = None

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


def label(
    name: str, unit: Unit = None, *, number: bool | None = None, **more: Unpack[ColumnLooks]
) -> Mapping[str, Column]:
    """Metadata of a field: what it is called and how it is written.

    Args:
        name: the heading.
        unit: how a value is written.
        number: whether it stands among numbers; if absent, whether it has a unit.
        more: of a `Column`.
    """
    known = unit is not None if number is None else number
    return {LABEL: Column(name=name, unit=unit, number=known, **more)}


def labelled(
    name: str, unit: Unit = None, *, number: bool | None = None, **more: Unpack[ColumnLooks]
) -> Callable[[Read], Read]:
    """What `label` says of a field, of the property below."""

    def note(read: Read) -> Read:
        setattr(read, LABEL, label(name, unit, number=number, **more)[LABEL])
        return read

    return note


def column_of(kind: type, name: str) -> Column | None:
    """The label of a field or a property; None where it has none."""
    known = getattr(kind, "__dataclass_fields__", {})
    if name in known:
        found: Column | None = known[name].metadata.get(LABEL)
        return found
    return getattr(getattr(getattr(kind, name, None), "fget", None), LABEL, None)


def named(kind: type) -> dict[str, Column]:
    """All labels of a result, by the names of its fields and properties, in their order."""
    names = (*getattr(kind, "__dataclass_fields__", {}), *vars(kind))
    found = {name: column_of(kind, name) for name in names}
    return {name: column for name, column in found.items() if column is not None}


Shown = str | tuple[Column, Callable[[Any], object]]
"""A labelled field ("memory.total" of a part), or a column and what of a record stands under it."""


def table(
    records: Sequence[object] | Mapping[str, object],
    *shown: Shown,
    key: str = "",
    numbered: bool = False,
    **more: Unpack[TableLooks],
) -> Table:
    """Records as rows; a column that is blank in every row says nothing and is left out.

    Args:
        records: results of one kind, by name if they have no name of their own.
        shown: what of them; everything that is labelled if absent.
        key: the heading of their names.
        numbered: whether rows are counted, from 1.
        more: of a `Table`.
    """
    if not records:
        return Table(columns=(), rows=(), **more)
    made: list[tuple[Column, list[str]]] = []
    if numbered:
        made = [(Column(name="#", number=True), [str(n + 1) for n in range(len(records))])]
    if isinstance(records, Mapping):
        made.append((Column(name=key), list(records)))
        records = list(records.values())
    for each in shown or tuple(named(type(records[0]))):
        if not isinstance(each, str):
            column, read = each
            made.append((column, [column.text(read(it)) for it in records]))
            continue
        *path, name = each.split(".")
        holders = list(records)
        for part in path:
            holders = [getattr(it, part, None) for it in holders]
        kind = next(type(it) for it in holders if it is not None)
        found = column_of(kind, name)
        assert found is not None, f"{kind.__name__}.{name} has no label"
        made.append((found, [found.text(getattr(it, name, None)) for it in holders]))
    told = [(column, texts) for column, texts in made if any(texts)]
    rows = tuple(zip(*(texts for _, texts in told), strict=True))
    return Table(columns=tuple(column for column, _ in told), rows=rows, **more)


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
