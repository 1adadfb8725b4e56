"""Catalogue: what studies may name, and where each number comes from."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import Final

from foretrain.errors import InputError, nearest
from foretrain.files.catalogue import family, figures, find, names, summary, words
from foretrain.files.here import NAME as HERE
from foretrain.files.here import entry as this_machine
from foretrain.results.catalogue import CatalogueEntry, CatalogueResult, Figure
from foretrain.verbs.sizes import EXAMPLE, counts, sizes
from foretrain.workload.library import entries as library
from foretrain.workload.library.entry import Entry, Reads

KINDS: Final = ("devices", "clusters", "models")
SIZED_BY: Final[Mapping[Reads, str]] = {
    Reads.TOKENS: "tokens; a study says how many with sequence",
    Reads.IMAGE: "an image; a study gives the pixels of its side with image",
    Reads.NOTHING: "of one size; a study gives neither sequence nor image",
}
SAMPLES: Final[Mapping[Reads, str]] = {
    Reads.TOKENS: " for samples of {} tokens",
    Reads.IMAGE: " for images of {} pixels",
    Reads.NOTHING: "",
}


def catalogue(name: str | None = None) -> CatalogueResult:
    """Everything that studies may name, all of one kind, or one entry.

    Args:
        name: an entry or an alias of one; here for this machine; devices, clusters or models for
            all of them; None for everything.

    Raises:
        InputError: if nothing has that name, or this machine cannot be described.
    """
    if name == HERE:
        return CatalogueResult(entries=(this_machine(),))
    if name is None or name in KINDS:
        return CatalogueResult(entries=tuple(_every(KINDS if name is None else (name,))))
    found = tuple(_described(name))
    if not found:
        known = [*(each for every in names().values() for each in every), *library.ENTRIES]
        raise InputError(
            f"the catalogue has no '{name}'.{nearest(name.lower(), known)} "
            f"'foretrain catalogue' lists all {len(known)}."
        )
    return CatalogueResult(entries=found)


def _every(kinds: Collection[str]) -> Iterator[CatalogueEntry]:
    """All entries of some kinds."""
    for kind, known in names().items():
        if kind in kinds:
            yield from (_hardware(kind, name) for name in known)
    if "models" in kinds:
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
        family=library.FAMILIES[entry.name],
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
