"""Sizes: the numbers that a model of the library is made of, each told once.

Catalogue: what studies may name, and where each number comes from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Final, TypeGuard

from foretrain.errors import InputError, nearest
from foretrain.study.catalogue import (
    CatalogueEntry,
    CatalogueResult,
    Figure,
    family,
    figures,
    find,
    names,
    summary,
    words,
)
from foretrain.study.here import NAME as HERE
from foretrain.study.here import entry as this_machine
from foretrain.workload.graph import Model
from foretrain.workload.library import entries as library
from foretrain.workload.library.entries import Entry, SampleKind
from foretrain.workload.parts.feed_forward import Experts
from foretrain.workload.parts.mixers import StateSpace

Size = tuple[str, int | str]

EXAMPLE: Final[Mapping[SampleKind, int]] = {
    SampleKind.TOKENS: 16,
    SampleKind.IMAGE: 224,
    SampleKind.NOTHING: 1,
}
"""Tokens or pixels of the sample for which parameters are counted: few models have more of them
for larger samples."""

CALLED: Final[Mapping[str, str]] = {
    "runs": "",
    "run": "",
    "blocks": "",
    "each": "",
    "mixer": "attention",
}
PARTS: Final[Mapping[type, str]] = {StateSpace: "state_space", Experts: "experts"}
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
            called = field.name if _is_list(item) else CALLED.get(field.name, field.name)
            name = PARTS.get(type(item), called)
            joined = ".".join(part for part in (key, name) if part)
            yield from _sizes(item, joined)
    elif isinstance(value, int | float) and not isinstance(value, bool | Enum):
        # No zero, and no share or factor of 1: they change nothing.
        idle = not value or (isinstance(value, float) and value == 1)
        if not idle and not key.endswith(REPEATS):
            yield key, f"{value:g}" if isinstance(value, float) else value


def _is_list(value: object) -> TypeGuard[tuple[int, ...]]:
    return isinstance(value, tuple) and all(isinstance(item, int) for item in value)


KINDS: Final = ("devices", "clusters", "trainers", "models")
SIZED_BY: Final[Mapping[SampleKind, str]] = {
    SampleKind.TOKENS: "tokens; a study says how many with sequence",
    SampleKind.IMAGE: "an image; a study gives the pixels of its side with image",
    SampleKind.NOTHING: "of one size; a study gives neither sequence nor image",
}
SAMPLES: Final[Mapping[SampleKind, str]] = {
    SampleKind.TOKENS: " for samples of {} tokens",
    SampleKind.IMAGE: " for images of {} pixels",
    SampleKind.NOTHING: "",
}


def catalogue(name: str | None = None) -> CatalogueResult:
    """Everything that studies may name, all of one kind, or one entry.

    Args:
        name: an entry or an alias of one; here for this machine; devices, clusters, trainers or
            models for all of them; None for everything.

    Raises:
        InputError: if nothing has that name, or this machine cannot be described.
    """
    if name == HERE:
        return CatalogueResult(entries=(this_machine(),))
    if name is None or name in KINDS:
        kinds = KINDS if name is None else (name,)
        every = [_hardware(kind, it) for kind in names() if kind in kinds for it in names()[kind]]
        models = library.entries().values() if "models" in kinds else ()
        return CatalogueResult(entries=(*every, *map(_model, models)))
    found = tuple(_described(name))
    if not found:
        known = [*(each for every in names().values() for each in every), *library.entries()]
        raise InputError(
            f"the catalogue has no '{name}'.{nearest(name.lower(), known)} "
            f"'foretrain catalogue' lists all {len(known)}."
        )
    return CatalogueResult(entries=found)


def _described(name: str) -> Iterator[CatalogueEntry]:
    """The entry of a name, whatever its kind; nothing if there is none."""
    for kind in names():
        try:
            yield _hardware(kind, find(kind, name))
        except InputError:
            continue
    try:
        yield _model(library.find(name))
    except InputError:
        return


def _hardware(kind: str, name: str) -> CatalogueEntry:
    return CatalogueEntry(
        name=name,
        kind=kind.removesuffix("s"),
        family=family(kind, name),
        summary=summary(kind, name),
        words=words(kind, name),
        figures=figures(kind, name),
    )


@cache
def _model(entry: Entry) -> CatalogueEntry:
    """A model; its numbers are those of its shape, all from one source, and what they add up to."""
    sample = EXAMPLE[entry.reads]
    counted = f"counted{SAMPLES[entry.reads].format(sample)}; sizes from: {entry.source}"
    return CatalogueEntry(
        name=entry.name,
        kind="model",
        family=entry.family,
        summary=entry.summary,
        words={"sample": SIZED_BY[entry.reads]},
        figures=(
            *_figures(counts(entry.build(sample)), counted),
            *_figures(sizes(entry), entry.source),
        ),
    )


def _figures(found: Iterable[tuple[str, int | str]], source: str) -> Iterator[Figure]:
    for key, value in found:
        yield Figure(key=key, value=value, source=source, confidence="high")
