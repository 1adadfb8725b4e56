"""What `search` answers."""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.plan.plan import Plan
from foretrain.plan.study import Objective
from foretrain.results.ranked import Ranked
from foretrain.results.robust import Robust
from foretrain.results.scenarios import Scenarios
from foretrain.results.why_not import WhyNot


@dataclass(frozen=True, slots=True, kw_only=True)
class ParetoPoint:
    """A plan that no other beats in all of time, memory, cost and energy.

    Attributes:
        plan: the plan.
        step_time: seconds, closed form.
        memory: bytes per device.
        cost_per_step: dollars; None without a price.
        energy_per_step: joules; None without power figures.
        cluster: name of the cluster on which it runs.
        devices: how many of its devices.
    """

    plan: Plan
    step_time: float
    memory: float
    cost_per_step: float | None
    energy_per_step: float | None
    cluster: str
    devices: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """All plans of two degrees: one place on the map of a space.

    Attributes:
        tensor: degree of the tensor axis.
        pipeline: degree of the pipeline axis.
        plans: distinct legal plans.
        best: least value among those that were priced; None if none was.
        plan: the plan that has it.
        bound: no plan that was not priced has a smaller value; None if all that fit were priced.
    """

    tensor: int
    pipeline: int
    plans: int
    best: float | None
    plan: Plan | None
    bound: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a search has come.

    Attributes:
        objective: what is minimised.
        settled: plans that are priced, refused or excluded.
        space: plans in all; None while they are not counted.
        best: value of the best plan so far; None if none fits yet.
        plan: that plan.
        gap: by what part of it the best of all plans may at most be better; None if not known.
    """

    objective: Objective
    settled: int
    space: int | None
    best: float | None
    plan: Plan | None
    gap: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The best plans of a space.

    Attributes:
        objective: what was minimised.
        best: the best plan; the same as the first of `plans`.
        plans: the k best, in order.
        pareto: plans that no other beats in every respect, fastest first.
        space: distinct plans of the space (aliases of one plan counted once); the counts of what
            became of them add up to it.
        priced: plans that reached the time formula and keep the limits.
        excluded_by_bound: plans that a bound proved worse; 0 for the exhaustive search.
        cells: the map of the space, by tensor and pipeline degree.
        rejected: plans that are refused, by reason.
        unseen: plans that were not looked at; 0 unless the search was cut short.
        seconds: processor seconds of the search.
        proven_optimal: whether no plan of the space can be better.
        gap: by what part of its value the best plan may at most be beaten; 0 where proven. Of the
            closed form, by which all plans of a search that was cut short are ranked.
        scenarios: what the plans are worth in other futures; None where the study has no others.
        robust: whether the best stays the best while a coefficient is unsure; None if not asked.
        why_not: why each plan that somebody named is not the best, in the order of asking.
    """

    objective: Objective
    best: Ranked
    plans: tuple[Ranked, ...]
    pareto: tuple[ParetoPoint, ...]
    space: int
    priced: int
    excluded_by_bound: int
    rejected: dict[str, int]
    unseen: int
    cells: tuple[Cell, ...]
    seconds: float
    proven_optimal: bool
    gap: float
    scenarios: Scenarios | None = None
    robust: Robust | None = None
    why_not: tuple[WhyNot, ...] = ()

    @property
    def shown(self) -> tuple[Plan, ...]:
        """Every plan that it shows, with which to start the search of a similar question."""
        best = (each.plan for each in self.plans)
        return tuple(dict.fromkeys([*best, *(point.plan for point in self.pareto)]))
