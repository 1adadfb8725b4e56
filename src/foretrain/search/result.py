"""What `robust` answers: whether the best plan stays the best while a coefficient is unsure.

What `scenarios` answers: the best plan whatever comes, and what it costs to have chosen it.

What `why_not` answers: why a plan that somebody named is not the best.

What `search` answers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from foretrain.plan.plan import Plan
from foretrain.plan.study import Objective
from foretrain.search.candidate import Proposal, Safety
from foretrain.show.document import Shown
from foretrain.show.table import label
from foretrain.show.words import whole
from foretrain.step.result import Estimate, Ranked
from foretrain.units import BYTES, DOLLARS, JOULES, SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Swing:
    """One coefficient at one end of its interval.

    Attributes:
        coefficient: its name.
        end: low or high.
        value: of the coefficient.
        unit: of the value; 1 for a ratio.
        regrets: by what part each of the plans has more than the best of them has then; None for a
            plan that does not fit. [plan]
    """

    coefficient: str = field(metadata=label("coefficient"))
    end: str = field(metadata=label("stands at", "its {} end".format, number=False))
    value: float
    unit: str
    regrets: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Robust:
    """The best plans of a search, each coefficient in turn at the ends of its interval.

    Attributes:
        plans: the plans, in the order of the search.
        swings: the ends that change the distance between any two of the plans, those under which
            the best plan loses most first.
        worst: largest regret of each plan; None for one that does not fit under some end. [plan]
        choice: place of the plan with the least worst regret, counted from 0; of those that do not
            always fit the one with the least regret where it fits.
    """

    plans: tuple[Plan, ...]
    swings: tuple[Swing, ...]
    worst: tuple[float | None, ...]
    choice: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioAnswer:
    """The best plan of one scenario.

    Attributes:
        name: the user's; the study itself is "as given".
        objective: what was minimised.
        best: the plan with the least value in the closed form, and its estimate; None if no plan
            runs.
        value: what it has of the objective, closed form: seconds, dollars, joules or bytes.
        proven_optimal: whether no plan of the scenario's space can have less.
        reason: why no plan runs; None if one does.
    """

    name: str = field(metadata=label("scenario"))
    objective: Objective
    best: Ranked | None
    value: float | None
    proven_optimal: bool
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What becomes of a plan in one scenario.

    Attributes:
        scenario: name of the scenario.
        plan: the plan with as many replicas as the scenario has devices for; None if it cannot run.
        value: what it has of the scenario's objective, closed form.
        regret: by what part of the scenario's best value it has more than that.
        reason: why it cannot run; None if it can.
    """

    scenario: str
    plan: Plan | None
    value: float | None
    regret: float | None
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A plan that is chosen before anybody knows which scenario comes.

    Attributes:
        plan: as it runs in the first scenario in which it can.
        outcomes: what becomes of it, one for each scenario that any plan can answer.
        worst: its largest regret; None if it cannot run in one of them.
        mean: the mean of its regrets; None if it cannot run in one of them.
    """

    plan: Plan
    outcomes: tuple[Outcome, ...]
    worst: float | None
    mean: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenarios:
    """The best plan of every scenario, and the plan that is never far from it.

    Attributes:
        answers: the best plan of each, the study as it is given first.
        rivals: those plans, each once, in every scenario.
        least: the plan with the least worst regret, ties broken by the mean; None if none was
            found that runs in every scenario that any plan can answer.
        proven: whether no plan has a smaller worst regret, or none runs in all of them.
        bound: no plan has a worst regret below this.
    """

    answers: tuple[ScenarioAnswer, ...]
    rivals: tuple[Choice, ...]
    least: Choice | None
    proven: bool
    bound: float


class Verdict(StrEnum):
    """What keeps a plan from being the best; the first that holds."""

    ILLEGAL = "not legal"
    MISFIT = "does not fit"
    OVER_LIMIT = "breaks a limit"
    OUTSIDE = "outside the space"
    LOSES = "loses"
    RANKED = "ranked"
    BEST = "best"


@dataclass(frozen=True, slots=True, kw_only=True)
class Excess:
    """Something of which a plan needs more than there is, or than the study allows.

    Attributes:
        limit: what is exceeded, in the words of a search's refusals: device memory, deadline.
        needed: what the plan needs: bytes, seconds, dollars, watts.
        allowed: what there is.
    """

    limit: str
    needed: float
    allowed: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """A small change with which a plan fits.

    Attributes:
        change: lines of a study that say so.
        plan: the changed plan.
        nodes: nodes that it runs on.
        step_time: seconds, closed form.
        memory: bytes per device.
        value: what the study minimises.
    """

    change: tuple[str, ...] = field(metadata=label("change", ", ".join, number=False))
    plan: Plan
    nodes: int
    step_time: float = field(
        metadata=label("step", SECONDS, meaning="time of one step, closed form")
    )
    memory: float = field(metadata=label("memory", BYTES, meaning="on the heaviest device"))
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One part of what is minimised, in both plans.

    Attributes:
        part: name of the part, as in an estimate.
        here: what the plan spends on it.
        best: what the best plan spends on it.
        why: what of the plans makes the difference, in words; may be empty.
    """

    part: str
    here: float
    best: float
    why: str = field(metadata=label("why", spare=2))

    @property
    def more(self) -> float:
        """How much more the plan spends; negative where it spends less."""
        return self.here - self.best


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyNot:
    """Why a plan is not the best, or that it is.

    Attributes:
        asked: what was named, as it was written.
        verdict: the answer in a word.
        rules: rules that it breaks, each with what would be legal.
        plan: the plan; of those that have what was named, the best, or where none fits the one
            that needs least memory. None if none is legal.
        estimate: what it takes.
        cluster: name of the cluster on which it would run.
        nodes: how many of its nodes.
        excluded_by: keys of the study that leave it out, in words.
        excess: what it needs more than there is.
        remedies: single changes with which it fits, the best first.
        place: its place in the ranking, from 1; None if it is not among the plans shown.
        loss: by what part of the best plan's value it is worse; negative if it is better.
        differences: parts of what is minimised, the largest difference first; what they add up
            to is the difference of the two values.
    """

    asked: str
    verdict: Verdict
    rules: tuple[str, ...] = ()
    plan: Plan | None = None
    estimate: Estimate | None = None
    cluster: str | None = None
    nodes: int | None = None
    excluded_by: tuple[str, ...] = ()
    excess: tuple[Excess, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    place: int | None = None
    loss: float | None = None
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ParetoPoint:
    """A plan that no other beats in all of time, memory, cost and what else counts.

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
    step_time: float = field(metadata=label("step", SECONDS, meaning="time of one step"))
    memory: float = field(metadata=label("memory", BYTES, meaning="on the heaviest device"))
    cost_per_step: float | None = field(metadata=label("cost per step", DOLLARS, spare=1))
    energy_per_step: float | None = field(metadata=label("energy per step", JOULES, spare=2))
    cluster: str = field(metadata=label("cluster"))
    devices: int = field(metadata=label("devices", whole))


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


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SearchResult(Shown):
    """The best plans of a space.

    Attributes:
        objective: what was minimised.
        best: the plan to run: the first of `plans`.
        plans: plans worth running that differ, the best class first; each leads a class of equals.
        ranking: the k plans that are predicted to have least, in order, variations and all.
        safety: what safety costs; None where every plan that fits is safe enough.
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

    rows: ClassVar[str] = "plans"
    columns: ClassVar[tuple[str, ...]] = (
        "name",
        "estimate.step_time",
        "estimate.memory.total",
        "estimate.mfu",
        "probability_best",
    )

    objective: Objective
    best: Proposal
    plans: tuple[Proposal, ...]
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
    ranking: tuple[Ranked, ...] = ()
    safety: Safety | None = None
    scenarios: Scenarios | None = None
    robust: Robust | None = None
    why_not: tuple[WhyNot, ...] = ()

    @property
    def cut_short(self) -> bool:
        """Whether somebody wanted the answer before all plans were looked at."""
        return bool(self.unseen)

    @property
    def shown(self) -> tuple[Plan, ...]:
        """Every plan that it shows, with which to start the search of a similar question."""
        best = (each.plan for each in (*self.plans, *self.ranking))
        return tuple(dict.fromkeys([*best, *(point.plan for point in self.pareto)]))
