"""The key `groups` of the section [cluster]: two clusters whose devices train together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Final

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.link import Link
from foretrain.cluster.mixed import Mixed
from foretrain.errors import InputError
from foretrain.files.cluster import cluster_remarks, read_cluster
from foretrain.files.problems import Problems, validated
from foretrain.units import as_written

KEY: Final = "groups"
BESIDE: Final = ("name", KEY, "link")


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
    kinds = [
        _kind(table, f"cluster.{KEY}[{place}]", problems, folder=folder)
        for place, table in enumerate(_tables(section[KEY], problems))
    ]
    link = _link(section.get("link"), problems)
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


def _tables(groups: object, problems: Problems) -> list[object]:
    """The two groups; none where there are not two."""
    if not isinstance(groups, list):
        problems.add(f"cluster.{KEY}", f"{as_written(groups)} is not a list of two tables.")
        return []
    if len(groups) != 2:
        problems.add(
            f"cluster.{KEY}",
            f"{len(groups)} groups; foretrain prices two kinds of devices together. Write two, "
            "each with name and nodes, or one cluster without groups.",
        )
        return []
    return groups


def _kind(table: object, path: str, problems: Problems, *, folder: Path | None) -> Cluster | None:
    """One group; what is wrong with it is noted under its own keys."""
    if not isinstance(table, Mapping):
        problems.add(path, f"{as_written(table)} is not a table of keys and values.")
        return None
    own = Problems(problems.where)
    found = read_cluster(dict(table), own, folder)
    for key, text in own.found:
        problems.add(f"{path}{key.removeprefix('cluster')}", text)
    return found


def _link(link: object, problems: Problems) -> Link | None:
    if link is None:
        return None
    if not isinstance(link, Mapping):
        problems.add("cluster.link", f"{as_written(link)} is not a table of keys and values.")
        return None
    return validated(Link, link, path="cluster.link", problems=problems)
