"""Placement: which levels of the cluster each axis of a plan spans."""

from __future__ import annotations

from functools import lru_cache
from math import gcd

import numpy as np
from numpy.typing import NDArray

from foretrain.plan.plan import AXES, Order

Members = NDArray[np.float64]
Inner = tuple[int, ...]
Degrees = tuple[int, ...]


@lru_cache(maxsize=65_536)
def inner_members(order: Order, degrees: Degrees, levels: tuple[int, ...]) -> tuple[Inner, ...]:
    """How many members of one group of each axis share a group of each level.

    Ranks are laid out in the order's axes, innermost first, over the cluster's devices in their
    natural order. Where a group does not divide a level's devices evenly, the most scattered
    group counts, since a step waits for the slowest.

    Args:
        order: axes from innermost to outermost.
        degrees: degree of each axis, in the order of `AXES`.
        levels: members of each level of the cluster, innermost first.

    Returns:
        For each axis of `AXES` one number per level; the last level holds the whole group.
    """
    members: dict[str, Inner] = {}
    stride = 1
    for axis in order:
        degree, size, inside = degrees[AXES.index(axis)], 1, []
        for level in levels[:-1]:
            size *= level
            inside.append(max(1, gcd(size, stride * degree) // stride))
        members[axis] = (*inside, degree)
        stride *= degree
    return tuple(members[axis] for axis in AXES)


def neighbours(inside: Members, degree: Members, *, stride: Members | float = 1.0) -> Members:
    """How many members of a smaller group share a group of a level.

    The smaller group lies within a larger one: every `stride`-th member, `degree` of them.

    Args:
        inside: members of the larger group that share a group of each level. [level, ...]
        degree: members of the smaller group.
        stride: from one of them to the next, in members of the larger group.
    """
    span = np.asarray(stride * degree)
    part = np.gcd(inside.astype(np.intp), span.astype(np.intp))
    reach = np.where(span == inside[-1], inside, part)
    least = np.maximum(1.0, np.floor(reach / stride))
    # Whoever shares a group of a level shares those around it.
    return np.maximum.accumulate(least, axis=0)
