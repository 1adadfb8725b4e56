"""Levels of a cluster as they are written: the key `nodes` fills those above the node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from foretrain.cluster.cluster import Cluster, spread

LevelDocument = Mapping[str, Any]


def alone() -> list[dict[str, Any]]:
    """The level of a device that has no other to reach: nothing crosses its link."""
    link = {"technology": "custom", "latency": "0 s", "bandwidth": "1 GB/s"}
    return [{"name": "node", "members": 1, "link": link}]


def with_nodes(levels: Sequence[LevelDocument], nodes: int) -> list[dict[str, Any]]:
    """The levels with so many nodes in all.

    A level above the node says with `members` how many groups it can connect; the outermost says
    nothing and connects what is left.

    Args:
        levels: as written, the outermost without members.
        nodes: of the whole cluster.

    Raises:
        InputError: the nodes cannot be spread evenly over the levels.
    """
    names = [level.get("name") for level in levels]
    node = names.index("node") if "node" in names else 0
    first = min(node + 1, len(levels) - 1)
    above = levels[first:]
    most = [level.get("members") for level in above[:-1]]
    if not all(type(size) is int and size > 0 for size in most):
        # The reader of the whole document will say what is wrong with them.
        return [*map(dict, levels[:-1]), {**levels[-1], "members": nodes}]
    members = spread(nodes, [size for size in most if size])
    filled = [{**level, "members": size} for level, size in zip(above, members, strict=True)]
    return [*map(dict, levels[:first]), *filled]


def resized(cluster: Cluster, levels: Sequence[LevelDocument]) -> Cluster:
    """A cluster with the members of its levels as a document with another number of nodes says."""
    pairs = zip(cluster.levels, levels, strict=True)
    return replace(
        cluster, levels=tuple(replace(level, members=said["members"]) for level, said in pairs)
    )
