"""A folder of one's own devices, clusters and trainers: TOML entries beside the catalogue's.

`devices/*.toml`, `clusters/*.toml` and `trainers/*.toml` hold entries like ours: `[our-node]` and
the keys below it that a study would write; a number may be a table of its value, source and
confidence, an entry may be `like` another one and say what differs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.device import Device
from foretrain.errors import InputError
from foretrain.study.catalogue import (
    Entries,
    Entry,
    beside,
    completed,
    device_document,
    entries,
    find,
    knows,
    plain,
    register,
)
from foretrain.study.documents import read_toml
from foretrain.study.keys import with_nodes
from foretrain.study.problems import Problems, validated
from foretrain.study.trainers import trainer_from
from foretrain.units import as_written

KEY: Final = "catalogue"
"""What a study calls the folder."""

KINDS: Final = ("devices", "clusters", "trainers")


def register_entries(folder: Path | str) -> None:
    """Add a folder of devices, clusters and trainers, for as long as the process lives.

    Raises:
        InputError: with every problem of its files.
    """
    problems = Problems(str(folder))
    found = _read(Path(folder), problems)
    problems.check()
    register(found)


@contextmanager
def with_entries(
    document: Mapping[str, Any], problems: Problems, folder: Path | None
) -> Iterator[dict[str, Any]]:
    """A study without the folder that it names, while the folder's entries are known.

    Args:
        document: the study.
        problems: takes what is wrong with the folder.
        folder: of the study; None if it is not a file.
    """
    rest = {key: value for key, value in document.items() if key != KEY}
    if KEY not in document:
        yield rest
        return
    named = document[KEY]
    if not isinstance(named, str) or folder is None:
        told = "is the name of a folder beside a study that is a file itself."
        problems.add(KEY, f"{as_written(named)} {told}")
        yield rest
        return
    own = Problems("")
    found = _read(folder / named, own)
    for key, text in own.found:
        problems.add(KEY, f"{key}: {text}" if key else text)
    with beside(found):
        yield rest


def _read(folder: Path, problems: Problems) -> Entries:
    """The entries of a folder that can be used; what is wrong with the others is noted."""
    files = [(kind, file) for kind in KINDS for file in sorted((folder / kind).glob("*.toml"))]
    if not files:
        problems.add("", f"{folder} has no devices/*.toml, clusters/*.toml or trainers/*.toml.")
    found: dict[str, dict[str, Entry]] = {kind: {} for kind in KINDS}
    with beside(found):
        for kind, file in files:
            own = Problems("")
            document = read_toml(file, own)
            title, sources = document.pop("family", file.stem), document.pop("sources", {})
            if not (isinstance(sources, dict) and _are_texts([*sources.values()])):
                own.add("sources", 'is not a table of texts; write sheet = "whose figures".')
                sources = {}
            for name, entry in document.items():
                if not isinstance(entry, dict):
                    own.add(name, "is not a table; write [my-entry] and its keys below.")
                elif not _are_texts(entry.get("aliases", [])):
                    own.add(f"{name}.aliases", 'is not a list of names; write ["other-name"].')
                else:
                    written = {key: _sourced(each, sources) for key, each in entry.items()}
                    about = {"family": title, "summary": "", **written}
                    _add(kind, name, about, found=found[kind], problems=own)
            for key, text in own.found:
                problems.add(f"{file.relative_to(folder)}: {key}", text)
    return found


def _sourced(value: object, sources: Mapping[str, str]) -> object:
    """The same with the sources of numbers written out; who gives none is the source."""
    if isinstance(value, list):
        return [_sourced(each, sources) for each in value]
    if not isinstance(value, dict):
        return value
    if "value" not in value:
        return {key: _sourced(each, sources) for key, each in value.items()}
    source = str(value.get("source", "the user"))
    return {"confidence": "high", **value, "source": sources.get(source, source)}


def _are_texts(values: object) -> bool:
    return isinstance(values, list) and all(isinstance(each, str) for each in values)


def _add(
    kind: str, name: str, entry: Entry, *, found: dict[str, Entry], problems: Problems
) -> None:
    """Add an entry that describes what it is to describe; what is wrong with another is noted."""
    before = len(problems.found)
    try:
        if knows(kind, name):
            raise InputError("is in the catalogue already; take another name.")
        if "like" in entry:
            like = find(kind, str(entry["like"]))
            entry = completed({**entry, "like": like}, entries(kind))
        document = {"name": name, **plain(entry)}
        if kind == "trainers":
            trainer_from(name, entry)
        elif kind == "devices":
            validated(Device, document, path=name, problems=problems)
        else:
            # One node of it: a study says how many there are.
            document["device"] = device_document(str(document.get("device")))
            levels = document.get("levels")
            # What is no list of tables is told below.
            if levels and isinstance(levels, list) and all(isinstance(it, dict) for it in levels):
                document["levels"] = with_nodes(levels, 1)
            validated(Cluster, document, path=name, problems=problems)
    except InputError as error:
        problems.add(name, str(error))
    if len(problems.found) == before:
        found[name] = entry
