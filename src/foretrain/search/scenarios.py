"""What becomes of a shape in a scenario: its value there, its regret, or why it cannot run.

scenarios: which plan is best in each of several futures, and which is never far from it?
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import fsum, inf

from foretrain.coefficients.coefficients import Coefficients
from foretrain.errors import InputError, NoPlanFits
from foretrain.plan.legality import problems, within
from foretrain.plan.plan import Plan
from foretrain.plan.shape import on
from foretrain.plan.study import Scenario, Study
from foretrain.plan.table import spelled
from foretrain.search.best_plans import best_plans
from foretrain.search.explain.differences import spent
from foretrain.search.explain.limits import excesses
from foretrain.search.regret import ROUNDING, Contest, Least, least_regret
from foretrain.search.result import (
    Choice,
    Outcome,
    Progress,
    ScenarioAnswer,
    Scenarios,
    SearchResult,
)
from foretrain.step.price import price_plan
from foretrain.step.setting import Setting
from foretrain.step.software import study_setting
from foretrain.study.coefficients import DEFAULT
from foretrain.study.settings import GIVEN


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A shape on the devices of a scenario that suit it best.

    Attributes:
        plan: with its replicas; None if it cannot run.
        value: what it has of the objective, closed form.
        reason: why it cannot run, on the most devices that may be had.
    """

    plan: Plan | None
    value: float | None
    reason: str | None


def placed(study: Study, shape: Plan, coefficients: Coefficients) -> Placed:
    """A shape in a scenario, on the number of devices on which it has least of the objective."""
    # Everything that may be rented within the limits, the largest of each offer first.
    found = [
        _on(study_setting(study, offer.of(devices), coefficients), shape, study=study)
        for offer in within(study.choices, study.limit)
        for devices in reversed(offer.devices)
    ]
    running = [each for each in found if each.value is not None]
    return min(running, key=lambda each: (each.value or 0.0, str(each.plan)), default=found[0])


def _on(setting: Setting, shape: Plan, *, study: Study) -> Placed:
    cluster = setting.cluster
    plan, estimate = on(shape, cluster.devices, experts=bool(study.workload.model.experts)), None
    if plan is None:
        reason = (
            f"{cluster.devices:,} devices are no multiple of tensor x context x pipeline = "
            f"{shape.tensor * shape.context * shape.pipeline:,}"
        )
    elif wrong := problems(study.workload, cluster, plan):
        reason = wrong[0].rstrip(".")
    elif keys := study.space.keys_against(plan, study.workload.model):
        value = spelled(getattr(plan, keys[0]))
        reason = f"its [plan] has no {keys[0]} = {value}"
    else:
        estimate = price_plan(setting, plan, played=False, job=study.job)
        over = [each.limit for each in excesses(setting, estimate, study.limit)]
        if estimate.fits and not over:
            return Placed(plan=plan, value=spent(study.objective, estimate), reason=None)
        reason = f"over the {over[0]}" if estimate.fits else str(estimate.reason)
    return Placed(plan=None, value=None, reason=reason)


OVER = "in the closed form each of the best plans is over search.limit."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Field:
    """A scenario that some plan can answer.

    Attributes:
        scenario: the scenario.
        best: closed-form value of its best plan.
        shapes: of its k best plans, the best of the closed form first.
    """

    scenario: Scenario
    best: float
    shapes: tuple[Plan, ...]


