"""Candidates, what counts among them, and what is proposed.

What is proposed: plans worth running that differ, and what their safety costs.

Candidates: plans as the tables priced them.

What counts in a search: the value of a plan, its trade-offs, the limits that it keeps.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from foretrain.cluster.cluster import Cluster, cost, energy
from foretrain.cluster.offer import part
from foretrain.plan.plan import Plan
from foretrain.plan.study import Objective, Study
from foretrain.plan.table import Column, PlanTable, Rows
from foretrain.show.table import label
from foretrain.show.words import percent, whole
from foretrain.step.estimate import Over, over_job_limits
from foretrain.step.result import Ranked


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal(Ranked):
    """A plan worth running that differs from the others that are proposed.

    Attributes:
        name: what speaks for it, such as "fastest" or "safest, least memory".
        class_: which class of equal plans it leads, counted from 0; `class` in a document.
        probability_best: how likely the plan that truly has the least is of this class, from 0 to
            1, by how published pairs of plans came out beside their predictions.
        folded: other plans of the class that were found.
        more: by what part it has more of the objective than the first that is proposed.
    """

    name: str = field(metadata=label("plan", spare=1))
    class_: int
    probability_best: float = field(
        metadata=label("best", percent, meaning="how likely the truly best plan is like this one")
    )
    folded: int = field(metadata=label("folded", whole, meaning="other plans like it", spare=9))
    more: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Safety:
    """What it costs that a plan must fit with some probability.

    Attributes:
        fits: the probability that was asked for.
        riskier: the best plan of those that are predicted to fit.
        gain: by what part it has less of the objective than the best that is safe.
    """

    fits: float
    riskier: Ranked
    gain: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A plan as the tables priced it.

    Attributes:
        plan: the plan.
        cluster: with the most nodes of its kind that may be rented; the plan may use fewer.
        value: what is minimised.
        step_time: seconds, closed form.
        memory: bytes per device.
    """

    plan: Plan
    cluster: Cluster
    value: float
    step_time: float
    memory: float

    @property
    def rented(self) -> Cluster:
        """Only the nodes that the plan uses."""
        return part(self.cluster, self.plan.devices // self.cluster.node_devices)

    @property
    def rank(self) -> tuple[float, int, float, float, str, str]:
        """Ties go to fewer devices, less memory, less time, the canonical text."""
        return (
            self.value,
            self.plan.devices,
            self.memory,
            self.step_time,
            str(self.plan),
            self.cluster.name,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Priced:
    """A table of plans that fit, with what they take. [plan]

    Attributes:
        cluster: with the most nodes that a plan may use.
        plans: the plans.
        value: what is minimised.
        step_time: seconds.
        memory: bytes per device.
        energy: joules of a step; None where nobody asks.
    """

    cluster: Cluster
    plans: PlanTable
    value: Column
    step_time: Column
    memory: Column
    energy: Column | None = None

    def take(self, rows: Rows) -> Priced:
        """Some of them."""
        return Priced(
            cluster=self.cluster,
            plans=self.plans.take(rows),
            value=self.value[rows],
            step_time=self.step_time[rows],
            memory=self.memory[rows],
            energy=None if self.energy is None else self.energy[rows],
        )

    def candidate(self, row: int) -> Candidate:
        """One of them."""
        return Candidate(
            plan=self.plans.plan(row),
            cluster=self.cluster,
            value=float(self.value[row]),
            step_time=float(self.step_time[row]),
            memory=float(self.memory[row]),
        )


Floats = NDArray[np.float64]


def value(
    objective: Objective,
    cluster: Cluster,
    *,
    devices: Column,
    step_time: Column,
    memory: Column,
    computing: Column | None,
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
            assert computing is not None, "energy without what is computed"
            spent = energy(cluster, step_time, computing=computing, devices=devices)
    assert spent is not None, "a search without a price or power was not refused"
    return spent


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What trade-offs count beside time and memory, where device counts or clusters differ.

    Attributes:
        money: whether all clusters have a price; device-seconds count where one has none.
        power: whether energy counts too: it is what is minimised, or clusters with power figures
            differ.
        several: whether there is anything to choose; else cost is a multiple of time.
    """

    money: bool
    power: bool
    several: bool

    def rates(self, cluster: Cluster, devices: Column) -> Floats:
        """What one second is worth, and what it costs. [respect, plan]"""
        one = np.ones_like(devices)
        if not self.several:
            return one[np.newaxis]
        spent = cost(cluster, one, devices=devices) if self.money else devices
        return np.stack([rate for rate in (one, spent) if rate is not None])


def counts_energy(study: Study) -> bool:
    """Whether a search asks what plans draw."""
    if study.objective is Objective.ENERGY:
        return True
    offers = study.choices
    return len(offers) > 1 and all(offer.cluster.node_power is not None for offer in offers)


def spending(study: Study) -> Spending:
    """What counts in a study."""
    offers = study.choices
    clusters = [offer.cluster for offer in offers]
    return Spending(
        money=all(cluster.price is not None for cluster in clusters),
        power=counts_energy(study),
        several=len(offers) > 1 or len(offers[0].nodes) > 1,
    )


def over_limits(study: Study, cluster: Cluster, *, devices: Column, seconds: Column) -> Over:
    """Which plans break a limit on the whole training with their steps alone. [plan]"""
    samples = study.workload.samples
    if samples is None:
        return {}
    whole = seconds * (samples / study.workload.global_batch)
    return over_job_limits(study.limit, cluster, devices=devices, seconds=whole)
