"""Reach: models that are unlike every one whose steps the coefficients were fitted to.

Setting: what no plan changes, and what every formula reads.

Amounts: what operators keep and hold in bytes, and what of it a plan leaves to one device.

Parts of a model: operators that depend on the same fields of a plan, summed by layer.

Most operators do not know how experts are divided, and a mixture of experts has many ways to do
that. So each part is priced once per distinct combination of the fields that it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import lru_cache
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from foretrain.cluster.cluster import Cluster
from foretrain.coefficients.coefficients import Coefficients
from foretrain.coefficients.uncertainty import Covers
from foretrain.errors import MissingCoefficient
from foretrain.plan.table import Flags, PlanTable, distinct
from foretrain.step.collectives.network import Network, network
from foretrain.step.compute import Launches, launches
from foretrain.step.rates import Rates, rates
from foretrain.step.strategies import STRATEGIES, share_of
from foretrain.trainers.software import SHARED, Software
from foretrain.workload.execution import computed, eager
from foretrain.workload.graph import Model, Operators, operators_of
from foretrain.workload.workload import Precision, Workload

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


FARTHEST = 0.5
"""Of the least share of parameters in products among the models fitted to, the part below which
nothing measured says what a step is made of."""


def refuse_beyond(model: Model, covers: Covers) -> None:
    """Refuse a model that lives in its tables, where no such model was fitted to.

    Products of matrices use nearly all parameters of the models that coefficients are fitted to.
    Where a step looks rows up instead, reads few of them and updates those alone, what was fitted
    says nothing of its time, not even how wrong it is.

    Args:
        model: of the workload.
        covers: the runs that the coefficients were fitted to.

    Raises:
        MissingCoefficient: no run of such a model was fitted to.
    """
    if model.multiplied >= FARTHEST * covers.multiplied:
        return
    raise MissingCoefficient(
        f"the time of a step of {model.name} is not known: products of matrices use "
        f"{model.multiplied:.2%} of its parameters, the rest are tables of which a sample looks up "
        f"rows. Of the models that the coefficients were fitted to they use "
        f"{covers.multiplied:.0%} or more, so nothing measured tells how lookups and updates of "
        "rows do. It must be measured; foretrain prices models whose parameters are multiplied."
    )


class Holding(IntEnum):
    """Parameters by who has replicas of them."""

    COMMON = 0
    EXPERTS = 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Setting:
    """A workload on a cluster; `setting` makes it.

    Attributes:
        workload: what is learned.
        cluster: where.
        coefficients: how well.
        operators: the model's operators as columns.
        rate: what one device reaches.
        launches: what the host takes to start the kernels of each kind of layer.
        network: what collectives reach on each level.
        between: the same among replicas, which may be of two kinds of devices.
        parts: the same by what they depend on, with what they keep and hold.
        holdings: the kinds of parameters that the model has.
        attends: whether its tokens meet one another.
        body: kinds of layers up to the last one that can be cut.
        software: habits of the trainer.
    """

    workload: Workload
    cluster: Cluster
    coefficients: Coefficients
    operators: Operators
    rate: Rates
    launches: Launches
    network: Network
    between: Network
    parts: tuple[Part, ...]
    holdings: tuple[Holding, ...]
    attends: bool
    body: int
    software: Software = SHARED


@lru_cache(maxsize=16)
def setting(
    workload: Workload,
    cluster: Cluster,
    coefficients: Coefficients,
    *,
    software: Software = SHARED,
) -> Setting:
    """A workload on a cluster, with what follows from them.

    Raises:
        InputError: the device does not compute in the workload's precision.
        MissingCoefficient: no run of such a model was fitted to.
    """
    refuse_beyond(workload.model, coefficients.covers)
    keeps = software.keeps
    model = computed(workload.model, software.loss)
    operators = operators_of(model if keeps is None else eager(model, keeps))
    kinds = len(workload.model.layers)
    rate = rates(cluster.device, workload.precision, coefficients, software=software)
    net = network(cluster, coefficients).slowed(coefficients.step.factor)
    return Setting(
        workload=workload,
        cluster=cluster,
        coefficients=coefficients,
        operators=operators,
        parts=parts_of(operators, workload.precision, kinds=kinds),
        rate=rate,
        launches=launches(operators, kinds=kinds, rate=rate, pictures=workload.model.tokens == 1),
        network=net,
        between=net,
        holdings=tuple(Holding) if workload.model.experts else (Holding.COMMON,),
        attends=workload.model.attends,
        body=1 + max(k for k, layer in enumerate(workload.model.layers) if layer.cuttable),
        software=software,
    )


def recalibrated(known: Setting, coefficients: Coefficients) -> Setting:
    """A setting with other coefficients, without what does not depend on them being made anew."""
    workload, cluster, software = known.workload, known.cluster, known.software
    rate = rates(cluster.device, workload.precision, coefficients, software=software)
    kinds = len(workload.model.layers)
    net = network(cluster, coefficients).slowed(coefficients.step.factor)
    return replace(
        known,
        coefficients=coefficients,
        rate=rate,
        launches=launches(
            known.operators, kinds=kinds, rate=rate, pictures=known.workload.model.tokens == 1
        ),
        network=net,
        between=net,
    )
