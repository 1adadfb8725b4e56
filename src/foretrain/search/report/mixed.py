"""The report of `search` on two kinds of devices: how they share the work, and whether it pays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from rich.console import Group
from rich.padding import Padding

from foretrain.plan.plan import AXES, Plan
from foretrain.plan.study import Objective, Study
from foretrain.show import terminal
from foretrain.show.table import Column, Fact, Table
from foretrain.show.words import count, percent, written
from foretrain.step import rent
from foretrain.step.facts import amount, question
from foretrain.step.pair import Alone, KindTimes, MixedPlan, MixedResult
from foretrain.units import BYTES, DOLLARS, JOULES, SECONDS


def mixed_text(study: Study, result: MixedResult) -> Group:
    """What the terminal shows of a search on two kinds of devices."""
    best = result.best
    return Group(
        terminal.facts((*question(study)[:2], *_groups(study))),
        terminal.heading(f"Best plan on both, by {best.mode}: {_short(best.plan)}"),
        Padding("\n".join(map(_sentence, best.kinds)), (0, 0, 1, 2)),
        terminal.facts(_takes(study, best)),
        terminal.heading("A step of each kind"),
        terminal.table(kinds(best)),
        terminal.heading(f"The {count(len(result.plans), 'best plan')} on both"),
        terminal.table(ranking(result.plans), best=0),
        terminal.heading(verdict(result)),
        terminal.facts(_alone(each) for each in result.alone),
        "",
        terminal.note(effort(result)),
        terminal.facts([Fact(label="Assumed", text="; ".join(result.assumed))]),
    )


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
    columns = (
        Column(name="group"),
        Column(name="share", number=True),
        Column(name="passes", number=True),
        Column(name="update", number=True),
        Column(name="waits for the other", number=True),
        Column(name="rest", number=True),
        Column(name="memory", number=True),
    )
    rows = [
        (
            kind.cluster,
            percent(kind.share),
            *(written(SECONDS, each) for each in _seconds(kind)),
            written(BYTES, kind.memory.total),
        )
        for kind in plan.kinds
    ]
    return Table(columns=columns, rows=tuple(rows))


def ranking(plans: tuple[MixedPlan, ...]) -> Table:
    """The best plans, best first."""
    columns = (
        Column(name="#", number=True),
        Column(name="by"),
        Column(name="plan"),
        Column(name="shares"),
        Column(name="step", number=True),
        Column(name="memory", number=True),
        Column(name="MFU", number=True, spare=1),
    )
    rows = [
        (
            str(place),
            plan.mode.value,
            _short(plan.plan),
            " + ".join(percent(kind.share) for kind in plan.kinds),
            written(SECONDS, plan.step_time),
            written(BYTES, plan.memory),
            percent(plan.mfu),
        )
        for place, plan in enumerate(plans, start=1)
    ]
    return Table(columns=columns, rows=tuple(rows))


def _groups(study: Study) -> Iterator[Fact]:
    assert study.mixed is not None
    for label, cluster in zip(("Group 1", "Group 2"), study.mixed.kinds, strict=True):
        yield Fact(label=label, text=rent.nodes(cluster), more=rent.devices(cluster))


def _short(plan: Plan) -> str:
    """The plan without its order of axes, which says nothing new where kinds lie together."""
    return str(replace(plan, order=AXES))


def _sentence(kind: KindTimes) -> str:
    """One kind in words."""
    batches = count(kind.micro_batches, "micro-batch", plural="micro-batches")
    stages = f"{count(kind.stages, 'stage')} of " if kind.stages else ""
    return (
        f"{kind.cluster}: {percent(kind.share)}; {stages}{count(kind.replicas, 'replica')}, "
        f"{batches} each."
    )


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


def _seconds(kind: KindTimes) -> tuple[float, float, float, float]:
    return kind.compute, kind.update, kind.other_kind, kind.rest
