"""Prices: a workload on a cluster, ready to price tables of plans."""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.cluster.cluster import Cluster
from foretrain.cost.coefficients import DEFAULT, Coefficients
from foretrain.cost.compute import Rates, rates
from foretrain.cost.factors import Factors, Held, factors, hold
from foretrain.cost.memory import heaviest_total
from foretrain.cost.step import StepColumns, step, step_time
from foretrain.plan.table import Column, PlanTable
from foretrain.workload.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What no plan changes, and the formulas over it.

    Attributes:
        workload: what is learned.
        cluster: where.
        coefficients: how well.
    """

    workload: Workload
    cluster: Cluster
    coefficients: Coefficients = DEFAULT

    @property
    def rate(self) -> Rates:
        """What one device reaches."""
        return rates(self.cluster.device, self.workload.precision, self.coefficients)

    def hold(self, plans: PlanTable) -> Held:
        """How each plan cuts the model, and what its layers take."""
        return hold(self.workload, plans)

    def memory(self, held: Held) -> Column:
        """Bytes on a device of the heaviest stage. [plan]"""
        return heaviest_total(self.workload, held, reserve=self.coefficients.memory_reserve)

    def factors(self, held: Held) -> Factors:
        """Everything that the step of each plan is made of."""
        return factors(self.workload, self.cluster, held, self.coefficients)

    def step(self, priced: Factors) -> StepColumns:
        """What a step consists of, in seconds. [plan]"""
        return step(self.workload, priced, self.rate, self.coefficients)

    def step_time(self, priced: Factors) -> Column:
        """Seconds of a step: what `step` adds up to, for half the work. [plan]"""
        return step_time(self.workload, priced, self.rate, self.coefficients)
