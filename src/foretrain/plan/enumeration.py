"""Enumeration: every distinct legal plan of a space, as tables.

Plans that differ in name only are listed once: with one tensor member there is no sequence
parallelism, with one stage no interleaving and no sends, with one replica nothing to shard, and
orders that put every group on the same levels are one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np

from foretrain.cluster.cluster import Cluster
from foretrain.plan.placement import inner_members
from foretrain.plan.plan import AXES, Order, Recompute, Sends, Sharding
from foretrain.plan.space import Space
from foretrain.plan.table import PlanTable, Rows, distinct
from foretrain.workload.graph import Model
from foretrain.workload.operator import Attention
from foretrain.workload.workload import Workload

ROWS = 16_384
"""Rows of a table: about what a processor's second-level cache holds of a formula's columns."""

ORDERS: tuple[Order, ...] = (AXES, *(order for order in permutations(AXES) if order != AXES))


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
    blocks: list[PlanTable] = []
    for degrees in _degrees(workload.model, cluster.devices, space):
        block = _block(workload, cluster, space, degrees)
        if len(block):
            blocks.append(block)
        if sum(map(len, blocks)) >= rows:
            yield _joined(blocks)
            blocks = []
    if blocks:
        yield _joined(blocks)


def with_orders(plans: PlanTable, cluster: Cluster, space: Space) -> tuple[PlanTable, Rows]:
    """Every plan in each of its distinct orders, and the row that it came from."""
    rows, index = distinct([getattr(plans, axis) for axis in AXES])
    found = [_orders(cluster, space, _degrees_of(plans, int(row))) for row in rows]
    many = np.array([len(orders) for orders in found])[index]
    source = np.repeat(np.arange(len(plans)), many)
    nth = np.arange(len(source)) - np.repeat(np.cumsum(many) - many, many)
    width = max(len(orders) for orders in found)
    padded = np.array([orders + [0.0] * (width - len(orders)) for orders in found])
    return replace(plans.take(source), order=padded[index[source], nth]), source


def order_counts(plans: PlanTable, cluster: Cluster, space: Space) -> Rows:
    """How many distinct orders each plan has. [plan]"""
    rows, index = distinct([getattr(plans, axis) for axis in AXES])
    found = [len(_orders(cluster, space, _degrees_of(plans, int(row)))) for row in rows]
    return np.array(found)[index]


def _degrees_of(plans: PlanTable, row: int) -> _Degrees:
    return _Degrees(**{axis: int(getattr(plans, axis)[row]) for axis in AXES})


def divisors(number: int) -> list[int]:
    """Every divisor, in order."""
    small = [value for value in range(1, int(number**0.5) + 1) if number % value == 0]
    return small + [number // value for value in reversed(small) if value * value != number]


def _allowed(values: Sequence[int], choices: tuple[int, ...] | None) -> list[int]:
    return [value for value in values if choices is None or value in choices]


def _degrees(model: Model, devices: int, space: Space) -> Iterator[_Degrees]:
    """The ways to write the device count as a product that the model can be divided by."""
    units = {operator.units for _, operator in model.operators if operator.units}
    for tensor in _allowed(divisors(devices), space.tensor):
        if any(unit % tensor for unit in units):
            continue
        for pipeline in _allowed(divisors(devices // tensor), space.pipeline):
            data = devices // tensor // pipeline
            if model.cuttable_layers % pipeline == 0 and _allowed([data], space.data):
                yield _Degrees(tensor=tensor, data=data, pipeline=pipeline)


def _block(
    workload: Workload, cluster: Cluster, space: Space, degrees: _Degrees
) -> PlanTable:
    """Every plan of some degrees."""
    axes = {
        "micro_batch": _micro_batches(workload, space, degrees),
        "interleaving": _interleavings(workload.model, space, degrees),
        "sequence_parallel": _sequence_parallel(workload.model, space, degrees),
        "attention": _attentions(workload.model, space),
        "recompute": _flags(list(Recompute), space.recompute),
        "sharding": _flags(list(Sharding)[: 2 if degrees.data > 1 else 1], space.sharding),
        "sends": _flags(list(Sends)[: 2 if degrees.pipeline > 1 else 1], space.sends),
    }
    grid = np.meshgrid(*(np.array(values, float) for values in axes.values()), indexing="ij")
    columns = {name: values.ravel() for name, values in zip(axes, grid, strict=True)}
    keep = _legal(workload, degrees, columns)
    columns = {name: column[keep] for name, column in columns.items()}
    first = _orders(cluster, space, degrees)[0]
    fixed = {"order": first, **{axis: float(getattr(degrees, axis)) for axis in AXES}}
    columns |= {name: np.full(int(keep.sum()), value) for name, value in fixed.items()}
    return PlanTable(**columns, orders=ORDERS)


def _legal(
    workload: Workload, degrees: _Degrees, columns: dict[str, np.ndarray]
) -> np.ndarray:
    """What depends on two fields at once. [plan]

    Interleaving passes micro-batches in groups of the pipeline's degree; selective recomputation
    needs operators that it would run again.
    """
    passes = workload.global_batch / (degrees.data * columns["micro_batch"])
    grouped = (columns["interleaving"] == 1) | (passes % degrees.pipeline == 0)
    selective = {
        kernel
        for kernel in Attention
        if any(o.selective and o.attention in (None, kernel) for _, o in workload.model.operators)
    }
    useful = np.isin(columns["attention"], [float(kernel) for kernel in selective])
    return grouped & ((columns["recompute"] != Recompute.SELECTIVE) | useful)


def _micro_batches(workload: Workload, space: Space, degrees: _Degrees) -> list[int]:
    if workload.global_batch % degrees.data:
        return []
    return _allowed(divisors(workload.global_batch // degrees.data), space.micro_batch)


def _interleavings(model: Model, space: Space, degrees: _Degrees) -> list[int]:
    per_stage = model.cuttable_layers // degrees.pipeline
    return _allowed(divisors(per_stage) if degrees.pipeline > 1 else [1], space.interleaving)


def _sequence_parallel(model: Model, space: Space, degrees: _Degrees) -> list[float]:
    possible = degrees.tensor > 1 and model.tokens % degrees.tensor == 0
    return _flags([False, True] if possible else [False], space.sequence_parallel)


def _attentions(model: Model, space: Space) -> list[float]:
    kernels = {operator.attention for _, operator in model.operators} - {None}
    return _flags(space.attention if kernels else space.attention[:1], None)


def _flags(values: Sequence[int], choices: Sequence[int] | None) -> list[float]:
    return [float(value) for value in values if choices is None or value in choices]


def _orders(cluster: Cluster, space: Space, degrees: _Degrees) -> list[float]:
    """One order for each way in which the groups can lie on the levels."""
    sizes = {axis: getattr(degrees, axis) for axis in AXES}
    found: dict[tuple[tuple[int, ...], ...], float] = {}
    for position, order in enumerate(ORDERS):
        if space.order is None or order in space.order:
            members = inner_members(order, sizes, cluster)
            found.setdefault(tuple(members[axis] for axis in AXES), float(position))
    return list(found.values())


def _joined(blocks: list[PlanTable]) -> PlanTable:
    names = [name for name in PlanTable.__dataclass_fields__ if name != "orders"]
    columns = {
        name: np.concatenate([getattr(block, name) for block in blocks]) for name in names
    }
    return PlanTable(**columns, orders=ORDERS)
