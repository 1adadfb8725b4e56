"""The report of what is proposed: plans that differ, what safety costs, whether it is proven."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from foretrain.plan.study import Objective
from foretrain.search.explain.differences import spent
from foretrain.search.report import ranking
from foretrain.search.result import SearchResult
from foretrain.show.report import Block, Brief, Note, Paper, ReportSection
from foretrain.show.words import LEAST, SPENT, count, percent, written

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
