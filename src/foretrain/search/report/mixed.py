"""The report of `search` on two kinds of devices: how they share the work, and whether it pays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from foretrain.plan.plan import AXES, Plan
from foretrain.plan.study import Objective, Study
from foretrain.show.report import AnswerReport, Bullets, Note, ReportSection, Strong
from foretrain.show.table import Column, Fact, Table, table
from foretrain.show.words import count, percent, written
from foretrain.step import facts
from foretrain.step.facts import amount, question
from foretrain.step.pair import Alone, MixedPlan, MixedResult
from foretrain.units import BYTES, DOLLARS, JOULES, SECONDS


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
        title=verdict(result),
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


def verdict(result: MixedResult) -> str:
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
