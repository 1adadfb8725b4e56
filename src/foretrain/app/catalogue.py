"""What `catalogue` answers, what is known, and what users bring of their own under a name.

register: bring policies, collectives, devices and clusters of one's own under a name.

Sizes: the numbers that a model of the library is made of, each told once.

Catalogue: what studies may name, and where each number comes from.

The report of `catalogue`: what foretrain knows by name, and who says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeGuard

from foretrain import plugins
from foretrain.errors import InputError, nearest
from foretrain.jobs.policies.policy import own_policy
from foretrain.show.report import AnswerReport, Block, Note, ReportSection
from foretrain.show.table import Column, Fact, Table, table
from foretrain.step.collectives.group import own_algorithm
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
from foretrain.study.own_entries import register_entries
from foretrain.units import PARAMETERS
from foretrain.workload.graph import Model
from foretrain.workload.library import entries as library
from foretrain.workload.library.entries import Entry, SampleKind
from foretrain.workload.parts.feed_forward import Experts
from foretrain.workload.parts.mixers import StateSpace

NONE: Mapping[str, object] = MappingProxyType({})


def register(
    *,
    policies: Mapping[str, object] = NONE,
    collectives: Mapping[str, object] = NONE,
    catalogue: Path | str | None = None,
) -> None:
    """Give what is your own names that studies may use, for as long as the process lives.

    Args:
        policies: scheduling policies: an `Ordering`, a function of a `ClusterState` or a class of
            such functions, of which every run gets another one.
        collectives: algorithms: functions of a `Group` that return a `Line` of seconds.
        catalogue: a folder with devices/*.toml and clusters/*.toml.

    Raises:
        InputError: a name is taken, a thing is not what it should be, or a file has problems.
    """
    plugins.register(plugins.POLICY, policies)
    for name in policies:
        own_policy(name)
    plugins.register(plugins.COLLECTIVE, collectives)
    for name in collectives:
        own_algorithm(name)
    if catalogue is not None:
        register_entries(catalogue)


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
            _lines(entry, sources) if entry.kind == "trainer" else _numbers(entry, sources),
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


def _numbers(entry: CatalogueEntry, sources: list[str]) -> Table:
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
