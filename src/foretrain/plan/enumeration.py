"""Idle fields: what a plan says without changing anything.

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

import numpy as np

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
)
from foretrain.plan.orders import ORDERS, first_order
from foretrain.plan.plan import AXES, Plan, cuts_into
from foretrain.plan.study import Space
from foretrain.plan.table import COLUMNS, SIDE, Column, PlanTable, Rows, distinct
from foretrain.workload.workload import Workload

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
        if not any(units % degree for units in question.units)
    ]
    contexts = [each for each in chosen(every, space.context) if divides_tokens(model, each)]
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
    most = layers // pipeline if pipeline > 1 else 1
    return any(
        cuts_into(cut, layers, pipeline * chunks)
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
        name: np.full(len(found), float(getattr(neutral, name)))
        for name in COLUMNS
        if name not in SIDE
    }
    columns |= dict(zip(AXES, found.T.copy(), strict=True))
    columns["cut"] = np.zeros(len(found))
    columns["order"] = np.full(len(found), first_order(question.space))
    return PlanTable(**columns, cuts=question.space.cut, orders=ORDERS)


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
        only = dict(zip(dimension.names, (column[index] for column in values), strict=True))
        return plans.but(**only), np.arange(len(plans))
    source = np.repeat(np.arange(len(plans)), each)
    nth = np.arange(len(source)) - np.repeat(np.cumsum(each) - each, each)
    item = np.repeat(start[index], each) + nth
    columns = {
        name: column.take(item) for name, column in zip(dimension.names, values, strict=True)
    }
    return plans.take(source).but(**columns), source


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
