"""The section [plan] of a study: one value or a list of choices for each field of a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Annotated, Final, TypeVar

from foretrain.errors import InputError
from foretrain.files.keys import COUNT, LARGEST, Reads, count
from foretrain.files.problems import Problems, validated
from foretrain.files.words import known, reader
from foretrain.plan.plan import (
    AXES,
    ContextExchange,
    Cut,
    Offload,
    Order,
    Recompute,
    Schedule,
    Sends,
    Sharding,
)
from foretrain.plan.space import Space
from foretrain.units import as_written
from foretrain.workload.operator import Attention

Value = TypeVar("Value")

MOST_CHOICES: Final = 1000
"""Of one field, and chunks of one cut."""
Name = TypeVar("Name", bound=IntEnum)


def _choices(one: Callable[[object], Value], schema: Mapping[str, object]) -> Reads:
    """A field that takes one value, described by a JSON Schema, or a list of them."""

    def read(value: object) -> tuple[Value, ...]:
        items = value if isinstance(value, list) else [value]
        found = _all(one, items)
        if not found:
            raise InputError("an empty list leaves no choice; leave the key out to free it.")
        twice = [item for item in found if found.count(item) > 1]
        if twice:
            raise InputError(f"{as_written(value)} names a choice twice.")
        return found

    return Reads(read, {"anyOf": [schema, {"type": "array", "items": schema, "minItems": 1}]})


def _all(one: Callable[[object], Value], items: list[object]) -> tuple[Value, ...]:
    """Every item read, or one error that tells what is wrong with each of them."""
    if len(items) > MOST_CHOICES:
        raise InputError(f"has {len(items):,} choices; at most {MOST_CHOICES:,} are read.")
    found, wrong = [], []
    for item in items:
        try:
            found.append(one(item))
        except InputError as error:
            wrong.append(str(error))
    if wrong:
        raise InputError(" ".join(dict.fromkeys(wrong)))
    return tuple(found)


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"{as_written(value)} is neither true nor false.")
    return value


def _named(names: type[Name]) -> Reads:
    """A field that takes members of an enumeration."""
    return _choices(reader(names), {"enum": list(known(names))})


def _order(value: object) -> Order:
    """All axes, or all but `context`, which then stands beside `tensor`."""
    names = list(map(str, value)) if isinstance(value, list) else []
    if names and "context" not in names and "tensor" in names:
        names.insert(names.index("tensor") + 1, "context")
    if sorted(names) != sorted(AXES):
        raise InputError(
            f"{as_written(value)} does not name {', '.join(AXES)} once each, innermost first."
        )
    first, second, third, fourth = names
    return first, second, third, fourth


def _cut(value: object) -> Cut:
    if value == "even":
        return "even"
    if value == "balanced":
        return "balanced"
    if not isinstance(value, list) or not value:
        raise InputError(
            f"{as_written(value)} is neither 'even', nor 'balanced', nor a list of layers per "
            "chunk such as [9, 10, 10, 9]."
        )
    if len(value) > MOST_CHOICES:
        raise InputError(f"has {len(value):,} chunks; at most {MOST_CHOICES:,} are read.")
    wrong = [as_written(item) for item in value if type(item) is not int or item < 1]
    if wrong:
        raise InputError(f"layers of a chunk are whole numbers of at least 1, not {_or(wrong)}.")
    return tuple(value)


def _or(words: list[str]) -> str:
    """Words told one after the other, the last after an "or"."""
    *most, last = dict.fromkeys(words)
    return f"{', '.join(most)} or {last}" if most else last


def _cuts(value: object) -> tuple[Cut, ...]:
    """One cut, or a list of them; numbers alone are one cut."""
    several = isinstance(value, list) and any(isinstance(item, list | str) for item in value)
    return _all(_cut, value if isinstance(value, list) and several else [value])


def _orders(value: object) -> tuple[Order, ...]:
    """One order, or a list of them."""
    one = isinstance(value, list) and not any(isinstance(item, list) for item in value)
    return _all(_order, value if isinstance(value, list) and not one else [value])


def _from_zero(everything: str) -> Reads:
    """A field that takes whole numbers of at least 0, which stands for everything."""

    def read(value: object) -> int:
        if type(value) is int and 0 <= value <= LARGEST:
            return value
        raise InputError(
            f"{as_written(value)} is not a whole number of at least 0 (0: {everything})."
        )

    return _choices(read, {**COUNT, "minimum": 0})


ORDER = f"{', '.join(AXES)}, innermost first; or a list of such orders"
CUT = "'even', 'balanced', or layers of each chunk in order; or a list of such cuts"
Counts = Annotated[tuple[int, ...], _choices(count, COUNT)]
Flags = Annotated[tuple[bool, ...], _choices(_flag, {"type": "boolean"})]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSection:
    """The section as it is written; `Space` has the meanings."""

    data: Counts | None = None
    tensor: Counts | None = None
    context: Counts | None = None
    pipeline: Counts | None = None
    expert: Counts | None = None
    expert_tensor: Counts | None = None
    interleaving: Counts | None = None
    micro_batch: Counts | None = None
    sequence_parallel: Flags | None = None
    exchange: Annotated[tuple[ContextExchange, ...], _named(ContextExchange)] | None = None
    sharding: Annotated[tuple[Sharding, ...], _named(Sharding)] | None = None
    shard: Annotated[tuple[int, ...], _from_zero("all replicas")] | None = None
    reshard: Flags | None = None
    recompute: Annotated[tuple[Recompute, ...], _named(Recompute)] | None = None
    recompute_layers: Annotated[tuple[int, ...], _from_zero("all layers")] | None = None
    offload: Annotated[tuple[Offload, ...], _named(Offload)] | None = None
    attention: Annotated[tuple[Attention, ...], _named(Attention)] | None = None
    schedule: Annotated[tuple[Schedule, ...], _named(Schedule)] | None = None
    sends: Annotated[tuple[Sends, ...], _named(Sends)] | None = None
    cut: Annotated[tuple[Cut, ...], Reads(_cuts, {"description": CUT})] | None = None
    order: (
        Annotated[tuple[Order, ...], Reads(_orders, {"type": "array", "description": ORDER})] | None
    ) = None


def read_space(section: dict[str, object], problems: Problems) -> Space:
    """The plans that a study asks about; a key with a mistake, noted in `problems`, is free."""
    found = validated(PlanSection, section, path="plan", problems=problems) or PlanSection()
    chosen = {field.name: getattr(found, field.name) for field in fields(PlanSection)}
    return Space(**{name: value for name, value in chosen.items() if value is not None})
