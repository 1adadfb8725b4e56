"""The section [cluster] of a study: an entry of the catalogue, a description, or a mix of both.

The key `groups` of the section [cluster]: two clusters whose devices train together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, Final

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.device import Link
from foretrain.cluster.mixed import Mixed
from foretrain.errors import InputError, nearest
from foretrain.plugins import imported
from foretrain.study.catalogue import cluster_document, device_document, names
from foretrain.study.here import NAME as HERE
from foretrain.study.here import here, remark
from foretrain.study.keys import LevelDocument, alone, count, with_nodes
from foretrain.study.own_entries import day, price_remark, read_prices
from foretrain.study.problems import Problems, unknown_key, validated
from foretrain.units import as_written

SUBSTITUTE: Final = "dgx-a100"
NAME_MISSING: Final = (
    "is missing. Name one that 'foretrain catalogue' lists, such as dgx-h100, or describe a "
    "cluster with device and levels."
)
NODES_MISSING: Final = "is missing. Write how many nodes, for example nodes = 64."
LEVELS_MISSING: Final = (
    "is missing. Describe [[cluster.levels]], or name a cluster of the catalogue. One device alone"
    " has no links: nodes = 1 and no name."
)


def read_cluster(
    section: dict[str, object], problems: Problems, folder: Path | None = None
) -> Cluster | None:
    """The cluster of a study; None where a mistake, noted in `problems`, hides it.

    A catalogue entry is a description that the study's own keys replace key by key.

    Args:
        section: what the study says.
        problems: takes what is wrong.
        folder: of the study, where its price list lies; None if the study is not a file.
    """
    written = {key: value for key, value in section.items() if key not in {"nodes", "prices"}}
    document = {**_base(section, problems), **written}
    if "price" in written:
        document["price_date"] = written.get("price_date")
    document["levels"] = _levels(document.get("levels"), section, problems)
    document["device"] = _device(document.get("device"), problems)
    if "prices" in section:
        document |= _price(section, document, problems=problems, folder=folder)
    if "collectives" in section:
        document["collectives"] = _collectives(section["collectives"], problems, folder)
    document = {key: value for key, value in document.items() if value is not None}
    taken = ("nodes", "prices")
    found = validated(Cluster, document, path="cluster", problems=problems, taken=taken)
    if found and found.price_date is not None:
        with problems.noting("cluster.price_date"):
            day(found.price_date)
    if found is None or any(problems.touch(f"cluster.{it}") for it in ("name", "nodes", "levels")):
        return None
    devices, host = found.device.power, found.power.host
    if found.node_power is not None or devices is None or host is None:
        return found
    # The devices' power and the host's share say that of a node.
    return replace(found, node_power=found.node_devices * devices / (1 - host))


COLLECTIVES: Final = ("all-reduce", "all-gather", "all-to-all", "dispatch", "broadcast")
"""What an algorithm of one's own may do; an all-gather is a reduce-scatter too."""


def _collectives(
    written: object, problems: Problems, folder: Path | None
) -> tuple[tuple[str, str], ...]:
    """The algorithms of one's own that a study names."""
    if not isinstance(written, Mapping):
        told = 'is no table; write { all-reduce = "my_module:my_algorithm" }.'
        problems.add("cluster.collectives", told)
        return ()
    for kind, name in written.items():
        path = f"cluster.collectives.{kind}"
        if kind not in COLLECTIVES:
            problems.add(path, unknown_key(kind, COLLECTIVES))
        elif not isinstance(name, str):
            problems.add(
                path, f"{as_written(name)} is not a text such as 'my_module:my_algorithm'."
            )
        elif ":" in name:
            with problems.noting(path):
                imported(name, folder=str(folder.resolve()) if folder else "")
    return tuple((kind, name) for kind, name in written.items() if isinstance(name, str))


def cluster_remarks(
    section: Mapping[str, object], cluster: Cluster, today: date, *, named: bool = False
) -> Iterator[str]:
    """What was assumed of a cluster, in words.

    Args:
        section: what the study says.
        cluster: what it became.
        today: the day of asking, by which prices age.
        named: whether to tell it from others.
    """
    if section.get("name") == HERE:
        yield remark(cluster)
    price = price_remark(cluster, section, today)
    if price is not None:
        of = f" of {cluster.name}" if named else ""
        yield f"cluster.price{of} = {price}"


def _base(section: dict[str, object], problems: Problems) -> dict[str, Any]:
    """What the catalogue or this machine says, where the study names one of them."""
    name = section.get("name")
    try:
        if name == HERE:
            return here()
        if isinstance(name, str):
            return cluster_document(name)
    except InputError as error:
        described = {"levels"} if name == HERE else {"device", "levels"}
        if not section.keys() & described:
            problems.add("cluster.name", str(error))
            return cluster_document(SUBSTITUTE)
    return _described(section, problems)


def _described(section: Mapping[str, object], problems: Problems) -> dict[str, Any]:
    """What a cluster starts from that is no entry of the catalogue."""
    name = section.get("name")
    if "levels" in section:
        return {"name": "inline"}
    # Whether a device is asked for that has no other to reach.
    if "device" in section and "name" not in section and section.get("nodes") == 1:
        return {"name": "one device", "levels": alone()}
    if "device" in section:
        near = nearest(str(name), names()["clusters"])
        problems.add("cluster.levels", f"{LEVELS_MISSING}{near}")
    elif name is None:
        problems.add("cluster.name", NAME_MISSING)
    return cluster_document(SUBSTITUTE)


