"""The catalogue: devices and clusters that foretrain knows by name, with a source per number.

An entry is a TOML file of `cluster/catalogue` that looks like the description a user would write,
but each number is a table of its value, source and confidence (and date, where it ages).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, TypeGuard, TypeVar

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.device import Device
from foretrain.errors import InputError, nearest
from foretrain.files.problems import Problems, validated, written
from foretrain.results.catalogue import Figure

Noun = TypeVar("Noun")
ABOUT = ("summary", "aliases", "sources")


def names() -> Mapping[str, tuple[str, ...]]:
    """The names of all entries, by kind: devices and clusters."""
    return {kind: tuple(_entries(kind)) for kind in ("devices", "clusters")}


def device(name: str) -> Device:
    """A device by its name or by another spelling of it ("A100 SXM 80GB").

    Raises:
        InputError: if the catalogue has no such device.
    """
    return _noun(Device, device_document(name))


def cluster(name: str, nodes: int) -> Cluster:
    """A cluster of the catalogue with some number of nodes.

    Raises:
        InputError: if the catalogue has no such cluster, or nodes is below 1.
    """
    if not nodes >= 1:
        raise InputError(f"cluster '{name}': nodes must be at least 1, got {nodes}.")
    return _noun(Cluster, cluster_document(name, nodes))


def device_document(name: str) -> dict[str, Any]:
    """A device as a user would describe it in a study."""
    found = find("devices", name)
    return {"name": found, **_plain(_entries("devices")[found])}


def cluster_document(name: str, nodes: int) -> dict[str, Any]:
    """A cluster as a user would describe it in a study."""
    found = find("clusters", name)
    described = _plain(_entries("clusters")[found])
    described["levels"][-1]["members"] = nodes
    return {"name": found, **described, "device": device_document(described["device"])}


def find(kind: str, name: str) -> str:
    """The name under which the catalogue has what a user calls `name`.

    Args:
        kind: devices or clusters.
        name: a name or an alias; capitals, blanks and underscores do not matter.

    Raises:
        InputError: with the nearest name.
    """
    spelled = _spelled(name)
    known = {other: entry for entry in _entries(kind) for other in (entry, *_aliases(kind, entry))}
    if spelled not in known:
        raise InputError(
            f"unknown {kind.removesuffix('s')} '{name}'.{nearest(spelled, known)} "
            f"Known: {', '.join(_entries(kind))}."
        )
    return known[spelled]


def summary(kind: str, name: str) -> str:
    """One line about an entry."""
    return str(_entries(kind)[find(kind, name)]["summary"])


def figures(kind: str, name: str) -> tuple[Figure, ...]:
    """Every number of an entry with its source."""
    entry = _entries(kind)[find(kind, name)]
    return tuple(_figures(entry, (), entry["sources"]))


@cache
def _entries(kind: str) -> Mapping[str, dict[str, Any]]:
    """The packaged files of one kind, by name."""
    folder = files("foretrain") / "cluster" / "catalogue" / kind
    found = sorted(folder.iterdir(), key=lambda file: file.name)
    return {
        file.name.removesuffix(".toml"): tomllib.loads(file.read_text("utf-8"))
        for file in found
        if file.name.endswith(".toml")
    }


def _aliases(kind: str, entry: str) -> Iterator[str]:
    return map(_spelled, _entries(kind)[entry].get("aliases", ()))


def _spelled(name: str) -> str:
    return "-".join(name.strip().lower().replace("_", " ").replace("-", " ").split())


def _is_figure(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict) and "value" in value


def _plain(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry with the values of its numbers alone."""
    return {key: _value(value) for key, value in entry.items() if key not in ABOUT}


def _value(value: object) -> object:
    if isinstance(value, list):
        return [_value(item) for item in value]
    if isinstance(value, dict):
        return value["value"] if _is_figure(value) else _plain(value)
    return value


def _figures(
    value: object, path: tuple[str | int, ...], sources: Mapping[str, str]
) -> Iterator[Figure]:
    """The figures below a value, in the order of the file."""
    if _is_figure(value):
        yield Figure(
            key=written(path),
            value=value["value"],
            source=sources[value["source"]],
            confidence=value["confidence"],
            date=value.get("date"),
        )
    elif isinstance(value, dict | list):
        pairs = enumerate(value) if isinstance(value, list) else value.items()
        for key, item in pairs:
            yield from _figures(item, (*path, key), sources)


def _noun(kind: type[Noun], document: Mapping[str, Any]) -> Noun:
    """The noun of a catalogue entry; a fault in it would be ours."""
    problems = Problems(f"catalogue entry {document['name']}")
    noun = validated(kind, document, path="", problems=problems)
    problems.check()
    assert noun is not None
    return noun
