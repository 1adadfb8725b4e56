"""The catalogue, and what is answered of it.

What `catalogue` answers: what foretrain knows by name, and from whom it knows it.

The catalogue: devices, clusters and trainers that foretrain knows by name, with their sources.

A file of a catalogue folder holds a family of entries and the sources they share. An entry looks
like the description a user would write, but each number is a table of its value, source and
confidence (and date, where it ages). An entry that is `like` another one says what differs; of a
trainer's tables (`NESTED`), key by key.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import dropwhile
from types import MappingProxyType
from typing import Any, TypeGuard, TypeVar

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.device import Device
from foretrain.errors import InputError, nearest
from foretrain.study.keys import with_nodes
from foretrain.study.problems import Problems, validated, written


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One number of an entry.

    Attributes:
        key: where it stands in the description.
        value: as written, with its unit.
        source: who says so.
        confidence: high, medium or low.
        date: when it was so, for what changes (prices); None for what does not.
    """

    key: str
    value: str | int | float | bool
    source: str
    confidence: str
    date: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueEntry:
    """One thing that studies may name.

    Attributes:
        name: catalogue name.
        kind: device, cluster, trainer or model.
        family: what it stands among, such as "NVIDIA Hopper".
        summary: one line for people.
        words: what is said of it in words, such as its device and the names of its levels, by key.
        figures: every number with its source.
    """

    name: str
    kind: str
    family: str
    summary: str
    words: Mapping[str, str]
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueResult:
    """Everything, all of one kind, or the one entry that was asked for."""

    entries: tuple[CatalogueEntry, ...]


Noun = TypeVar("Noun")
Entry = dict[str, Any]
ABOUT = ("family", "summary", "aliases", "like")
OWN = (*ABOUT, "price")
DIALECT = ("launch", "flags", "unset", "unread", "ignored")
"""Tables of a trainer that another family has no use for."""
NESTED = ("can", "options", "habits", *DIALECT)
"""Tables of which an entry that is like another one keeps the keys that it does not write."""

FOLDERS: Mapping[str, str] = MappingProxyType(
    {
        "devices": "cluster/catalogue/devices",
        "clusters": "cluster/catalogue/clusters",
        "trainers": "trainers/catalogue",
    }
)
"""Where the entries of each kind lie."""

UNSURE = "from memory"
"""A source that says so is less to be trusted."""

MAKERS = frozenset({"nvidia", "amd", "instinct", "tesla", "geforce"})
"""What drivers and PyTorch put before the name of a device; it tells none from another."""


def names() -> Mapping[str, tuple[str, ...]]:
    """The names of all entries, by kind: devices, clusters and trainers."""
    return {kind: tuple(entries(kind)) for kind in FOLDERS}


def device(name: str) -> Device:
    """A device by its name or by another spelling of it ("A100 SXM 80GB").

    Raises:
        InputError: if the catalogue has no such device.
    """
    return _noun(Device, device_document(name))


def cluster(name: str, nodes: int) -> Cluster:
    """A cluster of the catalogue with some number of nodes.

    Raises:
        InputError: if the catalogue has no such cluster, nodes is below 1, or they cannot be spread
            evenly over its levels.
    """
    if not nodes >= 1:
        raise InputError(f"cluster '{name}': nodes must be at least 1, got {nodes}.")
    document = cluster_document(name)
    try:
        levels = with_nodes(document["levels"], nodes)
    except InputError as error:
        raise InputError(f"cluster '{document['name']}': {error}") from None
    return _noun(Cluster, {**document, "levels": levels})


def device_document(name: str) -> dict[str, Any]:
    """A device as a user would describe it in a study."""
    found = find("devices", name)
    return {"name": found, **plain(entries("devices")[found])}


def cluster_document(name: str) -> dict[str, Any]:
    """A cluster as a user would describe it in a study, before `nodes` fills its levels."""
    found = find("clusters", name)
    entry = entries("clusters")[found]
    described = {**plain(entry), "device": device_document(entry["device"])}
    if _is_figure(entry.get("price")) and "date" in entry["price"]:
        described["price_date"] = first_day(entry["price"]["date"])
    return {"name": found, **described}


def first_day(month: str) -> str:
    """The day since which a price of the catalogue has held: "2025-06" is 2025-06-01."""
    return f"{month}-01"


def find(kind: str, name: str) -> str:
    """The name under which the catalogue has what a user calls `name`.

    Args:
        kind: devices, clusters or trainers.
        name: a name or an alias; capitals, blanks and underscores do not matter, nor who made a
            device ("NVIDIA A100-SXM4-80GB", as a driver has it).

    Raises:
        InputError: with the nearest name.
    """
    spelled, known = _spelled(name), _spellings(kind)
    if spelled not in known:
        raise InputError(
            f"unknown {kind.removesuffix('s')} '{name}'.{nearest(spelled, known)} "
            f"'foretrain catalogue' lists all {len(entries(kind))}."
        )
    return known[spelled]


def knows(kind: str, name: str) -> bool:
    """Whether an entry of the catalogue is called so, in any spelling."""
    return _spelled(name) in _spellings(kind)


def _spellings(kind: str) -> Mapping[str, str]:
    """The entry of each name and alias."""
    return {other: entry for entry in entries(kind) for other in spellings(kind, entry)}


def spellings(kind: str, entry: str) -> Iterator[str]:
    """What an entry may be called, in lower case with hyphens."""
    return map(_spelled, (entry, *entries(kind)[entry].get("aliases", ())))


