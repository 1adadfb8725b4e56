"""Setting: what no plan changes, and what every formula reads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from functools import lru_cache

from foretrain.cluster.cluster import Cluster
from foretrain.coefficients.coefficients import Coefficients
from foretrain.cost.collectives.network import Network, network
from foretrain.cost.launches import Launches, launches
from foretrain.cost.parts import Part, parts_of
from foretrain.cost.rates import Rates, rates
from foretrain.cost.reach import refuse_beyond
from foretrain.plan.software import SHARED, Software
from foretrain.workload.columns import Operators, operators_of
from foretrain.workload.workload import Workload


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
    operators = operators_of(workload.model)
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
        launches=launches(operators, kinds=kinds, rate=rate),
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
        launches=launches(known.operators, kinds=kinds, rate=rate),
        network=net,
        between=net,
    )
