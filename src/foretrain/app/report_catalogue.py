"""The report of `catalogue`: what foretrain knows by name, and who says so."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Final

from rich.console import Group, RenderableType

from foretrain.show import terminal
from foretrain.show.table import Column, Fact, Table
from foretrain.study.entries import CatalogueEntry, CatalogueResult, Figure
from foretrain.units import PARAMETERS

FAMILY_WIDTH = 24
PLURALS: Mapping[str, str] = {"device": "Devices", "cluster": "Clusters", "model": "Models"}
SHOWN: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "device": {
        "16-bit": ("peak.bf16", "peak.fp16"),
        "memory": ("memory",),
        "bandwidth": ("memory_bandwidth",),
        "power": ("power",),
    },
    "cluster": {"price": ("price",)},
    "model": {"parameters": ("parameters",), "active": ("active_parameters",)},
}
"""Columns of the list of a kind: each shows the first of some figures that an entry has."""

LEVEL: Final = re.compile(r"levels\[(\d+)\]")
LEVEL_NAME: Final = re.compile(r"levels\[\d+\]\.name")
REMARKS: Final[Mapping[tuple[str, str], str]] = {
    ("in_network", "yes"): "adds up on the way",
    ("ordered", "no"): "out of order",
    ("duplex", "no"): "one direction at a time",
}
"""What is said of a link where a key has a value."""


def catalogue_text(result: CatalogueResult) -> Group:
    """Names by family; all of one kind with their main figures; one entry with its sources."""
    if len(result.entries) == 1:
        entry = result.entries[0]
        sources = list(dict.fromkeys(figure.source for figure in entry.figures))
        return Group(
            terminal.heading(f"{entry.name} ({entry.kind})"),
            terminal.facts(Fact(label=label, text=text) for label, text in _about(entry) if text),
            "",
            terminal.table(_figures(entry, sources)),
            "",
            *(
                terminal.note(f"[{place}] {source}")
                for place, source in enumerate(sources, start=1)
            ),
        )
    kinds = [(kind, list(found)) for kind, found in _grouped(result.entries, "kind")]
    if len(kinds) == 1:
        return Group(*_listed(result.entries))
    hints = (
        "foretrain catalogue NAME shows an entry's numbers and their sources;",
        "foretrain catalogue devices, clusters or models lists the main ones of each;",
        "foretrain catalogue here shows this machine.",
    )
    overview = (part for kind, found in kinds for part in _named(kind, found))
    return Group(*overview, "", *map(terminal.note, hints))


def _grouped(
    entries: Iterable[CatalogueEntry], by: str
) -> Iterator[tuple[str, Iterator[CatalogueEntry]]]:
    """Neighbours that share a kind or a family."""
    return groupby(entries, key=lambda entry: str(getattr(entry, by)))


def _named(kind: str, entries: list[CatalogueEntry]) -> Iterator[RenderableType]:
    """The names of a kind, a line per family."""
    yield terminal.heading(f"{PLURALS[kind]} ({len(entries)})")
    families = [
        Fact(label=family, text=", ".join(entry.name for entry in found))
        for family, found in _grouped(entries, "family")
    ]
    yield terminal.facts(families, width=FAMILY_WIDTH)


def _listed(entries: Iterable[CatalogueEntry]) -> Iterator[RenderableType]:
    """A table per family."""
    for family, found in _grouped(entries, "family"):
        yield terminal.heading(family)
        yield terminal.table(_table(list(found)))


def _table(entries: list[CatalogueEntry]) -> Table:
    """Name, main figures and summary, without columns that are empty."""
    shown = SHOWN.get(entries[0].kind, {})
    cells = {name: [_first(entry, keys) for entry in entries] for name, keys in shown.items()}
    cells = {name: texts for name, texts in cells.items() if any(texts)}
    columns = (
        Column(name="name"),
        *(Column(name=name, number=True) for name in cells),
        Column(name="summary", spare=1),
    )
    rows = tuple(
        (entry.name, *(texts[place] for texts in cells.values()), entry.summary)
        for place, entry in enumerate(entries)
    )
    return Table(columns=columns, rows=rows)


def _first(entry: CatalogueEntry, keys: tuple[str, ...]) -> str:
    known = {figure.key: figure.value for figure in entry.figures}
    value = next((known[key] for key in keys if key in known), "")
    return value if isinstance(value, str) else PARAMETERS.write(value).removesuffix(" parameters")


def _about(entry: CatalogueEntry) -> Iterator[tuple[str, str]]:
    """What an entry says in words, under the labels of its lines."""
    yield "What", entry.summary
    yield "Sample", entry.words.get("sample", "")
    yield "Device", entry.words.get("device", entry.words.get("device.name", ""))
    for place, name in enumerate(_levels(entry)):
        # Technology and shape of a level, and what else is said of its link.
        start = f"levels[{place}].link."
        said = {key.removeprefix(start): text for key, text in entry.words.items()}
        shape = [said[key] for key in ("technology", "kind") if key in said]
        link = ", ".join(
            shape + [text for key, text in REMARKS.items() if said.get(key[0]) == key[1]]
        )
        yield "Levels" if place == 0 else " ", f"{name}: {link}"


def _levels(entry: CatalogueEntry) -> list[str]:
    """The names of a cluster's levels, innermost first; nothing for what is no cluster."""
    return [text for key, text in entry.words.items() if LEVEL_NAME.fullmatch(key)]


def _figures(entry: CatalogueEntry, sources: list[str]) -> Table:
    """The numbers, each with the place of its source in the list below."""
    columns = (
        Column(name="key"),
        Column(name="value", number=True),
        Column(name="confidence"),
        Column(name="source"),
    )
    rows = tuple(
        (
            _key(entry, figure),
            f"{figure.value:,}" if isinstance(figure.value, int) else figure.value,
            figure.confidence,
            f"[{sources.index(figure.source) + 1}]{f' of {figure.date}' if figure.date else ''}",
        )
        for figure in entry.figures
    )
    return Table(columns=columns, rows=rows)


def _key(entry: CatalogueEntry, figure: Figure) -> str:
    """A figure's key, a level called by its name."""
    levels = _levels(entry)
    return LEVEL.sub(lambda found: levels[int(found[1])], figure.key)