def scenarios(
    study: Study,
    *,
    coefficients: Coefficients = DEFAULT,
    keep: int = 10,
    given: SearchResult | None = None,
    progress: Callable[[Progress], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Scenarios:
    """The best plan of each scenario, and the plan with the least worst regret over all of them.

    The regret of a plan in a scenario is its value there over the best value there, less 1. A plan
    keeps its shape from one scenario to the next, and its data axis follows the devices. All
    values are those of the closed form.

    Args:
        study: the question as it is given, with its scenarios.
        coefficients: how well hardware and software do.
        keep: how many plans of each scenario to begin with.
        given: what `search` answered to the study itself; None to ask it here.
        progress: told how far each search has come.
        stop: asked now and then; true ends the search with what was found.

    Raises:
        NoPlanFits: no scenario has a plan.
    """
    if not keep >= 1:
        raise InputError(f"keep must be at least 1, got {keep}.")
    asked = (Scenario(name=GIVEN, study=study), *study.scenarios)
    answers, fields = [], []
    for scenario in asked:
        known = given if scenario.study is study else None
        try:
            found = known or best_plans(
                replace(scenario.study, scenarios=()),
                coefficients=coefficients,
                keep=keep,
                trade_offs=False,
                progress=progress,
                stop=stop,
            )
        except (NoPlanFits, InputError) as error:
            answers.append(_unanswered(scenario, str(error)))
            continue
        field, answer = _answered(scenario, found, coefficients)
        answers.append(answer)
        fields += [field] if field else []
    if not fields:
        told = "\n".join(f"{answer.name}: {answer.reason}" for answer in answers)
        raise NoPlanFits(f"no plan fits in any scenario.\n{told}")
    return _compared(answers, fields, coefficients=coefficients, keep=keep, stop=stop)


def _unanswered(scenario: Scenario, reason: str) -> ScenarioAnswer:
    return ScenarioAnswer(
        name=scenario.name,
        objective=scenario.study.objective,
        best=None,
        value=None,
        proven_optimal=False,
        reason=reason,
    )


def _answered(
    scenario: Scenario, found: SearchResult, coefficients: Coefficients
) -> tuple[_Field | None, ScenarioAnswer]:
    """The best plan of the closed form among those that a search ranked."""
    shapes = [replace(each.plan, data=1) for each in found.ranking]
    values = [placed(scenario.study, shape, coefficients).value for shape in shapes]
    ranked = sorted((value, place) for place, value in enumerate(values) if value is not None)
    if not ranked:
        return None, _unanswered(scenario, OVER)
    value, first = ranked[0]
    answer = ScenarioAnswer(
        name=scenario.name,
        objective=scenario.study.objective,
        best=found.ranking[first],
        value=value,
        proven_optimal=found.proven_optimal,
        reason=None,
    )
    in_order = tuple(shapes[place] for _, place in ranked)
    return _Field(scenario=scenario, best=value, shapes=in_order), answer


def _compared(
    answers: Sequence[ScenarioAnswer],
    fields: Sequence[_Field],
    *,
    coefficients: Coefficients,
    keep: int,
    stop: Callable[[], bool] | None,
) -> Scenarios:
    """The best plans in one another's scenarios, and the plan that loses least in the worst."""
    known = {shape: None for field in fields for shape in field.shapes}
    choices = {shape: _choice(shape, fields, coefficients) for shape in known}
    rivals = {field.shapes[0]: choices[field.shapes[0]] for field in fields}
    everywhere = [choice for choice in choices.values() if choice.worst is not None]
    least = min(everywhere, key=_rank, default=None)
    worst = inf if least is None or least.worst is None else least.worst
    certain = all(answer.proven_optimal for answer in answers if answer.best)
    # Nothing is compared with best plans that are not known to be the best, or below no regret.
    ask = (stop or (lambda: False)) if certain else (lambda: True)
    contests = []
    for field in fields if worst else ():
        study = field.scenario.study
        settings = {
            offer: study_setting(study, offer.cluster, coefficients)
            for offer in within(study.choices, study.limit)
        }
        contests.append(Contest(study=study, settings=settings, best=field.best))
    found = Least(shapes=(), proven=True, bound=0.0)
    if contests:
        found = least_regret(contests, known=worst, keep=keep, stop=ask)
    swept = [_choice(regret.shape, fields, coefficients) for regret in found.shapes]
    kept = [choice for choice in swept if choice.worst is not None]
    least = min([*everywhere, *kept], key=_rank, default=None)
    reached = least is None or (least.worst or 0.0) <= found.bound + ROUNDING
    return Scenarios(
        answers=tuple(answers),
        rivals=tuple(rivals.values()),
        least=least,
        proven=certain and found.proven and reached,
        bound=found.bound,
    )


def _choice(shape: Plan, fields: Sequence[_Field], coefficients: Coefficients) -> Choice:
    """What becomes of a shape in every scenario that some plan can answer."""
    outcomes = []
    for field in fields:
        found = placed(field.scenario.study, shape, coefficients)
        outcomes.append(
            Outcome(
                scenario=field.scenario.name,
                plan=found.plan,
                value=found.value,
                regret=None if found.value is None else found.value / field.best - 1.0,
                reason=found.reason,
            )
        )
    plan = next((each.plan for each in outcomes if each.plan is not None), shape)
    regrets = [each.regret for each in outcomes if each.regret is not None]
    everywhere = len(regrets) == len(outcomes)
    return Choice(
        plan=plan,
        outcomes=tuple(outcomes),
        worst=max(regrets) if everywhere else None,
        mean=fsum(regrets) / len(regrets) if everywhere else None,
    )


def _rank(choice: Choice) -> tuple[float, float, str]:
    """Least worst regret, then least mean, then the canonical text."""
    assert choice.worst is not None, "a plan that cannot run everywhere has no worst regret"
    assert choice.mean is not None, "a plan that cannot run everywhere has no mean regret"
    return (choice.worst, choice.mean, str(choice.plan))
