"""Candidates: plans as the tables priced them."""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.offer import part
from foretrain.plan.plan import Plan
from foretrain.plan.table import Column, PlanTable, Rows


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
    """

    cluster: Cluster
    plans: PlanTable
    value: Column
    step_time: Column
    memory: Column

    def take(self, rows: Rows) -> Priced:
        """Some of them."""
        return Priced(
            cluster=self.cluster,
            plans=self.plans.take(rows),
            value=self.value[rows],
            step_time=self.step_time[rows],
            memory=self.memory[rows],
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