def level_documents(section: dict[str, object]) -> Sequence[LevelDocument]:
    """The levels of a cluster as they are written, before nodes fill them.

    What cannot be read stands for one level: reading the cluster tells what is wrong.
    """
    levels = {**_base(section, Problems("")), **section}.get("levels")
    readable = isinstance(levels, list) and all(isinstance(level, dict) for level in levels)
    return levels if readable and levels else [{}]


def _levels(levels: object, section: dict[str, object], problems: Problems) -> object:
    """The levels, filled with the number of nodes."""
    inline, ours = "levels" in section, section.get("name") == HERE
    if not isinstance(levels, list) or not all(isinstance(level, dict) for level in levels):
        return levels
    if not levels or ((inline or ours) and "nodes" not in section):
        return levels
    if ours and not inline:
        if _nodes(section, problems) != 1:
            problems.add("cluster.nodes", "this machine is one node; leave the key out.")
        return levels
    if inline and "members" in levels[-1]:
        problems.add("cluster.nodes", "the last level has members too; write one of the two.")
        return levels
    with problems.noting("cluster.nodes"):
        return with_nodes(levels, _nodes(section, problems))
    return with_nodes(levels, 1)


def _nodes(section: dict[str, object], problems: Problems) -> int:
    if "nodes" in section:
        with problems.noting("cluster.nodes"):
            return count(section["nodes"])
    elif not problems.touch("cluster.levels"):
        problems.add("cluster.nodes", NODES_MISSING)
    return 1


def _device(device: object, problems: Problems) -> object:
    """The description of a device that is named; one that is described in full as it is."""
    if isinstance(device, dict):
        return {"name": "inline", **device}
    if not isinstance(device, str):
        return device
    with problems.noting("cluster.device"):
        return device_document(device)
    return device_document(names()["devices"][0])


def _price(
    section: Mapping[str, object],
    document: Mapping[str, Any],
    *,
    problems: Problems,
    folder: Path | None,
) -> dict[str, object]:
    """The price in the user's list, with its date; nothing where a mistake hides it."""
    path, device = section["prices"], document["device"]
    with problems.noting("cluster.prices"):
        if "price" in section:
            raise InputError("the study has a price too; write one of the two.")
        if folder is None or not isinstance(path, str):
            raise InputError("is the name of a price list beside a study that is a file itself.")
        known = device.get("name") if isinstance(device, dict) else device
        found = read_prices(folder / path).of(str(document.get("name")), str(known))
        return {"price": f"{found.price} USD/s", "price_date": found.date}
    return {}


KEY: Final = "groups"
BESIDE: Final = ("name", KEY, "link")
NOT_TWO: Final = (
    "groups; foretrain prices two kinds of devices together. Write two, each with name and nodes, "
    "or one cluster without groups."
)


def read_mixed(
    section: Mapping[str, object], problems: Problems, folder: Path | None = None
) -> Mixed | None:
    """Both clusters of a study; None where a mistake, noted in `problems`, hides one.

    Args:
        section: what the study says: `groups`, two tables that each describe a cluster, and if one
            likes the `link` between them.
        problems: takes what is wrong.
        folder: of the study, where price lists lie; None if the study is not a file.
    """
    before = len(problems.found)
    for key in section.keys() - {*BESIDE}:
        problems.add(f"cluster.{key}", "stands beside groups; write it in each of them.")
    groups = section[KEY]
    if not isinstance(groups, list):
        problems.add(f"cluster.{KEY}", f"{as_written(groups)} is not a list of two tables.")
        groups = []
    elif len(groups) != 2:
        problems.add(f"cluster.{KEY}", f"{len(groups)} {NOT_TWO}")
        groups = []
    kinds = [
        _kind(table, f"cluster.{KEY}[{place}]", problems, folder=folder)
        for place, table in enumerate(groups)
    ]
    link, between = None, section.get("link")
    described = None if between is None else problems.table(between, "cluster.link")
    if described is not None:
        link = validated(Link, described, path="cluster.link", problems=problems)
    if len(problems.found) > before:
        return None
    first, second = (kind for kind in kinds if kind is not None)
    name = section.get("name", f"{first.name} and {second.name}")
    try:
        return Mixed(name=str(name), first=first, second=second, link=link)
    except InputError as error:
        problems.add("cluster.link", str(error).removeprefix("Mixed.link: "))
        return None


def mixed_remarks(section: Mapping[str, object], mixed: Mixed, today: date) -> Iterator[str]:
    """What was assumed of both clusters, in words.

    Args:
        section: what the study says.
        mixed: what it became.
        today: the day of asking, by which prices age.
    """
    tables = section[KEY]
    assert isinstance(tables, list), "groups that are no list were not refused"
    for table, cluster in zip(tables, mixed.kinds, strict=True):
        yield from cluster_remarks(table, cluster, today, named=True)
    if mixed.link is None:
        yield "cluster.link = the slower of the outermost levels of both groups"


def _kind(table: object, path: str, problems: Problems, *, folder: Path | None) -> Cluster | None:
    """One group; what is wrong with it is noted under its own keys."""
    described = problems.table(table, path)
    if described is None:
        return None
    own = Problems(problems.where)
    found = read_cluster(dict(described), own, folder)
    for key, text in own.found:
        problems.add(f"{path}{key.removeprefix('cluster')}", text)
    return found
