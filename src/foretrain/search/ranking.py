"""Ranking: the best plans seen so far, and those that nothing beats."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from foretrain.cost.price import cost, energy
from foretrain.plan.plan import Plan
from foretrain.plan.study import Objective, Study
from foretrain.plan.table import Column, PlanTable, Rows
from foretrain.search.pareto import front


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A plan as the tables priced it.

    Attributes:
        plan: the plan.
        value: what is minimised.
        step_time: seconds, closed form.
        memory: bytes per device.
    """

    plan: Plan
    value: float
    step_time: float
    memory: float

    @property
    def rank(self) -> tuple[float, int, float, str]:
        """Ties go to fewer devices, less memory, the canonical text."""
        return (self.value, self.plan.devices, self.memory, str(self.plan))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Priced:
    """A table of plans that fit, with what they take. [plan]

    Attributes:
        plans: the plans.
        value: what is minimised.
        step_time: seconds.
        memory: bytes per device.
    """

    plans: PlanTable
    value: Column
    step_time: Column
    memory: Column

    def take(self, rows: Rows) -> Priced:
        """Some of them."""
        return Priced(
            plans=self.plans.take(rows),
            value=self.value[rows],
            step_time=self.step_time[rows],
            memory=self.memory[rows],
        )

    def candidates(self, rows: Rows) -> list[Candidate]:
        """Some of them, one by one."""
        return [
            Candidate(
                plan=self.plans.plan(int(row)),
                value=float(self.value[row]),
                step_time=float(self.step_time[row]),
                memory=float(self.memory[row]),
            )
            for row in rows
        ]


@dataclass(slots=True, kw_only=True)
class Found:
    """What a search has found so far.

    Attributes:
        keep: how many of the best plans to keep.
        best: the best plans, in order.
        pareto: plans that no other beats in time and memory, fastest first.
        space: distinct legal plans looked at.
        priced: plans that reached the time formula and keep the limits.
        rejected: plans that are refused, by reason.
        nearest: the plan that misses the memory by least.
        complete: whether the whole space was looked at.
    """

    keep: int
    best: list[Candidate] = field(default_factory=list)
    pareto: list[Candidate] = field(default_factory=list)
    space: int = 0
    priced: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    nearest: Candidate | None = None
    complete: bool = True

    def reject(self, reason: str, count: int) -> None:
        """Count plans that are refused."""
        if count:
            self.rejected[reason] += count

    def revoke(self, reason: str, count: int) -> None:
        """Refuse plans that were counted as priced."""
        self.priced -= count
        self.reject(reason, count)

    def miss(self, plans: PlanTable, memory: Column) -> None:
        """Remember the plan that needs least memory, in case none fits."""
        row = int(np.argmin(memory))
        if self.nearest is None or memory[row] < self.nearest.memory:
            least = float(memory[row])
            self.nearest = Candidate(
                plan=plans.plan(row), value=least, step_time=np.nan, memory=least
            )

    def add(self, priced: Priced) -> None:
        """Rank a table of plans that run."""
        self.priced += len(priced.plans)
        best = priced.candidates(_smallest(priced.value, self.keep))
        self.best = sorted([*self.best, *best], key=lambda candidate: candidate.rank)[: self.keep]
        merged = [*self.pareto, *priced.candidates(front(priced.step_time, priced.memory))]
        times = np.array([candidate.step_time for candidate in merged])
        memories = np.array([candidate.memory for candidate in merged])
        self.pareto = [merged[row] for row in front(times, memories)]


def value(study: Study, step_time: Column, memory: Column) -> Column:
    """What is minimised. [plan]"""
    match study.objective:
        case Objective.TIME:
            return step_time
        case Objective.MEMORY:
            return memory
        case Objective.COST:
            spent = cost(study.cluster, step_time)
        case Objective.ENERGY:
            spent = energy(study.cluster, step_time)
    assert spent is not None, "a search without a price or power was not refused"
    return spent


def over_limits(study: Study, step_time: Column) -> dict[str, NDArray[np.bool_]]:
    """Which plans break a limit on the whole training with their steps alone. [plan]"""
    if study.workload.samples is None:
        return {}
    return over_job_limits(
        study, step_time * (study.workload.samples / study.workload.global_batch)
    )


def over_job_limits(study: Study, seconds: Column) -> dict[str, NDArray[np.bool_]]:
    """Which plans break each limit with the seconds of a whole job; nan breaks none. [plan]"""
    dollars = cost(study.cluster, seconds)
    limit, over = study.limit, {}
    if limit.deadline is not None:
        over["deadline"] = seconds > limit.deadline
    if limit.cost is not None and dollars is not None:
        over["cost limit"] = dollars > limit.cost
    return over


def _smallest(values: Column, keep: int) -> Rows:
    """Rows of the `keep` smallest values and of all that tie with the last of them."""
    if len(values) <= keep:
        return np.arange(len(values))
    return np.flatnonzero(values <= np.partition(values, keep - 1)[keep - 1])
