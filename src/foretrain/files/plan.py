"""The section [plan] of a study: one value or a list of choices for each field of a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Annotated, TypeVar

from foretrain.errors import InputError, nearest
from foretrain.files.keys import COUNT, Reads, count
from foretrain.files.problems import Problems, validated
from foretrain.plan.plan import AXES, Order, Recompute, Sends, Sharding
from foretrain.plan.space import Space
from foretrain.units import as_written
from foretrain.workload.operator import Attention

Value = TypeVar("Value")
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
    """A field that takes members of an enumeration, in lower case."""
    known = {member.name.lower(): member for member in names}

    def read(value: object) -> Name:
        if not isinstance(value, str) or value not in known:
            raise InputError(
                f"unknown {as_written(value)}.{nearest(str(value), known)} "
                f"Known: {', '.join(known)}."
            )
        return known[value]

    return _choices(read, {"enum": list(known)})


def _order(value: object) -> Order:
    if not isinstance(value, list) or sorted(map(str, value)) != sorted(AXES):
        raise InputError(
            f"{as_written(value)} does not name {', '.join(AXES)} once each, innermost first."
        )
    first, second, third = value
    return first, second, third


def _orders(value: object) -> tuple[Order, ...]:
    """One order, or a list of them."""
    one = isinstance(value, list) and not any(isinstance(item, list) for item in value)
    return _all(_order, value if isinstance(value, list) and not one else [value])


ORDER = f"{', '.join(AXES)}, innermost first; or a list of such orders"
Counts = Annotated[tuple[int, ...], _choices(count, COUNT)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSection:
    """The section as it is written; `Space` has the meanings."""

    data: Counts | None = None
    tensor: Counts | None = None
    pipeline: Counts | None = None
    interleaving: Counts | None = None
    micro_batch: Counts | None = None
    sequence_parallel: Annotated[tuple[bool, ...], _choices(_flag, {"type": "boolean"})] | None = (
        None
    )
    sharding: Annotated[tuple[Sharding, ...], _named(Sharding)] | None = None
    recompute: Annotated[tuple[Recompute, ...], _named(Recompute)] | None = None
    attention: Annotated[tuple[Attention, ...], _named(Attention)] | None = None
    sends: Annotated[tuple[Sends, ...], _named(Sends)] | None = None
    order: (
        Annotated[tuple[Order, ...], Reads(_orders, {"type": "array", "description": ORDER})] | None
    ) = None


def read_space(section: dict[str, object], problems: Problems) -> Space:
    """The plans that a study asks about; a key with a mistake, noted in `problems`, is free."""
    found = validated(PlanSection, section, path="plan", problems=problems) or PlanSection()
    chosen = {field.name: getattr(found, field.name) for field in fields(PlanSection)}
    return Space(**{name: value for name, value in chosen.items() if value is not None})
