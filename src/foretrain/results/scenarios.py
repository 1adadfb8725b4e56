"""What `scenarios` answers: the best plan whatever comes, and what it costs to have chosen it."""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.plan.plan import Plan
from foretrain.plan.study import Objective
from foretrain.results.ranked import Ranked


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

    name: str
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
