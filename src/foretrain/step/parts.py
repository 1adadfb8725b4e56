"""Amounts: what operators keep and hold in bytes, and what of it a plan leaves to one device.

Parts of a model: operators that depend on the same fields of a plan, summed by layer.

Most operators do not know how experts are divided, and a mixture of experts has many ways to do
that. So each part is priced once per distinct combination of the fields that it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from foretrain.plan.table import Flags, PlanTable, distinct
from foretrain.step.strategies import STRATEGIES, share_of
from foretrain.workload.graph import Operators
from foretrain.workload.workload import Precision

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Amounts:
    """Of one sample, every operator whole. [operator, 1]

    Attributes:
        kept: bytes that the backward pass needs.
        passing: bytes beside them while gradients are found.
        weights: bytes of parameters as they are stored: common ones, then those of experts.
        trained: parameters that are trained, likewise.
    """

    kept: Floats
    passing: Floats
    weights: tuple[Floats, ...]
    trained: tuple[Floats, ...]


def amounts_of(operators: Operators, precision: Precision, *, experts: bool) -> Amounts:
    """The amounts of some operators; a model without experts has common parameters alone."""
    stored = np.where(operators.stored > 0, operators.stored, precision.value_bytes)
    mine = operators.experts > 0
    whose = (~mine, mine) if experts else (~mine,)
    # A product keeps its input as it reads it. Source: transformer-engine.
    narrow = operators.narrowed & (precision.product_bytes < precision.value_bytes)
    both = precision.product_bytes + precision.value_bytes * operators.shared_input
    value = np.where(narrow, both, precision.value_bytes)
    return Amounts(
        kept=operators.kept_values * value + operators.kept_fixed,
        passing=operators.passing_values * precision.value_bytes + operators.passing_fixed,
        weights=tuple(operators.weights * stored * mine for mine in whose),
        trained=tuple(operators.trained * mine for mine in whose),
    )


READS = (
    *dict.fromkeys(field for strategy in STRATEGIES.values() for field in strategy.reads),
    "micro_batch",
    "attention",
)
"""Fields of a plan that the compute of a layer depends on."""

OF_EXPERTS = ("expert", "expert_tensor")
"""Those of them that matter only to experts and to what goes to them."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Part:
    """Some operators of a model.

    Attributes:
        operators: their columns.
        amounts: what they keep and hold.
        layers: kind of each layer that has any of them, and where those stand.
        reads: fields of a plan that they depend on.
        kinds: kinds of layers of the whole model.
    """

    operators: Operators
    amounts: Amounts
    layers: tuple[tuple[int, slice], ...]
    reads: tuple[str, ...]
    kinds: int


Quantities = Callable[[Part, PlanTable], Sequence[Floats]]
"""What the operators of a part take. [quantity][operator, plan]"""


def parts_of(operators: Operators, precision: Precision, *, kinds: int) -> tuple[Part, ...]:
    """What does not know of experts, then what does if there is any."""
    knowing = ((operators.experts > 0) | (operators.routed > 0)).ravel()
    common = tuple(name for name in READS if name not in OF_EXPERTS)
    experts = bool((operators.experts > 0).any())
    return tuple(
        Part(
            operators=some,
            amounts=amounts_of(some, precision, experts=experts),
            layers=_layers(some),
            reads=reads,
            kinds=kinds,
        )
        for rows, reads in ((~knowing, common), (knowing, READS))
        if rows.any()
        for some in (operators.take(np.flatnonzero(rows)),)
    )


def _layers(operators: Operators) -> tuple[tuple[int, slice], ...]:
    """The kinds of layers that operators stand in, each with its part of their rows."""
    found, first = [], 0
    for kind, rows in groupby(operators.layer):
        last = first + len(list(rows))
        found.append((kind, slice(first, last)))
        first = last
    return tuple(found)


def by_layer(parts: Sequence[Part], plans: PlanTable, quantities: Quantities) -> Floats:
    """Quantities of every kind of layer. [quantity, kind, plan]"""
    total: Floats | None = None
    for part in parts:
        rows, index = distinct([getattr(plans, name) for name in part.reads])
        sums = _sums(part, quantities(part, plans.take(rows))).take(index, axis=-1)
        total = sums if total is None else total + sums
    assert total is not None, "a model without operators"
    return total


def _sums(part: Part, values: Sequence[Floats]) -> Floats:
    """Operators added up by layer, in their order, so that no row depends on its table.

    Quantities stand last but one, for NumPy keeps the order of every axis but the last.
    """
    rows = max(np.shape(value)[-1] for value in values)
    every = np.empty((len(part.operators.layer), len(values), rows))
    for place, value in enumerate(values):
        every[:, place] = value
    totals = np.zeros((part.kinds, len(values), rows))
    for kind, operators in part.layers:
        totals[kind] = np.add.reduce(every[operators], axis=0)
    return totals.swapaxes(0, 1)


def amounts_in(part: Part, plans: PlanTable) -> list[Floats]:
    """Bytes kept, those of them that are dropped, what passes, weights and trained by holding."""
    operators, amounts = part.operators, part.amounts
    share = share_of(operators, plans)
    exists = exists_in(operators, plans)
    kept, passing = (
        each * exists * plans.micro_batch / share.kept for each in (amounts.kept, amounts.passing)
    )
    held = [each / share.weights for each in (*amounts.weights, *amounts.trained)]
    return [kept, kept * operators.dropped, passing, *held]


def exists_in(operators: Operators, plans: PlanTable) -> Flags:
    """Which operators a plan's attention kernel has. [operator, plan]"""
    exists: Flags = operators.attention == plans.attention
    return exists | (operators.attention < 0)
