"""Orders: the ways to lay the axes of plans over the levels of a cluster.

Two orders that put every group on the same levels are one; the first of them stands for both.

Idle fields: what a plan says without changing anything.

Degrees: the ways to write a number of devices as a product that a workload can be divided by.

Enumeration: every distinct legal plan of a space, as tables.

Plans that differ in name only are listed once: with one tensor member there is no sequence
parallelism, with one stage no interleaving, schedule, cut or sends, with one replica nothing to
shard, without experts no expert axis, and orders that put every group on the same levels are one.

A table grows dimension by dimension: first the degrees of the axes, then what a layer depends on,
then where parameters are, then how stages work, last the order (`orders.with_orders`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import permutations
from typing import cast

import numpy as np
from numpy.typing import NDArray

from foretrain.cluster.cluster import Cluster
from foretrain.plan.choices import (
    LAYERS,
    PARAMETERS,
    STAGES,
    Choice,
    Dimension,
    Question,
    chosen,
    divides_tokens,
    divisors,
    question_of,
    shares_channels,
    shares_pictures,
)
from foretrain.plan.plan import AXES, Order, Plan, cuts_into, most_chunks
from foretrain.plan.study import Space
from foretrain.plan.table import (
    COLUMNS,
    SIDE,
    Column,
    Flags,
    PlanTable,
    Rows,
    constant,
    distinct,
)
from foretrain.workload.workload import Workload

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


Degrees = tuple[int, int, int, int]
"""Of the axes tensor, context, data and pipeline."""


def degrees_of(question: Question, devices: Sequence[int]) -> Iterator[Degrees]:
    """Every way to use one of several numbers of devices.

    Args:
        question: what the axes must divide, and the choices of the space.
        devices: numbers of devices to choose among.
    """
    space, model, counts = question.space, question.model, frozenset(devices)
    most = max(counts)
    every = sorted({degree for count in counts for degree in divisors(count)})
    tensors = [
        degree
        for degree in chosen(every, space.tensor)
        if not any(units % degree for units in question.units) and shares_channels(question, degree)
    ]
    contexts = [
        each
        for each in chosen(every, space.context)
        if divides_tokens(model, each) or shares_pictures(question, each)
    ]
    replicas = [
        each for each in chosen(every, space.data) if question.workload.global_batch % each == 0
    ]
    for pipeline in [each for each in chosen(every, space.pipeline) if _stages(question, each)]:
        for data in _up_to(replicas, most // pipeline):
            for tensor in _up_to(tensors, most // (pipeline * data)):
                for context in _up_to(contexts, most // (pipeline * data * tensor)):
                    if pipeline * data * tensor * context in counts:
                        yield tensor, context, data, pipeline


def _stages(question: Question, pipeline: int) -> bool:
    """Whether the layers can be cut into so many stages, with some number of chunks each."""
    layers, space = question.model.cuttable_layers, question.space
    most = most_chunks(space.cut, layers, pipeline=pipeline) if pipeline > 1 else 1
    return any(
        cuts_into(cut, layers, pipeline=pipeline, chunks=pipeline * chunks)
        for cut in space.cut
        for chunks in chosen(range(1, most + 1), space.interleaving)
    )


def _up_to(degrees: Iterable[int], most: int) -> Iterator[int]:
    """The degrees, ascending, up to one."""
    for degree in degrees:
        if degree > most:
            return
        yield degree


ROWS = 16_384
"""Legal plans of a table. About a third of them fit in memory and reach the time formula, whose
columns then fill a processor's second-level cache."""


