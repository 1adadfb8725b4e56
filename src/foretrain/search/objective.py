"""What counts in a search: the value of a plan, its trade-offs, the limits that it keeps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretrain.cluster.cluster import Cluster, cost, energy
from foretrain.plan.study import Objective, Study
from foretrain.plan.table import Column
from foretrain.step.estimate import Over, over_job_limits

Floats = NDArray[np.float64]


def value(
    objective: Objective, cluster: Cluster, *, devices: Column, step_time: Column, memory: Column
) -> Column:
    """What is minimised. [plan]"""
    match objective:
        case Objective.TIME:
            return step_time
        case Objective.MEMORY:
            return memory
        case Objective.COST:
            spent = cost(cluster, step_time, devices=devices)
        case Objective.ENERGY:
            spent = energy(cluster, step_time, devices=devices)
    assert spent is not None, "a search without a price or power was not refused"
    return spent


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What trade-offs count beside time and memory, where device counts or clusters differ.

    Attributes:
        money: whether all clusters have a price; device-seconds count where one has none.
        power: whether energy counts too, since clusters with power figures differ.
        several: whether there is anything to choose; else cost and energy are multiples of time.
    """

    money: bool
    power: bool
    several: bool

    def rates(self, cluster: Cluster, devices: Column) -> Floats:
        """What one second of each respect but memory is worth: itself first. [respect, plan]"""
        one = np.ones_like(devices)
        if not self.several:
            return one[np.newaxis]
        spent = cost(cluster, one, devices=devices) if self.money else devices
        drawn = energy(cluster, one, devices=devices) if self.power else None
        return np.stack([rate for rate in (one, spent, drawn) if rate is not None])


def spending(study: Study) -> Spending:
    """What counts in a study."""
    offers = study.choices
    clusters = [offer.cluster for offer in offers]
    return Spending(
        money=all(cluster.price is not None for cluster in clusters),
        power=len(offers) > 1 and all(cluster.node_power is not None for cluster in clusters),
        several=len(offers) > 1 or len(offers[0].nodes) > 1,
    )


def over_limits(study: Study, cluster: Cluster, *, devices: Column, seconds: Column) -> Over:
    """Which plans break a limit on the whole training with their steps alone. [plan]"""
    samples = study.workload.samples
    if samples is None:
        return {}
    whole = seconds * (samples / study.workload.global_batch)
    return over_job_limits(study.limit, cluster, devices=devices, seconds=whole)
