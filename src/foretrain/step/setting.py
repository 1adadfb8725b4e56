"""Reach: models that are unlike every one whose steps the coefficients were fitted to.

Setting: what no plan changes, and what every formula reads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from functools import lru_cache

from foretrain.cluster.cluster import Cluster
from foretrain.coefficients.coefficients import Coefficients
from foretrain.coefficients.uncertainty import Covers
from foretrain.errors import MissingCoefficient
from foretrain.step.collectives.network import Network, network
from foretrain.step.compute import Launches, launches
from foretrain.step.parts import Part, parts_of
from foretrain.step.rates import Rates, rates
from foretrain.trainers.software import SHARED, Software
from foretrain.workload.cross_entropy import computed
from foretrain.workload.eager import eager
from foretrain.workload.graph import Model, Operators, operators_of
from foretrain.workload.workload import Workload

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
