"""Exhaustive search: price every legal plan, limits first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from foretrain.cost.price import cost, energy
from foretrain.cost.prices import Prices
from foretrain.plan.enumeration import ROWS, order_counts, plan_tables, with_orders
from foretrain.plan.plan import Plan
from foretrain.plan.study import Objective, Study
from foretrain.plan.table import Column, PlanTable, Rows
from foretrain.search.pareto import front

MEMORY = "device memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A plan that fits, as the tables priced it.

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


@dataclass(slots=True, kw_only=True)
class Found:
    """What a search has found so far.

    Attributes:
        best: the best plans, in order.
        pareto: plans that no other beats in time and memory, fastest first.
        space: distinct legal plans looked at.
        priced: plans that reached the time formula.
        rejected: plans that cannot run, by reason.
        nearest: the plan that misses the memory by least, while none fits.
        complete: whether the whole space was looked at.
    """

    best: list[Candidate] = field(default_factory=list)
    pareto: list[Candidate] = field(default_factory=list)
    space: int = 0
    priced: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    nearest: Candidate | None = None
    complete: bool = True


def exhaustive(
    study: Study,
    prices: Prices,
    *,
    keep: int,
    progress: Callable[[int], None],
    stop: Callable[[], bool],
) -> Found:
    """The best plans of a space.

    Args:
        study: space, objective and limits.
        prices: of the study's workload and cluster.
        keep: how many of the best plans to keep.
        progress: told the number of plans looked at.
        stop: asked after every table; true ends the search with what was found.
    """
    found = Found()
    _keep_freed_memory()
    for plans in plan_tables(study.workload, study.cluster, study.space, rows=ROWS):
        _look(study, prices, plans, keep=keep, found=found)
        progress(found.space)
        if stop():
            found.complete = False
            break
    return found


def _keep_freed_memory() -> None:
    """Let the allocator keep what columns free, instead of giving it back and asking again.

    The C library keeps as much as twice the largest block that was ever freed, up to this size;
    touching fresh pages for every column would take longer than the arithmetic.
    """
    np.empty(4_000_000)


def _look(study: Study, prices: Prices, plans: PlanTable, *, keep: int, found: Found) -> None:
    """One table: memory first, then time in every order, then the ranking."""
    held = prices.hold(plans)
    memory = prices.memory(held)
    fits = memory <= study.cluster.device.memory
    orders = order_counts(plans, study.cluster, study.space)
    found.space += int(orders.sum())
    if not fits.all():
        found.rejected[MEMORY] += int(orders[~fits].sum())
        _remember_nearest(plans, memory, found)
    rows = np.flatnonzero(fits)
    if not len(rows):
        return
    ordered, source = with_orders(plans.take(rows), study.cluster, study.space)
    priced = prices.factors(held.take(rows[source], ordered))
    time = prices.step_time(priced)
    found.priced += len(time)
    _rank(study, ordered, time, memory[rows[source]], keep=keep, found=found)


def _remember_nearest(plans: PlanTable, memory: Column, found: Found) -> None:
    row = int(np.argmin(memory))
    if found.nearest is None or memory[row] < found.nearest.memory:
        found.nearest = Candidate(
            plan=plans.plan(row),
            value=float(memory[row]),
            step_time=np.nan,
            memory=float(memory[row]),
        )


def _rank(  # noqa: PLR0913 - a table's columns and where they go
    study: Study, plans: PlanTable, time: Column, memory: Column, *, keep: int, found: Found
) -> None:
    kept = np.flatnonzero(_within(study, time, found))
    time, memory = time[kept], memory[kept]
    value = _value(study, time, memory)
    rows = _smallest(value, keep)
    found.best = sorted(
        [*found.best, *_candidates(plans, kept, rows, (value, time, memory))],
        key=lambda candidate: candidate.rank,
    )[:keep]
    rows = front(time, memory)
    merged = [*found.pareto, *_candidates(plans, kept, rows, (value, time, memory))]
    times = np.array([candidate.step_time for candidate in merged])
    memories = np.array([candidate.memory for candidate in merged])
    found.pareto = [merged[row] for row in front(times, memories)] if merged else []


def _within(study: Study, time: Column, found: Found) -> Column:
    """Which plans keep the limits on money and time; counts those that do not."""
    kept = np.ones(len(time), bool)
    if study.workload.samples is None:
        return kept
    seconds = time * (study.workload.samples / study.workload.global_batch)
    dollars = cost(study.cluster, seconds)
    for name, limit, spent in (
        ("deadline", study.limit.deadline, seconds),
        ("cost limit", study.limit.cost, dollars),
    ):
        if limit is not None and spent is not None:
            over = kept & (spent > limit)
            found.rejected[name] += int(over.sum())
            found.priced -= int(over.sum())
            kept &= ~over
    return kept


def _value(study: Study, time: Column, memory: Column) -> Column:
    """What is minimised. Without prices, cost is proportional to time, and energy likewise."""
    if study.objective is Objective.MEMORY:
        return memory
    priced = {Objective.COST: cost, Objective.ENERGY: energy}.get(study.objective)
    values = priced(study.cluster, time) if priced else time
    return time if values is None else values


def _smallest(value: Column, keep: int) -> Rows:
    """Rows of the `keep` smallest values and of all that tie with the last of them."""
    if len(value) <= keep:
        return np.arange(len(value))
    return np.flatnonzero(value <= np.partition(value, keep - 1)[keep - 1])


def _candidates(
    plans: PlanTable, kept: Rows, rows: Rows, columns: tuple[Column, Column, Column]
) -> list[Candidate]:
    value, time, memory = columns
    return [
        Candidate(
            plan=plans.plan(int(kept[row])),
            value=float(value[row]),
            step_time=float(time[row]),
            memory=float(memory[row]),
        )
        for row in rows
    ]