def summary(kind: str, name: str) -> str:
    """One line about an entry."""
    return str(entries(kind)[find(kind, name)]["summary"])


def family(kind: str, name: str) -> str:
    """What the file of an entry holds, such as "NVIDIA Hopper"."""
    return str(entries(kind)[find(kind, name)]["family"])


def figures(kind: str, name: str) -> tuple[Figure, ...]:
    """Every number of an entry with its source."""
    return tuple(_figures(entries(kind)[find(kind, name)], ()))


def words(kind: str, name: str) -> dict[str, str]:
    """What an entry says in words: its device, and the name and the technology of each level."""
    entry = entries(kind)[find(kind, name)]
    plain = {key: value for key, value in entry.items() if key not in ABOUT}
    return {key: str(value) for key, value in leaves(plain)}


def leaves(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str, str | int]]:
    """Every text and number below a value, with its key; figures have sources and are left out."""
    if isinstance(value, bool):
        yield written(path), "yes" if value else "no"
    elif isinstance(value, str | int):
        yield written(path), value
    elif isinstance(value, dict | list) and not _is_figure(value):
        for key, item in _inside(value):
            yield from leaves(item, (*path, key))


Entries = Mapping[str, Mapping[str, Entry]]
"""Entries by kind and name."""

_REGISTERED: dict[str, Mapping[str, Entry]] = {}
_BESIDE: ContextVar[Entries] = ContextVar("entries beside a study", default=MappingProxyType({}))


def register(added: Entries) -> None:
    """Add entries of a user's own, for as long as the process lives."""
    for kind, found in added.items():
        _REGISTERED[kind] = {**_REGISTERED.get(kind, {}), **found}


@contextmanager
def beside(added: Entries) -> Iterator[None]:
    """Add entries of a user's own, while a study is read that names them."""
    token = _BESIDE.set(added)
    try:
        yield
    finally:
        _BESIDE.reset(token)


def entries(kind: str) -> Mapping[str, Entry]:
    """All entries of one kind, by name, the user's last."""
    registered, near = _REGISTERED.get(kind, {}), _BESIDE.get().get(kind, {})
    return {**shipped(kind), **registered, **near} if registered or near else shipped(kind)


@cache
def shipped(kind: str) -> Mapping[str, Entry]:
    """Those that come with foretrain, what is like another one completed."""
    folder = files("foretrain").joinpath(*FOLDERS[kind].split("/"))
    found: dict[str, Entry] = {}
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.name.endswith(".toml"):
            document = tomllib.loads(file.read_text("utf-8"))
            title, sources = document.pop("family"), document.pop("sources")
            for name, entry in document.items():
                _write_sources(entry, sources)
                found[name] = {"family": title, **entry}
    return {name: completed(entry, found) for name, entry in found.items()}


def _write_sources(value: object, sources: Mapping[str, str]) -> None:
    """Put the source of each figure below a value in the place of the source's key."""
    if isinstance(value, dict) and "source" in value:
        value["source"] = sources[value["source"]]
        value.setdefault("confidence", "low" if UNSURE in value["source"] else "high")
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            _write_sources(item, sources)


def completed(entry: Entry, others: Mapping[str, Entry]) -> Entry:
    """An entry with what it leaves to the one it is like; a price is always an entry's own."""
    if "like" not in entry:
        return entry
    model = completed(others[entry["like"]], others)
    if entry.get("family", model["family"]) != model["family"]:
        model = {key: value for key, value in model.items() if key not in DIALECT}
    nested = {
        key: {**model.get(key, {}), **entry.get(key, {})}
        for key in NESTED
        if key in model or key in entry
    }
    return {**{key: value for key, value in model.items() if key not in OWN}, **entry, **nested}


def _spelled(name: str) -> str:
    words = name.lower().replace("_", " ").replace("-", " ").split()
    return "-".join(dropwhile(MAKERS.__contains__, words))


def _is_figure(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict) and "value" in value


def plain(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry with the values of its numbers alone."""
    return {key: _value(value) for key, value in entry.items() if key not in ABOUT}


def _value(value: object) -> object:
    if isinstance(value, list):
        return [_value(item) for item in value]
    if isinstance(value, dict):
        return value["value"] if _is_figure(value) else plain(value)
    return value


def _figures(value: object, path: tuple[str | int, ...]) -> Iterator[Figure]:
    """The figures below a value, in the order of the file."""
    if _is_figure(value):
        yield Figure(
            key=written(path),
            value=_said(value),
            source=value["source"],
            confidence=value["confidence"],
            date=value.get("date"),
        )
    elif isinstance(value, dict | list):
        for key, item in _inside(value):
            yield from _figures(item, (*path, key))


def _said(figure: Mapping[str, Any]) -> str | int:
    """The value of a figure, and of what it holds where it does not hold of everything."""
    value: str | int | list[str] = figure["value"]
    told = ", ".join(map(str, value)) if isinstance(value, list) else value
    if where := figure.get("where"):
        given = ", ".join(f"{name} {text}" for name, text in where.items())
        return f"{told} ({given})"
    return told


def _inside(value: dict[str, Any] | list[Any]) -> Iterable[tuple[str | int, Any]]:
    return enumerate(value) if isinstance(value, list) else value.items()


def _noun(kind: type[Noun], document: Mapping[str, Any]) -> Noun:
    """The noun of a catalogue entry; a fault in it would be ours."""
    problems = Problems(f"catalogue entry {document['name']}")
    noun = validated(kind, document, path="", problems=problems)
    problems.check()
    assert noun is not None
    return noun
