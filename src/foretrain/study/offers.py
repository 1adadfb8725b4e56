"""The section [cluster] of a study that leaves a choice: of clusters, of numbers of nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, Final

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.offer import Offer, offers_of
from foretrain.errors import InputError
from foretrain.study.catalogue import cluster_document, names
from foretrain.study.cluster import cluster_remarks, level_documents, read_cluster
from foretrain.study.keys import Count, LevelDocument, resized, with_nodes
from foretrain.study.own_entries import apart_remark, read_prices
from foretrain.study.plan import Counts
from foretrain.study.problems import Problems, validated
from foretrain.units import as_written

ANY: Final = "any"
"""The name that stands for every cluster of the catalogue, or of a price list beside it."""

MOST_NUMBERS: Final = 2**17
"""Numbers of nodes in a range: a million devices, eight in a node."""

RIVALS: Final = {"price": ("prices",), "prices": ("price", "price_date")}
"""Keys of [cluster] that a key of one of its offers takes the place of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeList:
    """Numbers of nodes one by one, as they are written."""

    nodes: Counts


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRange:
    """Every number of nodes between two, as they are written."""

    least: Count = 1
    most: Count

    def __post_init__(self) -> None:
        if self.least > self.most:
            raise InputError(f"NodeRange.least must not be above most, got {self.least}.")
        if self.most - self.least >= MOST_NUMBERS:
            raise InputError(
                f"NodeRange.most must be below least + {MOST_NUMBERS:,}, got {self.most:,}."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """What may be rented of one cluster.

    Attributes:
        section: what the study says of it.
        offers: its numbers of nodes.
        chosen: whether the study names it; if not, it may be left out.
    """

    section: Mapping[str, Any]
    offers: tuple[Offer, ...]
    chosen: bool

    @property
    def cluster(self) -> Cluster:
        """The cluster with the most nodes."""
        return self.offers[0].cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """One cluster as it is written.

    Attributes:
        section: its keys, those that it shares with others included.
        path: where its own keys stand.
        shared: keys that stand in [cluster] all the same.
        chosen: whether the study names it.
    """

    section: dict[str, Any]
    path: str = "cluster"
    shared: frozenset[str] = frozenset()
    chosen: bool = True

    def place(self, key: str) -> str:
        """Where a key of the section stands in the study."""
        below = key.removeprefix("cluster")
        name = below.lstrip(".").partition(".")[0].partition("[")[0]
        return key if name in self.shared else f"{self.path}{below}"


def read_offers(
    section: dict[str, object], problems: Problems, folder: Path | None = None
) -> tuple[Offered, ...]:
    """What a study may rent; nothing where a mistake, noted in `problems`, hides some of it.

    Args:
        section: what the study says: one name or a list or `any`, one number of nodes or a list or
            a range, or a list of tables `offers` whose keys take the place of those beside it.
        problems: takes what is wrong.
        folder: of the study, where its price list lies; None if the study is not a file.
    """
    found, unsure = [], False
    tables = (
        each for table in _tables(section, problems) for each in _named(table, problems, folder)
    )
    for written in tables:
        own = Problems(problems.where)
        offers = offers_of(_clusters(written, own, folder))
        for key, text in own.found:
            problems.add(written.place(key), text)
        unsure |= written.chosen and (not offers or own.touch("cluster.nodes"))
        if offers:
            found.append(Offered(section=written.section, offers=offers, chosen=written.chosen))
    seen: set[tuple[str, int]] = set()
    for each in found:
        name = each.cluster.name
        pairs = {(name, nodes) for offer in each.offers for nodes in offer.nodes}
        if pairs & seen:
            nodes = min(pairs & seen)[1]
            text = f"{name} with {nodes} nodes is offered twice; an answer could not tell which."
            problems.add("cluster.offers" if "offers" in section else "cluster.name", text)
        seen |= pairs
    if not found and not problems.touch("cluster"):
        problems.add("cluster.nodes", "none of them spread evenly over the levels of any cluster.")
    return () if unsure else tuple(found)


def offer_remarks(found: Sequence[Offered], kept: Sequence[Offered], today: date) -> Iterator[str]:
    """What was assumed of what may be rented, in words.

    Args:
        found: what the study says.
        kept: what of it can answer.
        today: the day of asking, by which prices age.
    """
    several = len({each.cluster.name for each in kept}) > 1
    examples = 0
    for each in kept:
        if each.chosen or each.section.keys() & {"price", "prices"}:
            yield from cluster_remarks(each.section, each.cluster, today, named=several)
        else:
            examples += each.cluster.price is not None
    ages = apart_remark([each.cluster for each in kept], today)
    if ages is not None:
        yield f"cluster.price = {ages}"
    if not all(each.chosen for each in found):
        left = len(found) - len(kept)
        out = f", {left} that cannot answer left out" if left else ""
        prices = f", {examples} at the catalogue's example of a price" if examples else ""
        yield f"cluster.name = {ANY}: one of {len(kept)}{out}{prices}"


def _tables(section: dict[str, Any], problems: Problems) -> Iterator[_Written]:
    """The section once for each of its offers, with their keys in place of its own."""
    if "offers" not in section:
        yield _Written(section=section)
        return
    shared = {key: value for key, value in section.items() if key != "offers"}
    tables = section["offers"]
    if not isinstance(tables, list) or not tables:
        problems.add("cluster.offers", f"{as_written(tables)} is not a list of tables.")
        return
    for place, table in enumerate(tables):
        path = f"cluster.offers[{place}]"
        if problems.table(table, path) is None:
            continue
        replaced = {key for own in table for key in (own, *RIVALS.get(own, ()))}
        kept = {key: value for key, value in shared.items() if key not in replaced}
        yield _Written(section={**kept, **table}, path=path, shared=frozenset(kept))


def _named(table: _Written, problems: Problems, folder: Path | None) -> Iterator[_Written]:
    """A table once for each cluster that its name stands for."""
    name = table.section.get("name")
    chosen = name != ANY
    try:
        listed = name if isinstance(name, list) else [name] if chosen else _any(table, folder)
        if not listed:
            raise InputError("an empty list names no cluster.")
    except InputError as error:
        problems.add(table.place("cluster.name"), str(error))
        return
    for each in listed:
        section = table.section if each is None else {**table.section, "name": each}
        yield replace(table, section=section, chosen=chosen)


def _any(table: _Written, folder: Path | None) -> list[str]:
    """Every cluster of the catalogue; with a price list every one that it prices."""
    known = names()["clusters"]
    path = table.section.get("prices")
    if folder is None or not isinstance(path, str):
        return list(known)
    prices = read_prices(folder / path)
    found = [name for name in known if prices.lists(name, cluster_document(name)["device"]["name"])]
    if not found:
        raise InputError(f"any: {path} prices no cluster of the catalogue.")
    return found


def _clusters(written: _Written, problems: Problems, folder: Path | None) -> tuple[Cluster, ...]:
    """A cluster with each of its numbers of nodes, most first; nothing where a mistake hides it."""
    section = written.section
    single = not isinstance(section.get("nodes"), list | Mapping)
    if single and (written.chosen or "nodes" not in section):
        found = read_cluster(section, problems, folder)
        return () if found is None else (found,)
    sizes = _sizes(written, problems)
    most = read_cluster({**section, "nodes": next(iter(sizes), 1)}, problems, folder)
    if most is None or not sizes:
        return ()
    return (most, *(resized(most, levels) for levels in [*sizes.values()][1:]))


def _sizes(written: _Written, problems: Problems) -> dict[int, Sequence[LevelDocument]]:
    """The levels with each number of nodes, most first.

    Of a range, and of a cluster that the study does not name, numbers that cannot be spread evenly
    over the levels are left out.
    """
    nodes, levels = written.section["nodes"], level_documents(written.section)
    found: dict[int, Sequence[LevelDocument]] = {}
    wrong = []
    for number in _numbers(nodes, problems):
        try:
            found[number] = with_nodes(levels, number)
        except InputError as error:
            wrong.append(str(error))
    if written.chosen and (isinstance(nodes, list) or not found):
        problems.add_all(f"cluster.nodes: {text}" for text in wrong)
    return dict(reversed(found.items()))


def _numbers(nodes: object, problems: Problems) -> Sequence[int]:
    """Numbers of nodes, ascending; none where a mistake hides them."""
    if isinstance(nodes, Mapping):
        ends = validated(NodeRange, nodes, path="cluster.nodes", problems=problems)
        return range(ends.least, ends.most + 1) if ends else ()
    if nodes == []:
        problems.add("cluster.nodes", "an empty list leaves nothing to rent.")
        return ()
    found = validated(NodeList, {"nodes": nodes}, path="cluster", problems=problems)
    return sorted(found.nodes) if found else ()
