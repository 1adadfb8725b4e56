"""Sections of reports of a search: why a plan is not the best, proposals, and the largest size.

The report of `why_not`: one sentence that says why a plan loses, and the tables behind it.

Sections of the report of a search: what is proposed, and the largest size that fits.

The report of the largest size that fits: the size, what the next one needs, how memory grew.

The report of what is proposed: plans that differ, what safety costs, whether it is proven.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from types import MappingProxyType
from typing import Final

from foretrain.plan.study import Maximise, Objective, Study
from foretrain.search.explain.differences import spent
from foretrain.search.largest import Largest
from foretrain.search.report import ranking
from foretrain.search.result import Difference, Excess, SearchResult, Verdict, WhyNot
from foretrain.show.report import Block, Brief, Note, Paper, ReportSection, Strong
from foretrain.show.table import Column, Shown, Table, table
from foretrain.show.words import LEAST, MEMORY, SPENT, count, percent, signed, written
from foretrain.step.facts import ROUNDING
from foretrain.units import BYTES, DOLLARS, PARAMETERS, SECONDS, TOKENS, WATTS

CALLED = {
    "forward": "forward compute",
    "backward": "backward compute",
    "recompute": "recomputation",
    "tensor": "tensor collectives",
    "context": "context exchanges",
    "expert": "expert exchanges",
    "halo": "exchange of borders",
    "pipeline": "sends between stages",
    "gradients": "gradient reduction",
    "parameters": "parameter gathering",
    "update": "optimizer update",
    "offload": "moving to the host",
    "host": "waiting for hosts",
    "input": "waiting for samples",
}
"""Parts of a step, as they stand in a sentence; others go by their name."""

LIMITS = {"deadline": SECONDS, "cost limit": DOLLARS, "power limit": WATTS}
"""What limits are measured in; those of memory in bytes, that of devices is a count."""

MEMORIES = {"device memory": "a device", "host memory": "the host of a node"}
"""Whose room it is that a plan must have to run at all."""

TOLD = 3
"""Differences that the sentence names, with the reason of the first; the table has all."""

SMALL = 0.02
"""Share of the largest difference below which a difference is not worth words."""


def why_not_section(study: Study, answer: WhyNot, *, number: int = 1) -> ReportSection:
    """What is said of why a plan is not the best."""
    body: list[Block] = [*told_of(study, answer)]
    if answer.remedies:
        body += [Strong("What would make it fit"), remedies(study, answer)]
    if answer.loss:
        body += [Strong("Where it differs"), waterfall(study, answer)]
    title = f"Why not {answer.asked}?"
    return ReportSection(name=f"why-not-{number}", title=title, body=tuple(body))


def told_of(study: Study, answer: WhyNot) -> list[str]:
    """The answer in words, what matters most first."""
    told = [*_verdict(answer), *_outlook(study, answer)]
    if answer.plan is None or str(answer.plan) == answer.asked:
        return told
    # Which plan stands for what was asked, where that was not a whole plan.
    leanest = answer.verdict is Verdict.MISFIT
    how = "The plan with it that needs least memory" if leanest else "The best plan with it"
    return [f"{how}: {answer.plan}.", *told]


def waterfall(study: Study, answer: WhyNot) -> Table:
    """Part by part what the plan spends more or less than the best; the rows add up."""
    quantity = SPENT[study.objective]
    here = Column(name="this plan", number=True, spare=1, group="amount", unit=quantity)
    return table(
        [each for each in answer.differences if _tells(each, answer, share=ROUNDING)],
        (
            Column(name="difference", number=True, group="amount"),
            lambda each: signed(quantity, each.more),
        ),
        (Column(name="part"), lambda each: _called(each.part, study.objective)),
        (here, lambda each: each.here),
        (replace(here, name="the best"), lambda each: each.best),
        "why",
    )


def remedies(study: Study, answer: WhyNot) -> Table:
    """Changes with which the plan fits, the best first."""
    spent = Column(
        name=f"{study.objective.value} per step", number=True, unit=SPENT[study.objective]
    )
    priced = study.objective in (Objective.COST, Objective.ENERGY)
    value: tuple[Shown, ...] = ((spent, lambda each: each.value),) * priced
    return table(answer.remedies, "step_time", *value, "memory", "change")


def _verdict(answer: WhyNot) -> Iterator[str]:
    """What keeps the plan from being the best."""
    if answer.verdict is Verdict.ILLEGAL:
        yield from (f"It is not legal: {rule}" for rule in answer.rules)
    for excess in answer.excess:
        yield _exceeds(excess)
    if answer.verdict is Verdict.MISFIT:
        # What fills the heaviest device, the largest first.
        assert answer.estimate, "a plan that does not fit was not priced"
        stage = answer.estimate.memory.heaviest
        parts = sorted(((getattr(stage, name), name) for name in MEMORY), reverse=True)
        held = ", ".join(f"{written(BYTES, amount)} {name}" for amount, name in parts if amount)
        yield f"On its heaviest device: {held}."
        if not answer.remedies:
            yield "No change of one kind makes it fit."
    for key in answer.excluded_by:
        yield f"It is outside the space: {key}."
    if answer.verdict is Verdict.BEST:
        yield "It is the best plan." if answer.place == 1 else "It is as good as the best plan."
    if answer.verdict is Verdict.RANKED:
        yield f"It is plan {answer.place} of the ranking."


def _exceeds(excess: Excess) -> str:
    """What a plan needs too much of, and by how much."""
    name, more = excess.limit, percent(excess.needed / excess.allowed - 1.0)
    quantity = LIMITS.get(name, BYTES)
    needed, allowed = written(quantity, excess.needed), written(quantity, excess.allowed)
    if name in MEMORIES:
        has = f"{MEMORIES[name]} has {allowed}"
        return f"It does not fit: it needs {needed} where {has}, {more} too much."
    if name == "device limit":
        return f"It breaks the {name}: {excess.needed:,.0f} where {excess.allowed:,.0f} may be."
    return f"It breaks the {name}: it needs {needed} where {allowed} are allowed, {more} too much."


def _outlook(study: Study, answer: WhyNot) -> Iterator[str]:
    """By how much it loses or would, and where."""
    if answer.verdict is Verdict.BEST or not answer.loss or answer.estimate is None:
        return
    quantity, loss = SPENT[study.objective], answer.loss
    runs = answer.verdict in (Verdict.LOSES, Verdict.RANKED)
    loses, beats = (
        ("loses", "beats the best by") if runs else ("would lose", "would beat the best by")
    )
    amount = written(quantity, abs(sum(each.more for each in answer.differences)))
    found = [each for each in answer.differences if _tells(each, answer)]
    first = f" ({found[0].why})" if found[0].why else ""
    # Each difference in words: 1.4 s more bubble.
    told = [
        f"{written(quantity, abs(each.more))} {'more' if each.more > 0 else 'less'} "
        f"{_called(each.part, study.objective)}"
        for each in islice(found, TOLD)
    ]
    parts = ", ".join([f"{told[0]}{first}", *told[1:]])
    yield f"It {loses if loss > 0 else beats} {percent(abs(loss))} ({amount}): {parts}."
    if runs and loss < 0:
        yield "The search ranks by the closed form and simulates only what it keeps: ask for more."


def _tells(difference: Difference, answer: WhyNot, *, share: float = SMALL) -> bool:
    """Whether a difference is large enough to be told."""
    return abs(difference.more) > share * abs(answer.differences[0].more)


def _called(part: str, objective: Objective) -> str:
    return part if objective is Objective.MEMORY else CALLED.get(part, part)


TITLES: Mapping[Maximise, str] = MappingProxyType(
    {
        Maximise.MICRO_BATCH: "Largest micro-batch that fits",
        Maximise.SEQUENCE: "Longest sequence that fits",
        Maximise.PARAMETERS: "Largest model that fits",
    }
)
UNITS: Mapping[Maximise, str] = MappingProxyType(
    {
        Maximise.MICRO_BATCH: "sample",
        Maximise.SEQUENCE: "token",
        Maximise.PARAMETERS: "layer",
    }
)


def largest_section(there: Study, answer: Largest) -> ReportSection:
    """What is said of the largest size.

    Args:
        there: the question at the largest size.
        answer: what was found.
    """
    body: tuple[Block, ...] = (
        *sentences(there, answer),
        Strong("What the leanest plan needs as it grows"),
        growth(answer),
        "",
    )
    return ReportSection(name="largest", title=title(answer), body=body)


def title(answer: Largest) -> str:
    """The answer in one line."""
    shown = count(answer.size, UNITS[answer.maximise])
    if answer.maximise is Maximise.PARAMETERS:
        shown = f"{written(PARAMETERS, answer.parameters)} in {shown}"
    return f"{TITLES[answer.maximise]}: {shown}"


def sentences(there: Study, answer: Largest) -> Iterator[str]:
    """What keeps it from being larger, and what else changes with it."""
    need, unit = answer.next, UNITS[answer.maximise]
    if need is None:
        yield "There is no larger size to try."
    else:
        yield (
            f"The next size, {count(need.size, unit)}, needs at least "
            f"{written(BYTES, need.memory)} on a device; {written(BYTES, need.room)} may be filled."
        )
    if answer.maximise is Maximise.SEQUENCE and answer.tokens is not None:
        batch = count(there.workload.global_batch, "sample")
        yield (
            f"A step still has {batch}, so it learns from {written(TOKENS, answer.tokens)}: more "
            "than with shorter samples."
        )


def growth(answer: Largest) -> Table:
    """What sizes up to the largest, and the next one, need at least."""
    return table(
        (*answer.growth, *([answer.next] if answer.next else [])),
        (Column(name=f"{UNITS[answer.maximise]}s", number=True), lambda need: f"{need.size:,}"),
        "memory",
        "filled",
        "plan",
        best=len(answer.growth) - 1,
    )


LESS: Final = {
    Objective.TIME: "a shorter step",
    Objective.COST: "a cheaper step",
    Objective.ENERGY: "a step of less energy",
    Objective.MEMORY: "less memory per device",
}
"""What a better plan has."""


def proposals_section(result: SearchResult) -> ReportSection:
    """What is proposed, and what safety costs."""
    title = "The plan to run" if len(result.plans) == 1 else "Plans that differ, best first"
    told = safety(result)
    notes = (Note(told),) if told else ()
    costs = (Note(safety_shortly(result)),) if told else ()
    every = ranking.proposals(result.plans)
    body: tuple[Block, ...] = (
        Brief(replace(every, legend=False)),
        *map(Brief, costs),
        Paper(every),
        *map(Paper, notes),
    )
    if result.why_not or result.scenarios or result.robust:
        body = (Paper(every), *map(Paper, notes))
    return ReportSection(name="plans", title=title, body=body)


def safety(result: SearchResult) -> str:
    """What safety costs, in a sentence; nothing where it costs nothing."""
    found = result.safety
    if found is None:
        return ""
    told = found.riskier.estimate
    return (
        f"Safety: with {percent(found.fits)} asked for, {found.riskier.plan} is left out. It takes "
        f"{percent(found.gain)} less, and fits with a probability of "
        f"{percent(told.memory.probability_fits)}: search.fits."
    )


def safety_shortly(result: SearchResult) -> str:
    """The same in a line."""
    found = result.safety
    assert found is not None, "safety that costs nothing"
    likely = percent(found.riskier.estimate.memory.probability_fits)
    return (
        f"Safety costs {percent(found.gain)}: {found.riskier.plan} fits with {likely} only "
        "(search.fits)."
    )


def verdict(result: SearchResult) -> str:
    """Whether the best plan is known to be the best; of a search that was cut short, how nearly.

    A search that was cut short ranks by the closed form alone, of which its gap is a bound, so that
    both speak of the same seconds.
    """
    least, space = LEAST[result.objective], count(result.space, "plan")
    how = "" if result.objective is Objective.MEMORY else " by the closed form"
    if not result.unseen and result.best.plan != result.ranking[0].plan:
        return f"Proven{how}: of all {space} none has {_better(result)}"
    if not result.unseen:
        return f"Proven{how}: of all {space} this one has the {least}."
    if result.proven_optimal:
        return f"Cut short, yet proven{how}: of all {space} this one has the {least}."
    seen = percent(1.0 - result.unseen / result.space)
    return (
        f"Cut short after {seen} of {space}: of these this one has the {least}{how}; "
        f"the best plan may be at most {percent(result.gap)} better."
    )


def shortly(result: SearchResult) -> str:
    """The verdict in few words; nothing is left out of one of a search that was cut short."""
    if result.unseen:
        return verdict(result)
    how = "" if result.objective is Objective.MEMORY else " by the closed form"
    first, best = result.ranking[0], result.best
    if best.plan == first.plan:
        return f"Proven{how} among {count(result.space, 'plan')}."
    had, has = (spent(result.objective, it.estimate) for it in (first, best))
    return f"Proven{how}, but for {percent(1.0 - had / has)} within what predictions tell apart."


def _better(result: SearchResult) -> str:
    """What is predicted to have least, where an equal plan is proposed instead."""
    first = result.ranking[0]
    quantity = SPENT[result.objective]
    had, has = (spent(result.objective, it.estimate) for it in (first, result.best))
    return (
        f"{LESS[result.objective]} than {first.plan}: {written(quantity, had)}, "
        f"{percent(1.0 - had / has)} less than this one. Predictions do not tell the two apart, "
        "and this one is simpler or surer to fit."
    )
