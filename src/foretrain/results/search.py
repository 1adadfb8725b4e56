"""What `search` answers."""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.plan.plan import Plan
from foretrain.plan.study import Objective
from foretrain.results.estimate import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A plan and its estimate."""

    plan: Plan
    estimate: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class ParetoPoint:
    """A plan that no other beats in all of time, memory, cost and energy.

    Attributes:
        plan: the plan.
        step_time: seconds, closed form.
        memory: bytes per device.
        cost_per_step: dollars; None without a price.
        energy_per_step: joules; None without power figures.
    """

    plan: Plan
    step_time: float
    memory: float
    cost_per_step: float | None
    energy_per_step: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The best plans of a space.

    Attributes:
        objective: what was minimised.
        best: the best plan; the same as the first of `plans`.
        plans: the k best, in order.
        pareto: plans that no other beats in every respect, fastest first.
        space: distinct plans of the space (aliases of one plan counted once).
        priced: plans that reached the time formula and keep the limits.
        excluded_by_bound: plans that a bound proved worse; 0 for the exhaustive search.
        rejected: plans that are refused, by reason.
        seconds: processor seconds of the search.
        proven_optimal: whether the whole space was looked at.
    """

    objective: Objective
    best: Ranked
    plans: tuple[Ranked, ...]
    pareto: tuple[ParetoPoint, ...]
    space: int
    priced: int
    excluded_by_bound: int
    rejected: dict[str, int]
    seconds: float
    proven_optimal: bool
