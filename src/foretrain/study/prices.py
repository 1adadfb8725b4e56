"""Price lists of the user's own: dollars per device and hour, each with the day it was so.

A list has a table for each device or cluster, such as `[devices.h100-sxm]` or `[clusters.lab]`,
with `price = "2.10 USD/h"` and `date = 2026-10-01`.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from foretrain.cluster.cluster import Cluster
from foretrain.errors import InputError
from foretrain.study.catalogue import find
from foretrain.study.documents import read_toml
from foretrain.study.problems import Problems, unknown_key, validated
from foretrain.units import DOLLARS_PER_SECOND, as_written

KINDS: Final = ("devices", "clusters")
MOST_DAYS: Final = 180
"""Days after which a price should be looked up again: providers change theirs now and then."""


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
        if key not in KINDS:
            problems.add(key, unknown_key(key, KINDS))
    devices, clusters = (dict(_prices(document, kind, problems)) for kind in KINDS)
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
