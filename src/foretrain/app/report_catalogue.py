"""The report of `catalogue`: what foretrain knows by name, and who says so."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Final

from foretrain.show.report import AnswerReport, Block, Note, ReportSection
from foretrain.show.table import Column, Fact, Table, table
from foretrain.study.catalogue import CatalogueEntry, CatalogueResult, Figure
from foretrain.units import PARAMETERS

PLURALS: Mapping[str, str] = {
    "device": "Devices",
    "cluster": "Clusters",
    "trainer": "Trainers",
    "model": "Models",
}
SHOWN: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "device": {
        "16-bit": ("peak.bf16", "peak.fp16"),
        "memory": ("memory",),
        "bandwidth": ("memory_bandwidth",),
        "power": ("power",),
    },
    "cluster": {"price": ("price",)},
    "trainer": {
        "attention": ("options.attention", "options.attention[0]"),
        "execution": ("options.execution", "options.execution[0]"),
    },
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


def catalogue_report(_name: str | None, result: CatalogueResult) -> AnswerReport:
    """Names by family; all of one kind with their main figures; one entry with its sources."""
    kinds = [(kind, list(found)) for kind, found in _grouped(result.entries, "kind")]
    if len(result.entries) == 1:
        sections = [_entry(result.entries[0])]
    elif len(kinds) == 1:
        families = _grouped(result.entries, "family")
        sections = [_section(family, _table(list(found))) for family, found in families]
    else:
        hints = ReportSection(name="", title="", body=("", *map(Note, HINTS)))
        sections = []
        for kind, entries in kinds:
            families = _grouped(entries, "family")
            lines = tuple(
                Fact(label=family, text=", ".join(entry.name for entry in found))
                for family, found in families
            )
            sections.append(_section(f"{PLURALS[kind]} ({len(entries)})", lines))
        sections.append(hints)
    return AnswerReport(kind="Catalogue", title="Known by name", sections=tuple(sections))


HINTS: Final = (
    "foretrain catalogue NAME shows an entry's numbers and their sources;",
    "foretrain catalogue devices, clusters, trainers or models lists the main ones of each;",
    "foretrain catalogue here shows this machine.",
)


def _section(title: str, body: Block) -> ReportSection:
    return ReportSection(name=title.lower().replace(" ", "-"), title=title, body=(body,))


def _grouped(
    entries: Iterable[CatalogueEntry], by: str
) -> Iterator[tuple[str, Iterator[CatalogueEntry]]]:
    """Neighbours that share a kind or a family."""
    return groupby(entries, key=lambda entry: str(getattr(entry, by)))


def _table(entries: list[CatalogueEntry]) -> Table:
    """Name, main figures and summary."""
    shown = SHOWN.get(entries[0].kind, {})

    def first_of(keys: tuple[str, ...]) -> Callable[[CatalogueEntry], str]:
        def first(entry: CatalogueEntry) -> str:
            known = {figure.key: figure.value for figure in entry.figures}
            value = next((known[key] for key in keys if key in known), "")
            if isinstance(value, str):
                return value
            return PARAMETERS.write(value).removesuffix(" parameters")

        return first

    return table(
        entries,
        (Column(name="name"), lambda entry: entry.name),
        *((Column(name=name, number=True), first_of(keys)) for name, keys in shown.items()),
        (Column(name="summary", spare=1), lambda entry: entry.summary),
    )


def _entry(entry: CatalogueEntry) -> ReportSection:
    sources = list(dict.fromkeys(figure.source for figure in entry.figures))
    return ReportSection(
        name=entry.name,
        title=f"{entry.name} ({entry.kind})",
        body=(
            tuple(Fact(label=label, text=text) for label, text in _about(entry) if text),
            "",
            _lines(entry, sources) if entry.kind == "trainer" else _figures(entry, sources),
            "",
            *(Note(f"[{place}] {source}") for place, source in enumerate(sources, start=1)),
        ),
    )


def _lines(entry: CatalogueEntry, sources: list[str]) -> tuple[Fact, ...]:
    """What an entry says in words that need a line, each with the place of its source."""
    return tuple(
        Fact(
            label=figure.key,
            text=f"{figure.value} [{sources.index(figure.source) + 1}]"
            f"{'' if figure.confidence == 'high' else f', confidence {figure.confidence}'}",
        )
        for figure in entry.figures
    )


def _about(entry: CatalogueEntry) -> Iterator[tuple[str, str]]:
    """What an entry says in words, under the labels of its lines."""
    yield "What", entry.summary
    yield "Sample", entry.words.get("sample", "")
    yield "Release", entry.words.get("release", "")
    yield "Date", entry.words.get("date", "")
    yield "Container", entry.words.get("container", "")
    yield "Device", entry.words.get("device", entry.words.get("device.name", ""))
    for place, name in enumerate(_levels(entry)):
        # Technology and shape of a level, and what else is said of its link.
        start = f"levels[{place}].link."
        said = {key.removeprefix(start): text for key, text in entry.words.items()}
        shape = [said[key] for key in ("technology", "kind") if key in said]
        remarks = [text for (key, value), text in REMARKS.items() if said.get(key) == value]
        yield "Levels" if place == 0 else " ", f"{name}: {', '.join(shape + remarks)}"


def _levels(entry: CatalogueEntry) -> list[str]:
    """The names of a cluster's levels, innermost first; nothing for what is no cluster."""
    return [text for key, text in entry.words.items() if LEVEL_NAME.fullmatch(key)]


def _figures(entry: CatalogueEntry, sources: list[str]) -> Table:
    """The numbers, each with the place of its source in the list below."""
    levels = _levels(entry)

    def key(figure: Figure) -> str:
        return LEVEL.sub(lambda found: levels[int(found[1])], figure.key)

    def source(figure: Figure) -> str:
        date = f" of {figure.date}" if figure.date else ""
        return f"[{sources.index(figure.source) + 1}]{date}"

    return table(
        entry.figures,
        (Column(name="key"), key),
        (
            Column(name="value", number=True),
            lambda it: f"{it.value:,}" if isinstance(it.value, int) else it.value,
        ),
        (Column(name="confidence"), lambda figure: figure.confidence),
        (Column(name="source"), source),
    )
