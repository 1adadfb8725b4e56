"""Catalogue: what studies may name, and where each number comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Final

from foretrain.errors import InputError, nearest
from foretrain.files.catalogue import family, figures, find, names, summary
from foretrain.results.catalogue import CatalogueEntry, CatalogueResult, Figure
from foretrain.workload.library import entries as library
from foretrain.workload.library.entry import Entry

KINDS: Final = ("devices", "clusters", "models")


def catalogue(name: str | None = None) -> CatalogueResult:
    """Everything that studies may name, all of one kind, or one entry.

    Args:
        name: an entry or an alias of one; devices, clusters or models for all of them; None for
            everything.

    Raises:
        InputError: if nothing has that name.
    """
    if name is None or name in KINDS:
        every = (entry for entry in _everything() if name in {None, f"{entry.kind}s"})
        return CatalogueResult(entries=tuple(every))
    found = tuple(_described(name))
    if not found:
        known = [entry.name for entry in _everything()]
        raise InputError(
            f"the catalogue has no '{name}'.{nearest(name.lower(), known)} "
            f"'foretrain catalogue' lists all {len(known)}."
        )
    return CatalogueResult(entries=found)


def _everything() -> Iterator[CatalogueEntry]:
    for kind, known in names().items():
        yield from (_hardware(kind, name) for name in known)
    yield from map(_model, library.ENTRIES.values())


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
        figures=figures(kind, name),
    )


def _model(entry: Entry) -> CatalogueEntry:
    """A model; its numbers are those of its shape, all from one source."""
    return CatalogueEntry(
        name=entry.name,
        kind="model",
        family=library.FAMILIES[entry.name],
        summary=entry.summary,
        figures=tuple(
            Figure(key=key, value=value, source=entry.source, confidence="high")
            for key, value in _sizes(entry.shape)
        ),
    )


def _sizes(shape: object, prefix: str = "") -> Iterator[tuple[str, int | str]]:
    """The numbers of a shape and of the shapes inside it, each with its path."""
    if isinstance(shape, tuple):
        for position, part in enumerate(shape):
            yield from _sizes(part, f"{prefix}[{position}]")
    elif is_dataclass(shape):
        for each in fields(shape):
            inner = f"{prefix}.{each.name}" if prefix else each.name
            yield from _sizes(getattr(shape, each.name), inner)
    elif isinstance(shape, float):
        yield prefix, f"{shape:g}"
    elif isinstance(shape, int) and not isinstance(shape, bool | Enum):
        yield prefix, shape
