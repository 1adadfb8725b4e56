"""Placement: which levels of the cluster each axis of a plan spans."""

from __future__ import annotations

from math import gcd

import numpy as np
from numpy.typing import NDArray

from foretrain.cluster.cluster import Cluster
from foretrain.plan.plan import Order

Inner = tuple[int, ...]


def inner_members(order: Order, degrees: dict[str, int], cluster: Cluster) -> dict[str, Inner]:
    """How many members of one group of each axis share a group of each level.

    Ranks are laid out in the order's axes, innermost first, over the cluster's devices in their
    natural order. Where a group does not divide a level's devices evenly, the most scattered
    group counts, since a step waits for the slowest.

    Args:
        order: axes from innermost to outermost.
        degrees: degree of each axis.
        cluster: its levels.

    Returns:
        For each axis one number per level; the last level holds the whole group.
    """
    members: dict[str, Inner] = {}
    stride = 1
    for axis in order:
        degree, size, inside = degrees[axis], 1, []
        for level in cluster.levels[:-1]:
            size *= level.members
            inside.append(max(1, gcd(size, stride * degree) // stride))
        members[axis] = (*inside, degree)
        stride *= degree
    return members


def reach(inside: NDArray[np.float64], *, level: int) -> NDArray[np.float64]:
    """Members of a group at one level: those of the level over those of the level below. [plan]

    Args:
        inside: members inside a group of each level. [level, plan]
        level: position of the level, 0 innermost.
    """
    below = inside[level - 1] if level else np.ones_like(inside[0])
    return inside[level] / below
