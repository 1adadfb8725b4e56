"""What users bring beside the catalogue: entries and price lists.

A folder of one's own devices, clusters and trainers: TOML entries beside the catalogue's.

`devices/*.toml`, `clusters/*.toml` and `trainers/*.toml` hold entries like ours: `[our-node]` and
the keys below it that a study would write; a number may be a table of its value, source and
confidence, an entry may be `like` another one and say what differs.

Price lists of the user's own: dollars per device and hour, each with the day it was so.

A list has a table for each device or cluster, such as `[devices.h100-sxm]` or `[clusters.lab]`,
with `price = "2.10 USD/h"` and `date = 2026-10-01`.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

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
from foretrain.study.problems import Problems, unknown_key, validated
from foretrain.study.trainers import trainer_from
from foretrain.units import DOLLARS_PER_SECOND, as_written

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


PRICED: Final = ("devices", "clusters")
MOST_DAYS: Final = 180
"""Days after which a price should be looked up again: providers change theirs now and then."""
MOST_APART: Final = 30
"""Days that may lie between two prices that are compared."""


def day(text: str) -> datetime.date:
    """The day that a text such as 2026-11-21 names.

    Raises:
        InputError: it names none.
    """
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise InputError(
            f"{as_written(text)} is not a day; write for example 2026-11-21."
        ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What one device costs.

    Attributes:
        price: dollars per second.
        date: when it was so.
    """

    price: Annotated[float, DOLLARS_PER_SECOND]
    date: datetime.date


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceList:
    """What devices cost, on a kind of cluster or wherever they are.

    Attributes:
        devices: by name of the device.
        clusters: by name of the cluster; they go before.
    """

    devices: Mapping[str, Price]
    clusters: Mapping[str, Price]

    def lists(self, cluster: str, device: str) -> bool:
        """Whether it has the price of a cluster or of its device."""
        return cluster in self.clusters or device in self.devices

    def of(self, cluster: str, device: str) -> Price:
        """The price on a cluster, or else of its device.

        Raises:
            InputError: the list has neither.
        """
        found = self.clusters.get(cluster) or self.devices.get(device)
        if found is None:
            raise InputError(
                f"the list has neither [clusters.{cluster}] nor [devices.{device}]; add one of the "
                "two."
            )
        return found


def read_prices(path: Path) -> PriceList:
    """The price list in a TOML file.

    Raises:
        InputError: with every problem of the file.
    """
    problems = Problems(str(path))
    document = read_toml(path, problems)
    for key in document:
        if key not in PRICED:
            problems.add(key, unknown_key(key, PRICED))
    devices, clusters = (dict(_prices(document, kind, problems)) for kind in PRICED)
    problems.check()
    return PriceList(devices=devices, clusters=clusters)


def _prices(
    document: Mapping[str, object], kind: str, problems: Problems
) -> Iterator[tuple[str, Price]]:
    """The prices of one kind, under the names that the catalogue has for them."""
    listed = document.get(kind, {})
    if not isinstance(listed, Mapping):
        problems.add(kind, f"{as_written(listed)} is not a table of names and prices.")
        return
    for name, item in listed.items():
        place = f"{kind}.{name}"
        if not isinstance(item, Mapping):
            problems.add(place, f"{as_written(item)} is not a table of price and date.")
            continue
        price = validated(Price, item, path=place, problems=problems)
        if price is not None:
            # The catalogue's name, or the user's own of what the catalogue does not have.
            try:
                yield find(kind, name), price
            except InputError:
                yield name, price


def price_remark(
    cluster: Cluster, section: Mapping[str, object], today: datetime.date
) -> str | None:
    """A price and what the reader should know of it; None for a fresh one of theirs.

    Args:
        cluster: with its price.
        section: what the study says of the cluster.
        today: the day of asking.
    """
    if cluster.price is None:
        return None
    own = "price" in section or "prices" in section
    since = None if cluster.price_date is None else day(cluster.price_date)
    days = 0 if since is None else (today - since).days
    if own and 0 <= days <= MOST_DAYS:
        return None
    whose = "yours" if own else "the catalogue's example"
    month = "" if since is None else f" of {since:%Y-%m}"
    age = f", {days} days old: look it up again" if days > MOST_DAYS else ""
    age = ", a day to come: correct its date" if days < 0 else age
    return f"{DOLLARS_PER_SECOND.write(cluster.price)} per device ({whose}{month}{age})"


def apart_remark(clusters: Sequence[Cluster], today: datetime.date) -> str | None:
    """That prices which an answer compares are of different ages; None where they are not.

    Args:
        clusters: what may be rented; a price without a day is taken to be of today.
        today: the day of asking.
    """
    days = {
        cluster.name: today if cluster.price_date is None else day(cluster.price_date)
        for cluster in clusters
        if cluster.price is not None
    }
    if not days:
        return None
    old, new = min(days, key=lambda name: days[name]), max(days, key=lambda name: days[name])
    apart = (days[new] - days[old]).days
    if apart <= MOST_APART:
        return None
    told = f"{old}'s of {days[old]:%Y-%m}, {new}'s of {days[new]:%Y-%m}"
    return f"{apart} days between them ({told}): bring them to one day before you compare costs"