def plan_tables(
    workload: Workload,
    cluster: Cluster,
    space: Space,
    *,
    devices: Sequence[int] | None = None,
    rows: int = ROWS,
) -> Iterator[PlanTable]:
    """Every distinct legal plan, about `rows` at a time.

    Each plan comes once, in the first of its orders; `with_orders` gives the others.

    Args:
        workload: what is learned.
        cluster: where.
        space: choices.
        devices: numbers of devices that a plan may use; None for all of the cluster.
        rows: plans of one table.
    """
    question = question_of(workload, space)
    for some in in_pieces(degrees(question, devices or (cluster.devices,)), rows // 64 + 1):
        layers, many = with_layers(question, some)
        for piece in up_to(many, rows):
            yield grown(question, layers.take(piece), (*PARAMETERS, *STAGES))


def degrees(question: Question, devices: Sequence[int]) -> PlanTable:
    """A plan for every way to use one of several numbers of devices, neutral in all else."""
    found = np.array([*degrees_of(question, devices)], float).reshape(-1, len(AXES))
    neutral = Plan()
    columns = {
        name: constant(float(getattr(neutral, name)), len(found))
        for name in COLUMNS
        if name not in SIDE
    }
    columns |= dict(zip(AXES, found.T.copy(), strict=True))
    columns["split"] = constant(question.space.split[0], len(found))
    columns["grid"] = constant(0.0, len(found))
    columns["cut"] = constant(0.0, len(found))
    columns["order"] = constant(first_order(question.space), len(found))
    return PlanTable(**columns, grids=question.grids, cuts=question.space.cut, orders=ORDERS)


def grown(question: Question, plans: PlanTable, dimensions: Sequence[Dimension]) -> PlanTable:
    """Every plan with every value that some dimensions may have, the last varying fastest."""
    for dimension in dimensions:
        plans = with_choices(question, plans, dimension)[0]
    return plans


def with_layers(question: Question, plans: PlanTable) -> tuple[PlanTable, Rows]:
    """Plans with what layers depend on, and how many legal plans each grows to, at least one."""
    layers = grown(question, plans, LAYERS)
    many = counts(question, layers, (*PARAMETERS, *STAGES))
    rows = np.flatnonzero(many)
    return layers.take(rows), many[rows]


def counts(question: Question, plans: PlanTable, dimensions: Sequence[Dimension]) -> Rows:
    """How many plans each plan grows to by dimensions that do not read one another. [plan]"""
    total = np.ones(len(plans), np.intp)
    if not len(plans):
        return total
    for dimension in dimensions:
        many, _, index = _lists(question, plans, dimension)
        total *= many[index]
    return total


def most(question: Question, plans: PlanTable, *, dimension: Dimension, name: str) -> Column:
    """The largest value that a field of a dimension may have. [plan]"""
    if not len(plans):
        return np.zeros(0)
    many, values, index = _lists(question, plans, dimension)
    column = values[dimension.names.index(name)]
    start = np.cumsum(many) - many
    largest: Column = np.maximum.reduceat(column, start)[index]
    return largest


def with_choices(
    question: Question, plans: PlanTable, dimension: Dimension
) -> tuple[PlanTable, Rows]:
    """Every plan with every value that a dimension may have, and the row that it came from."""
    if not len(plans):
        return plans, np.zeros(0, np.intp)
    many, values, index = _lists(question, plans, dimension)
    start = np.cumsum(many) - many
    each = many[index]
    if (each == 1).all():
        only = dict(zip(dimension.names, (_chosen(each, index) for each in values), strict=True))
        return plans.but(**only), np.arange(len(plans))
    source = np.repeat(np.arange(len(plans)), each)
    nth = np.arange(len(source)) - np.repeat(np.cumsum(each) - each, each)
    item = np.repeat(start[index], each) + nth
    columns = {
        name: _chosen(column, item) for name, column in zip(dimension.names, values, strict=True)
    }
    return plans.take(source).but(**columns), source


def _chosen(values: Column, items: Rows) -> Column:
    """The value of each plan."""
    alike = len(values) > 0 and bool((values == values[0]).all())
    return constant(values[0], len(items)) if alike else values.take(items)


@lru_cache(maxsize=8192)
def _values(question: Question, dimension: Dimension, key: Choice) -> tuple[Choice, ...]:
    """The values of a dimension; the same few are asked for with every piece of a table."""
    return tuple(dimension.choices(question, key))


def _lists(
    question: Question, plans: PlanTable, dimension: Dimension
) -> tuple[Rows, Sequence[Column], Rows]:
    """Values of a dimension by what decides them: how many, all in a row, and which a plan has."""
    reads = dimension.reads(question, plans)
    rows, index = distinct([*reads, np.zeros(len(plans))])
    keys = zip(*(read[rows].astype(int).tolist() for read in reads), strict=True)
    every = [_values(question, dimension, key) for key in (keys if reads else [()])]
    many = np.array([len(values) for values in every], np.intp)
    flat = [value for values in every for value in values]
    columns = np.array(flat, float).reshape(-1, len(dimension.names)).T.copy()
    return many, [*columns], index


def in_pieces(plans: PlanTable, rows: int) -> Iterator[PlanTable]:
    """A table in pieces of so many plans."""
    for start in range(0, len(plans), rows):
        yield plans.take(np.arange(start, min(start + rows, len(plans))))


def up_to(many: Rows, rows: int) -> Iterator[Rows]:
    """Plans in groups that grow to about so many."""
    piece = (np.cumsum(many) - many) // rows
    for bound in np.split(np.arange(len(many)), np.flatnonzero(np.diff(piece)) + 1):
        if len(bound):
            yield bound
