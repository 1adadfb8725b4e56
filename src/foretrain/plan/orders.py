"""Orders: the ways to lay the axes of plans over the levels of a cluster.

Two orders that put every group on the same levels are one; the first of them stands for both.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import cast

import numpy as np
from numpy.typing import NDArray

from foretrain.cluster.cluster import Cluster
from foretrain.plan.plan import AXES, Order
from foretrain.plan.study import Space
from foretrain.plan.table import Flags, PlanTable, Rows, distinct

ORDERS = tuple(cast(Order, order) for order in permutations(AXES))


def first_order(space: Space) -> float:
    """Position of the order that a plan has before any other is tried."""
    return float(ORDERS.index(space.order[0])) if space.order else 0.0


def with_orders(plans: PlanTable, cluster: Cluster, space: Space) -> tuple[PlanTable, Rows]:
    """Every plan in each of its distinct orders, and the row that it came from."""
    tell, index = _telling(plans, cluster, space)
    places = np.array([ORDERS.index(order) for order in space.order or ORDERS], float)
    order = np.nonzero(tell.T)[1]
    many = tell.sum(axis=0)
    start = np.cumsum(many) - many
    source = np.repeat(np.arange(len(plans)), many[index])
    nth = np.arange(len(source)) - np.repeat(np.cumsum(many[index]) - many[index], many[index])
    chosen = places[order[start[index[source]] + nth]]
    return plans.take(source).but(order=chosen), source


def order_counts(plans: PlanTable, cluster: Cluster, space: Space) -> Rows:
    """How many distinct orders each plan has. [plan]"""
    tell, index = _telling(plans, cluster, space)
    counts: Rows = tell.sum(axis=0)[index]
    return counts


def _telling(plans: PlanTable, cluster: Cluster, space: Space) -> tuple[Flags, Rows]:
    """Which orders differ from all before them, by distinct degrees; and the degrees of each plan.

    [order, combination]. Every group lies on the one level where there is no other.
    """
    rows, index = distinct([getattr(plans, axis) for axis in AXES])
    degrees = [getattr(plans, axis)[rows].astype(np.int64) for axis in AXES]
    levels = [level.members for level in cluster.levels]
    tried = space.order or ORDERS
    inside = np.stack([_inside(levels, order, degrees) for order in tried], axis=1)
    if not len(inside):
        return np.arange(len(tried))[:, np.newaxis] == np.zeros(len(rows)), index
    place = distinct([each.ravel() for each in inside])[1].reshape(len(tried), -1)
    ranked = np.argsort(place, axis=0, kind="stable")
    same = np.diff(np.take_along_axis(place, ranked, axis=0), axis=0) == 0
    tell = np.ones(place.shape, bool)
    np.put_along_axis(tell, ranked[1:], ~same, axis=0)
    return tell, index


def _inside(
    levels: Sequence[int], order: Order, degrees: Sequence[NDArray[np.int64]]
) -> NDArray[np.int64]:
    """`placement.inner_members` of many degrees, without the last level. [axis x level, degrees]"""
    found = []
    stride = np.ones_like(degrees[0])
    for axis in order:
        reach = stride * degrees[AXES.index(axis)]
        size = 1
        for level in levels[:-1]:
            size *= level
            found.append((AXES.index(axis), np.maximum(1, np.gcd(size, reach) // stride)))
        stride = reach
    ranked = sorted(found, key=lambda each: each[0])
    return np.array([each for _, each in ranked]).reshape(len(ranked), len(stride))
