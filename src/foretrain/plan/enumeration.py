"""Enumeration: every distinct legal plan of a space, as tables.

Plans that differ in name only are listed once: with one tensor member there is no sequence
parallelism, with one stage no interleaving, schedule, cut or sends, with one replica nothing to
shard, without experts no expert axis, and orders that put every group on the same levels are one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import permutations
from typing import cast

import numpy as np
from numpy.typing import NDArray

from foretrain.cluster.cluster import Cluster
from foretrain.plan.choices import FREE, Degrees, Question, degrees_of, question_of
from foretrain.plan.placement import Inner, inner_members
from foretrain.plan.plan import AXES, Order, Recompute
from foretrain.plan.space import Space
from foretrain.plan.table import Column, PlanTable, Rows, distinct
from foretrain.workload.workload import Workload

ROWS = 16_384
"""Legal plans of a table. About a third of them fit in memory and reach the time formula, whose
columns then fill a processor's second-level cache."""

Floats = NDArray[np.float64]
ORDERS = tuple(cast(Order, order) for order in permutations(AXES))
FIELDS = tuple(name for names in FREE for name in names)


def plan_tables(
    workload: Workload, cluster: Cluster, space: Space, *, rows: int = ROWS
) -> Iterator[PlanTable]:
    """Every distinct legal plan on all devices of the cluster, about `rows` at a time.

    Each plan comes once, in the first of its orders; `with_orders` gives the others.
    """
    question = question_of(workload, space)
    blocks: list[tuple[Degrees, Floats]] = []
    for degrees in degrees_of(question, cluster.devices):
        for block in _pieces(_block(question, degrees), rows):
            blocks.append((degrees, block))
            if sum(piece.shape[1] for _, piece in blocks) >= rows:
                yield _joined(space, blocks)
                blocks = []
    if blocks:
        yield _joined(space, blocks)


def with_orders(plans: PlanTable, cluster: Cluster, space: Space) -> tuple[PlanTable, Rows]:
    """Every plan in each of its distinct orders, and the row that it came from."""
    found, index = _orders_of(plans, cluster, space)
    many = np.array([len(orders) for orders in found])[index]
    source = np.repeat(np.arange(len(plans)), many)
    nth = np.arange(len(source)) - np.repeat(np.cumsum(many) - many, many)
    width = max(len(orders) for orders in found)
    padded = np.array([[*orders, *[0.0] * (width - len(orders))] for orders in found])
    return replace(plans.take(source), order=padded[index[source], nth]), source


def order_counts(plans: PlanTable, cluster: Cluster, space: Space) -> Rows:
    """How many distinct orders each plan has. [plan]"""
    found, index = _orders_of(plans, cluster, space)
    return np.array([len(orders) for orders in found])[index]


def _block(question: Question, degrees: Degrees) -> Floats:
    """Every plan of some degrees. [field, plan]"""
    choices = [
        np.array([*list_of(question, degrees)], float).reshape(-1, len(names))
        for names, list_of in FREE.items()
    ]
    many = [len(values) for values in choices]
    block = np.empty((len(FIELDS), *many))
    field = 0
    for place, values in enumerate(choices):
        along = [many[place] if place == other else 1 for other in range(len(many))]
        for column in values.T:
            block[field] = column.reshape(along)
            field += 1
    block = block.reshape(len(FIELDS), -1)
    legal = _legal(question, degrees, dict(zip(FIELDS, block, strict=True)))
    return block.take(np.flatnonzero(legal), axis=1)


def _pieces(block: Floats, rows: int) -> Iterator[Floats]:
    """A block in pieces of so many plans."""
    for start in range(0, block.shape[1], rows):
        yield block[:, start : start + rows]


def _legal(question: Question, degrees: Degrees, columns: dict[str, Column]) -> NDArray[np.bool_]:
    """What depends on fields that are not listed together. [plan]

    Interleaving passes micro-batches in groups of the pipeline's degree; selective recomputation
    without operators that it would run again is none; experts that are not divided like the rest
    want every token once; a shard divides those that hold the same experts, or they divide it.
    """
    passes = question.workload.global_batch / (degrees.data * columns["micro_batch"])
    legal: NDArray[np.bool_] = columns["interleaving"] == 1
    legal |= passes % degrees.pipeline == 0
    for kernel, useful in question.kernels.items():
        if not useful:
            selective = columns["recompute"] == Recompute.SELECTIVE
            legal &= ~(selective & (columns["attention"] == kernel))
    if degrees.tensor > 1 and question.model.experts:
        apart = (columns["expert"] > 1) | (columns["expert_tensor"] != degrees.tensor)
        legal &= (columns["sequence_parallel"] > 0) | ~apart
    if question.model.experts:
        same = degrees.experts / (columns["expert"] * columns["expert_tensor"])
        shard = np.maximum(columns["shard"], 1.0)
        legal &= (same % shard == 0) | (shard % same == 0)
    return legal


def _orders_of(
    plans: PlanTable, cluster: Cluster, space: Space
) -> tuple[list[tuple[float, ...]], Rows]:
    """The orders of each distinct combination of degrees, and the combination of each plan."""
    rows, index = distinct([getattr(plans, axis) for axis in AXES])
    levels = tuple(level.members for level in cluster.levels)
    degrees = [tuple(int(getattr(plans, axis)[row]) for axis in AXES) for row in rows]
    return [_orders(levels, each, space.order or ORDERS) for each in degrees], index


@lru_cache(maxsize=4096)
def _orders(
    levels: tuple[int, ...], degrees: tuple[int, ...], allowed: tuple[Order, ...]
) -> tuple[float, ...]:
    """One order for each way in which the groups can lie on the levels."""
    found: dict[tuple[Inner, ...], float] = {}
    for order in _telling(degrees, allowed):
        found.setdefault(inner_members(order, degrees, levels), float(ORDERS.index(order)))
    return tuple(found.values())


def _telling(degrees: tuple[int, ...], allowed: tuple[Order, ...]) -> Iterator[Order]:
    """The first order of those that differ only in where axes of degree 1 stand."""
    idle = {axis for axis, degree in zip(AXES, degrees, strict=True) if degree == 1}
    seen: set[tuple[str, ...]] = set()
    for order in allowed:
        used = tuple(axis for axis in order if axis not in idle)
        if used not in seen:
            seen.add(used)
            yield order


def _joined(space: Space, blocks: Sequence[tuple[Degrees, Floats]]) -> PlanTable:
    many = [block.shape[1] for _, block in blocks]
    free = dict(zip(FIELDS, np.concatenate([block for _, block in blocks], axis=1), strict=True))
    degrees = {
        axis: np.repeat([float(getattr(degrees, axis)) for degrees, _ in blocks], many)
        for axis in AXES
    }
    first = float(ORDERS.index(space.order[0])) if space.order else 0.0
    order = np.full(sum(many), first)
    return PlanTable(**free, **degrees, order=order, orders=ORDERS, cuts=space.cut)
