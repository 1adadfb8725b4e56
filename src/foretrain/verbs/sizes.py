"""Sizes: the numbers that a model of the library is made of, each told once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import Field, fields, is_dataclass
from enum import Enum
from typing import Any, Final, TypeGuard

from foretrain.workload.graph import Model
from foretrain.workload.library.entry import Entry, Reads
from foretrain.workload.library.parts.experts import Experts
from foretrain.workload.library.parts.state_space import StateSpace

Size = tuple[str, int | str]

EXAMPLE: Final[Mapping[Reads, int]] = {Reads.TOKENS: 16, Reads.IMAGE: 224, Reads.NOTHING: 1}
"""Tokens or pixels of the sample for which parameters are counted: few models have more of them
for larger samples."""

CALLED: Final[Mapping[str, str]] = {
    "runs": "",
    "run": "",
    "blocks": "",
    "each": "",
    "mixer": "attention",
}
KINDS: Final[Mapping[type, str]] = {StateSpace: "state_space", Experts: "experts"}
"""What parts are called instead of the field that holds them; a blank is left out."""

REPEATS: Final = "repeats"
"""Left out, since the layers are counted."""


def counts(model: Model) -> Iterator[Size]:
    """What follows from all sizes together."""
    yield "parameters", round(model.parameters)
    if model.experts:
        yield "active_parameters", round(model.active)
    yield "pipeline_layers", model.cuttable_layers


def sizes(entry: Entry) -> Iterator[Size]:
    """The numbers of an entry's shape; one that differs between layers as a list of all values."""
    found: dict[str, dict[str, int | str]] = {}
    for key, value in _sizes(entry.shape, ""):
        found.setdefault(key, {})[str(value)] = value
    for key, values in found.items():
        yield key, ", ".join(values) if len(values) > 1 else next(iter(values.values()))


def _sizes(value: object, key: str) -> Iterator[Size]:
    """Every number below a value that asks for something, with its key."""
    if _is_list(value):
        yield key, ", ".join(map(str, value))
    elif isinstance(value, tuple):
        for item in value:
            yield from _sizes(item, key)
    elif is_dataclass(value):
        for field in fields(value):
            item = getattr(value, field.name)
            yield from _sizes(item, _joined(key, field, item))
    elif _asks(value) and not key.endswith(REPEATS):
        yield key, f"{value:g}" if isinstance(value, float) else int(str(value))


def _is_list(value: object) -> TypeGuard[tuple[int, ...]]:
    return isinstance(value, tuple) and all(isinstance(item, int) for item in value)


def _asks(value: object) -> bool:
    """Whether it is a number that changes anything: no zero, and no share or factor of 1."""
    if isinstance(value, bool | Enum) or not isinstance(value, int | float):
        return False
    return bool(value) and not (isinstance(value, float) and value == 1)


def _joined(key: str, field: Field[Any], item: object) -> str:
    called = field.name if _is_list(item) else CALLED.get(field.name, field.name)
    name = KINDS.get(type(item), called)
    return ".".join(part for part in (key, name) if part)
