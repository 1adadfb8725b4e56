"""Enumeration: every distinct legal plan of a space, as tables.

Plans that differ in name only are listed once: with one tensor member there is no sequence
parallelism, with one stage no interleaving and no sends, with one replica nothing to shard, and
orders that put every group on the same levels are one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import permutations
from typing import cast

import numpy as np
from numpy.typing import NDArray

from foretrain.cluster.cluster import Cluster
from foretrain.plan.divisors import divisors
from foretrain.plan.placement import Inner, inner_members
from foretrain.plan.plan import AXES, Order, Recompute, Sharding
from foretrain.plan.space import Space
from foretrain.plan.table import Column, PlanTable, Rows, distinct
from foretrain.workload.graph import Model
from foretrain.workload.operator import Attention
from foretrain.workload.workload import Workload

ROWS = 49_152
"""Legal plans of a table. About a third of them fit in memory and reach the time formula, whose
columns then fill a processor's second-level cache."""

Floats = NDArray[np.float64]
ORDERS = tuple(cast(Order, order) for order in permutations(AXES))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """What to list.

    Attributes:
        workload: what is learned.
        space: choices.
        kernels: kernels worth telling apart, and whether with each of them selective recomputation
            is worth telling from none.
        recompute: choices.
        sharding: choices.
    """

    workload: Workload
    space: Space
    kernels: dict[Attention, bool]
    recompute: Sequence[int]
    sharding: Sequence[int]


@dataclass(frozen=True, slots=True)
class _Degrees:
    """How many devices each axis has."""

    tensor: int
    data: int
    pipeline: int


def plan_tables(
    workload: Workload, cluster: Cluster, space: Space, *, rows: int = ROWS
) -> Iterator[PlanTable]:
    """Every distinct legal plan on all devices of the cluster, about `rows` at a time.

    Each plan comes once, in the first of its orders; `with_orders` gives the others.
    """
    question = _Question(
        workload=workload,
        space=space,
        kernels=_kernels(workload.model, space),
        recompute=_choices(list(Recompute), space.recompute),
        sharding=_choices(list(Sharding), space.sharding),
    )
    blocks: list[tuple[_Degrees, Floats]] = []
    for degrees in _degrees(workload.model, cluster.devices, space):
        blocks.append((degrees, _block(question, degrees)))
        if sum(block.shape[1] for _, block in blocks) >= rows:
            yield _joined(space, blocks)
            blocks = []
    if any(block.size for _, block in blocks):
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


def _degrees(model: Model, devices: int, space: Space) -> Iterator[_Degrees]:
    """The ways to write the device count as a product that the model can be divided by."""
    units = {operator.units for _, operator in model.operators if operator.units}
    for tensor in _choices(divisors(devices), space.tensor):
        if any(unit % tensor for unit in units):
            continue
        for pipeline in _choices(divisors(devices // tensor), space.pipeline):
            data = devices // tensor // pipeline
            if model.cuttable_layers % pipeline == 0 and _choices([data], space.data):
                yield _Degrees(tensor=tensor, data=data, pipeline=pipeline)


def _kernels(model: Model, space: Space) -> dict[Attention, bool]:
    """The kernels of a question."""
    operators = [operator for _, operator in model.operators]
    kernels = space.attention or (Attention.FLASH, Attention.PLAIN)
    if not model.kernels:
        kernels = kernels[:1]
    alone = space.recompute is not None and Recompute.NONE not in space.recompute
    return {
        kernel: alone or any(o.selective and o.attention in (None, kernel) for o in operators)
        for kernel in kernels
    }


FREE = (
    "micro_batch",
    "interleaving",
    "sequence_parallel",
    "attention",
    "recompute",
    "sharding",
    "sends",
)
"""Fields that vary among the plans of the same degrees."""


def _block(question: _Question, degrees: _Degrees) -> Floats:
    """Every plan of some degrees. [field of FREE, plan]"""
    workload, space = question.workload, question.space
    choices: tuple[Sequence[int], ...] = (
        _micro_batches(workload, space, degrees),
        _interleavings(workload.model, space, degrees),
        _sequence_parallel(workload.model, space, degrees),
        list(question.kernels),
        question.recompute,
        question.sharding[: None if degrees.data > 1 else 1],
        space.sends[: None if degrees.pipeline > 1 else 1],
    )
    shape = tuple(len(values) for values in choices)
    block = np.empty((len(choices), *shape))
    for field, values in enumerate(choices):
        block[field] = np.array(values, float).reshape(-1, *(1,) * (len(shape) - field - 1))
    block = block.reshape(len(choices), -1)
    return block[:, _legal(question, degrees, dict(zip(FREE, block, strict=True)))]


def _legal(question: _Question, degrees: _Degrees, columns: dict[str, Column]) -> NDArray[np.bool_]:
    """What depends on two fields at once. [plan]

    Interleaving passes micro-batches in groups of the pipeline's degree; selective recomputation
    without operators that it would run again is none.
    """
    passes = question.workload.global_batch / (degrees.data * columns["micro_batch"])
    legal: NDArray[np.bool_] = columns["interleaving"] == 1
    legal |= passes % degrees.pipeline == 0
    for kernel, useful in question.kernels.items():
        if not useful:
            selective = columns["recompute"] == Recompute.SELECTIVE
            legal &= ~(selective & (columns["attention"] == kernel))
    return legal


def _micro_batches(workload: Workload, space: Space, degrees: _Degrees) -> list[int]:
    if workload.global_batch % degrees.data:
        return []
    return _choices(divisors(workload.global_batch // degrees.data), space.micro_batch)


def _interleavings(model: Model, space: Space, degrees: _Degrees) -> list[int]:
    per_stage = model.cuttable_layers // degrees.pipeline
    return _choices(divisors(per_stage) if degrees.pipeline > 1 else [1], space.interleaving)


def _sequence_parallel(model: Model, space: Space, degrees: _Degrees) -> list[int]:
    choices = _choices([False, True], space.sequence_parallel)
    if degrees.tensor == 1:
        return choices[:1]
    return [choice for choice in choices if not choice or model.tokens % degrees.tensor == 0]


def _choices(values: Sequence[int], choices: Sequence[int] | None) -> list[int]:
    return [value for value in values if choices is None or value in choices]


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
    for order in allowed:
        found.setdefault(inner_members(order, degrees, levels), float(ORDERS.index(order)))
    return tuple(found.values())


def _joined(space: Space, blocks: Sequence[tuple[_Degrees, Floats]]) -> PlanTable:
    many = [block.shape[1] for _, block in blocks]
    free = dict(zip(FREE, np.concatenate([block for _, block in blocks], axis=1), strict=True))
    degrees = {
        axis: np.repeat([float(getattr(degrees, axis)) for degrees, _ in blocks], many)
        for axis in AXES
    }
    first = float(ORDERS.index(space.order[0])) if space.order else 0.0
    return PlanTable(**free, **degrees, order=np.full(sum(many), first), orders=ORDERS)
