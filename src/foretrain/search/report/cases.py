"""Reports of `search` in several cases: on two kinds of devices, and over scenarios.

The report of `search` on two kinds of devices: how they share the work, and whether it pays.

Reports of what may turn out otherwise: other scenarios, coefficients that nobody knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from foretrain.plan.plan import AXES, Plan
from foretrain.plan.study import Objective, Study
from foretrain.search.report.ranking import plan_columns
from foretrain.search.result import Choice, Robust, Scenarios, Swing
from foretrain.show.report import AnswerReport, Bullets, Note, ReportSection, Strong
from foretrain.show.table import Column, Fact, Shown, Table, table
from foretrain.show.words import SPENT, count, percent, written
from foretrain.step import facts
from foretrain.step.facts import amount, question
from foretrain.step.pair import Alone, MixedPlan, MixedResult
from foretrain.units import BYTES, DOLLARS, JOULES, SECONDS, Quantity


def mixed_report(study: Study, result: MixedResult) -> AnswerReport:
    """What is said of a search on two kinds of devices."""
    best, both = result.best, study.mixed
    assert both is not None, "a study of one kind was not refused"
    groups = (
        Fact(label=label, text=facts.nodes(cluster), more=facts.devices(cluster))
        for label, cluster in zip(("Group 1", "Group 2"), both.kinds, strict=True)
    )
    asked = ReportSection(name="asked", title="", body=((*question(study)[:2], *groups),))
    told = []
    for kind in best.kinds:
        batches = count(kind.micro_batches, "micro-batch", plural="micro-batches")
        stages = f"{count(kind.stages, 'stage')} of " if kind.stages else ""
        replicas = f"{stages}{count(kind.replicas, 'replica')}"
        told.append(f"{kind.cluster}: {percent(kind.share)}; {replicas}, {batches} each.")
    found = ReportSection(
        name="best",
        title=f"Best plan on both, by {best.mode}: {_short(best.plan)}",
        body=(
            Bullets(tuple(told)),
            tuple(_takes(study, best)),
            Strong("A step of each kind"),
            kinds(best),
            Strong(f"The {count(len(result.plans), 'best plan')} on both"),
            ranking(result.plans),
        ),
    )
    alone = ReportSection(
        name="alone",
        title=mixed_verdict(result),
        body=(
            tuple(map(_alone, result.alone)),
            "",
            Note(effort(result)),
            (Fact(label="Assumed", text="; ".join(result.assumed)),),
        ),
    )
    title = f"{study.workload.model.name} on two kinds of devices"
    return AnswerReport(kind="Best plan", title=title, sections=(asked, found, alone))


LESS: Final = {
    Objective.TIME: "time per step",
    Objective.COST: "money per step",
    Objective.ENERGY: "energy per step",
    Objective.MEMORY: "memory per device",
}


def mixed_verdict(result: MixedResult) -> str:
    """Whether both kinds together are better than one of them alone."""
    if result.gain is None:
        return "Worth it: neither kind suffices alone."
    of = f"{LESS[result.objective]} than {result.rival} alone"
    if result.gain > 0:
        return f"Worth it: both together need {percent(result.gain)} less {of}."
    return f"Not worth it: both together need {percent(-result.gain)} more {of}."


def effort(result: MixedResult) -> str:
    """What was priced and what was refused."""
    refused = ", ".join(f"{many:,} refused by {reason}" for reason, many in result.rejected.items())
    proven = "" if result.proven_optimal else "Cut short. "
    return (
        f"{proven}{count(result.space, 'plan')} on both: {result.priced:,} priced, "
        f"{result.excluded_by_bound:,} excluded by a bound"
        f"{f', {refused}' if refused else ''}; "
        f"{written(SECONDS, result.seconds)} of processor time"
    )


def kinds(plan: MixedPlan) -> Table:
    """What each kind does in a step and what it waits for."""
    memory = Column(name="memory", number=True, unit=BYTES)
    return table(
        plan.kinds,
        *("cluster", "share", "compute", "update", "other_kind", "rest"),
        (memory, lambda kind: kind.memory.total),
    )


def ranking(plans: tuple[MixedPlan, ...]) -> Table:
    """The best plans, best first."""
    return table(
        plans,
        "mode",
        (Column(name="plan"), lambda each: _short(each.plan)),
        (
            Column(name="shares"),
            lambda each: " + ".join(percent(kind.share) for kind in each.kinds),
        ),
        "step_time",
        (Column(name="memory", number=True, unit=BYTES), lambda each: each.memory),
        "mfu",
        numbered=True,
        best=0,
    )


def _short(plan: Plan) -> str:
    """The plan without its order of axes and its groups, which are told in sentences."""
    return str(replace(plan, order=AXES, groups=None))


def _takes(study: Study, plan: MixedPlan) -> Iterator[Fact]:
    yield Fact(label="Step", text=written(SECONDS, plan.step_time))
    yield Fact(label="Efficiency", text=f"MFU {percent(plan.mfu)}", more="of all devices' peaks")
    spent = [
        written(quantity, value)
        for quantity, value in ((DOLLARS, plan.cost_per_step), (JOULES, plan.energy_per_step))
        if value is not None
    ]
    if spent:
        yield Fact(label="Per step", text=", ".join(spent))
    if plan.time_to_train is not None:
        dollars = plan.cost_to_train
        cost = "" if dollars is None else f", {written(DOLLARS, dollars)}"
        time = written(SECONDS, plan.time_to_train)
        yield Fact(label="To train", text=f"{time}{cost}", more=amount(study))


def _alone(alone: Alone) -> Fact:
    """The best on one kind, or why there is none."""
    if alone.estimate is None:
        return Fact(label="Alone", text=f"{alone.cluster}: {alone.reason}")
    step = written(SECONDS, alone.estimate.step_time)
    return Fact(label="Alone", text=f"{alone.cluster}: {step}", more=str(alone.estimate.plan))


LEAST = "least regret"
"""What the plan with the least worst regret is called beside the best of each scenario."""

REGRET = (
    "Regret: what a plan takes beyond the best of a scenario, by the closed form. A plan keeps its "
    "shape, its replicas follow the devices."
)


def scenarios_section(answer: Scenarios) -> ReportSection:
    """What is said of scenarios."""
    return ReportSection(
        name="scenarios",
        title="The best plan of each scenario",
        body=(
            best(answer),
            Strong("What each of them loses in the others"),
            regret(answer),
            Note(REGRET),
            *refusals(answer),
            Strong(verdict(answer)),
        ),
    )


def best(answer: Scenarios) -> Table:
    """The best plan of every scenario that has one, and what it takes."""
    found = [each for each in answer.answers if each.best is not None]
    return table(
        found,
        "name",
        *plan_columns(found, lambda each: each.best.plan),
        (
            Column(name="value", meaning="per step, of the scenario's objective", number=True),
            lambda each: written(SPENT[each.objective], each.value),
        ),
        legend=True,
    )


def regret(answer: Scenarios) -> Table:
    """What the plan with the least regret and the best plans lose in every scenario."""
    shown = [(LEAST, answer.least)] if answer.least else []
    shown += [(f"best of {', '.join(_bests(choice))}", choice) for choice in answer.rivals]
    names = [outcome.scenario for outcome in answer.rivals[0].outcomes]
    columns = (
        Column(name="plan"),
        *(Column(name=name, number=True) for name in names),
        Column(name="worst", number=True),
        Column(name="mean", number=True),
    )
    rows = [
        (
            name,
            *(_percent(each.regret, otherwise="no") for each in choice.outcomes),
            _percent(choice.worst),
            _percent(choice.mean),
        )
        for name, choice in shown
    ]
    return Table(columns=columns, rows=tuple(rows), best=0 if answer.least else None)


def refusals(answer: Scenarios) -> list[str]:
    """Why a scenario has no plan, and why the best of one cannot run in another."""
    unanswered = [f"{each.name}: {each.reason}" for each in answer.answers if each.best is None]
    return unanswered + [
        f"The best plan of {', '.join(map(repr, _bests(choice)))} cannot run in "
        f"{each.scenario!r}: {each.reason}."
        for choice in answer.rivals
        for each in choice.outcomes
        if each.reason is not None
    ]


def verdict(answer: Scenarios) -> str:
    """Which plan to choose before anybody knows what comes, and whether that is proven."""
    least = answer.least
    if least is None:
        nothing = "no plan found runs in all of these scenarios"
        return (
            f"Proven by the closed form: {nothing}."
            if answer.proven
            else f"{nothing.capitalize()}."
        )
    if least.worst == 0.0:
        known = "" if answer.proven else " that was found"
        return f"One plan is the best{known} whatever comes: {least.plan}."
    assert least.worst is not None, "the plan of least regret runs everywhere"
    assert least.mean is not None, "the plan of least regret runs everywhere"
    where = max(least.outcomes, key=lambda each: each.regret or 0.0).scenario
    told = (
        f"Least regret: {least.plan}. It is at most {percent(least.worst)} from the best "
        f"(in scenario {where!r}), {percent(least.mean)} on average."
    )
    if answer.proven:
        return f"{told} Proven by the closed form: no plan has less."
    return f"{told} Not proven: none has less than {percent(answer.bound)}."


def _bests(choice: Choice) -> list[str]:
    """In which scenarios it is the best plan."""
    return [outcome.scenario for outcome in choice.outcomes if outcome.regret == 0.0]


def _percent(share: float | None, *, otherwise: str = "") -> str:
    return otherwise if share is None else percent(share)


SHOWN = 10
"""Ends of intervals that the terminal shows."""

MEASURED: Mapping[str, Quantity] = {"s": SECONDS, "B": BYTES}
"""What coefficients that are no ratios are measured in, by their unit."""

TITLE = "What if a coefficient is not what we think?"
NOTE = (
    "Each coefficient in turn stands at one end of its interval, the others at their values. Ends "
    "that change no distance between the plans are left out."
)


def robust_section(answer: Robust) -> ReportSection:
    """What is said of a robust choice."""
    body = (swings(answer), Note(NOTE), Strong(robust_verdict(answer)))
    return ReportSection(name="robust", title=TITLE, body=body)


def swings(answer: Robust) -> Table:
    """What the best plan and the robust choice lose under each end of an interval."""

    def lost(plan: int) -> Shown:
        def told(swing: Swing) -> str:
            regret = swing.regrets[plan]
            return "does not fit" if regret is None else percent(regret)

        return Column(name=f"plan {plan + 1} loses", number=True), told

    def value(swing: Swing) -> str:
        """What the coefficient is then, with its unit."""
        quantity = MEASURED.get(swing.unit)
        return f"{swing.value:.4g}" if quantity is None else written(quantity, swing.value)

    def best(swing: Swing) -> str:
        """Place of the plan that is best under this end; nothing where none fits."""
        return str(swing.regrets.index(0.0) + 1) if 0.0 in swing.regrets else ""

    return table(
        answer.swings,
        "coefficient",
        "end",
        (Column(name="value", number=True), value),
        (
            Column(name="best", meaning="plan of the ranking that is best then", number=True),
            best,
        ),
        *map(lost, dict.fromkeys((0, answer.choice))),
        most=SHOWN,
    )


def robust_verdict(answer: Robust) -> str:
    """How far from the best of them the best plan may be, and which plan is never far."""
    among = count(len(answer.plans), "best plan")
    if not answer.swings:
        return f"No coefficient, inside its interval, changes how far apart the {among} are."
    first = answer.swings[0]
    where = f"{first.coefficient} at its {first.end} end"
    if answer.worst[0] is None:
        fitting = max(each.regrets[0] or 0.0 for each in answer.swings)
        told = (
            f"The best plan may not fit after all: {where}. Where it fits it stays within "
            f"{percent(fitting)} of the best of the {among}."
        )
    else:
        told = (
            f"The best plan stays within {percent(answer.worst[0])} of the best of the {among}, "
            f"whatever one coefficient does inside its interval; worst: {where}."
        )
    worst, place = answer.worst[answer.choice], answer.choice + 1
    if answer.choice == 0:
        return f"{told} None of the others does better."
    if worst is None:
        return f"{told} Each may not fit; where it fits, plan {place} loses least."
    return f"{told} Plan {place} stays within {percent(worst)}: {answer.plans[answer.choice]}."
