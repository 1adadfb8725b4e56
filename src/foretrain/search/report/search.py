"""Sizes: each number of nodes worth renting, how fast it is and what that costs.

The report of `search`: the best plan in words, its rivals, and why the rest lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import Final

from foretrain.errors import About, of
from foretrain.plan.study import Study, sized
from foretrain.plan.table import spelled
from foretrain.search.candidate import counts_energy
from foretrain.search.largest import Largest
from foretrain.search.report import charts, ranking
from foretrain.search.report.cases import robust_section, scenarios_section
from foretrain.search.report.charts import pareto_plot
from foretrain.search.report.pictures import map_table, space_map
from foretrain.search.report.sections import (
    largest_section,
    proposals_section,
    shortly,
    verdict,
    why_not_section,
)
from foretrain.search.result import ParetoPoint, SearchResult
from foretrain.show.report import (
    AnswerReport,
    Brief,
    Bullets,
    Drawing,
    More,
    Note,
    Paper,
    Pieces,
    ReportSection,
)
from foretrain.show.table import Column, Fact, Table, table
from foretrain.show.words import (
    LEAST,
    MEMORY,
    PARTS,
    count,
    percent,
    sentences,
    whole,
    written,
)
from foretrain.step import facts
from foretrain.step.facts import caution, home, takes
from foretrain.units import BYTES, DOLLARS, JOULES, SECONDS

MOST_SIZES: Final = 2
"""Rows that a terminal shows."""

LESS: Final = ("Speed", "Efficiency", "Per step")
"""Figures of a plan that give way to the sizes that may be rented."""


def sizes(study: Study, result: SearchResult, *, most: int | None = None) -> Table:
    """The fastest plan of every size that no other size beats in time and cost, fastest first.

    Args:
        study: the question; the table is empty where it leaves no choice.
        result: the answer, whose front holds these plans.
        most: how many sizes to show, the first and the last among them; None for all.
    """
    # What amounts are of, and how many steps that is.
    of, steps, samples = "per step", 1.0, study.workload.samples
    if samples is not None:
        of, steps = "to train", samples / study.workload.global_batch
    worthy: Sequence[ParetoPoint] = worth(result.pareto) if study.offers else ()
    if most is not None and len(worthy) > most:
        # Spread evenly from the first to the last.
        ends = len(worthy) - 1
        worthy = [worthy[round(place * ends / (most - 1))] for place in range(most)]
    devices = {offer.cluster.name: offer.cluster.node_devices for offer in study.offers}

    def spent(amount: float | None) -> float | None:
        return None if amount is None else steps * amount

    return table(
        worthy,
        "cluster",
        (
            Column(name="nodes", number=True, unit=whole),
            lambda point: point.devices // devices[point.cluster],
        ),
        (Column(name="devices", number=True, spare=2, unit=whole), lambda point: point.devices),
        (
            Column(
                name=f"time {of}",
                meaning="steps alone, closed form",
                number=True,
                unit=SECONDS,
            ),
            lambda point: spent(point.step_time),
        ),
        (
            Column(name=f"cost {of}", number=True, unit=DOLLARS),
            lambda point: spent(point.cost_per_step),
        ),
        (
            Column(name=f"energy {of}", number=True, spare=1, unit=JOULES),
            lambda point: spent(point.energy_per_step),
        ),
    )


def claim(result: SearchResult) -> str:
    """What distinguishes the sizes of the table, and how many there are where few are shown."""
    spent = "cost" if _priced(result.pareto) else "device-hours"
    sizes_told = count(len(worth(result.pareto)), "size")
    return f"{sizes_told} that no other beats in both time and {spent}"


def worth(front: Sequence[ParetoPoint]) -> tuple[ParetoPoint, ...]:
    """The fastest plan of each size, but of sizes that cost more than a faster one.

    Where a cluster has no price, devices count in its place.
    """
    money = _priced(front)
    found: dict[tuple[str, int], ParetoPoint] = {}
    cheapest = float("inf")
    for point in sorted(front, key=lambda point: point.step_time):
        size = (point.cluster, point.devices)
        spent = float(point.cost_per_step or 0) if money else point.devices * point.step_time
        if size not in found and spent < cheapest:
            cheapest, found[size] = spent, point
    return tuple(found.values())


def _priced(front: Sequence[ParetoPoint]) -> bool:
    return all(point.cost_per_step is not None for point in front)


def cautions(result: SearchResult) -> tuple[Fact, ...]:
    """What to doubt about the best plan, and which plan to take where memory is too tight."""
    best = result.best.estimate
    tight = of(best.warnings, About.TIGHT)
    return tuple(
        replace(fact, more=_roomier(result)) if fact.text in tight else fact
        for fact in caution(best)
    )


def _roomier(result: SearchResult) -> str:
    """The first of the best plans whose memory surely suffices, if there is one."""
    for place, entry in enumerate(result.plans, start=1):
        if not of(entry.estimate.warnings, About.TIGHT):
            return f"plan {place} needs {written(BYTES, entry.estimate.memory.total)}"
    return ""


def effort(study: Study, result: SearchResult) -> str:
    """What was priced and what was refused, and how fast."""
    # Silent with a limit, which refuses plans after they are priced.
    limited, rate = study.limit.cost is not None or study.limit.deadline is not None, ""
    if result.seconds and not limited:
        rate = f", {result.priced / result.seconds:,.0f} plans priced/s"
    bound = f", {result.excluded_by_bound:,} excluded by a bound" * bool(result.excluded_by_bound)
    return (
        f"{count(result.priced, 'plan')} priced{bound}, "
        f"{sum(result.rejected.values()):,} refused; "
        f"{written(SECONDS, result.seconds)} of processor time{rate}"
    )


def search_report(
    study: Study, result: SearchResult, *, before: Sequence[ReportSection] = ()
) -> AnswerReport:
    """What is said of a search: the best plan, its rivals, why the rest lost, what was asked.

    Args:
        study: the question.
        result: the answer.
        before: sections that come first.
    """
    there, drawn = home(study, result.best), space_map(result)
    cluster, asked = there.cluster, facts.question(study)
    texts = [f"{fact.text} ({fact.more})" if fact.more else fact.text for fact in asked]
    mapped = []
    if drawn is not None:
        content = {"map": drawn, "table": map_table(drawn)}
        body = (Drawing(template="map", content=content),)
        title = "The map of the space"
        mapped = [ReportSection(name="map", title=title, body=body, page_only=True)]
    return AnswerReport(
        kind="Best plan",
        title=f"{study.workload.model.name} on {cluster.devices:,} {cluster.device.name}",
        subtitle=f"{'; '.join(texts)}.",
        sections=(
            *before,
            ReportSection(name="", title="", body=(asked,)),
            _best(study, there, result),
            *_sizes(study, result),
            _time(result),
            _memory(there, result),
            proposals_section(result),
            _ranking(result),
            _front(study, result),
            *mapped,
            _fates(study, result),
            *([scenarios_section(result.scenarios)] if result.scenarios else []),
            *([robust_section(result.robust)] if result.robust else []),
            *(
                why_not_section(study, each, number=number)
                for number, each in enumerate(result.why_not, start=1)
            ),
            _inputs(study, result),
        ),
    )


def largest_report(study: Study, answer: Largest) -> AnswerReport:
    """What is said of the largest size, and of the search there."""
    there = sized(study, answer.size)
    return search_report(there, answer.search, before=[largest_section(there, answer)])


def _best(study: Study, there: Study, result: SearchResult) -> ReportSection:
    """The best plan in words and its figures; on a page whether it is proven to be the best."""
    entry = result.best
    told, rent = sentences(entry.plan, study.workload), facts.to_rent(study, entry)
    step, memory = facts.step(entry.estimate), facts.memory(there, entry.estimate)
    content = {
        "plan": entry.plan,
        "words": told,
        "verdict": verdict(result),
        "figures": (*rent, step, memory, *facts.answer(there, entry.estimate)),
        "cautions": cautions(result),
    }
    return ReportSection(
        name="best",
        title=f"Best plan: {entry.plan}",
        body=(
            Drawing(template="best", content=content),
            More(Bullets(told)),
            *(More(it) for it in (rent, *takes(there, entry.estimate, more=True))),
            Brief((*rent, *_in_brief(there, result, offered=bool(study.offers)))),
        ),
    )


def _in_brief(there: Study, result: SearchResult, *, offered: bool) -> tuple[Fact, ...]:
    """The figures of the best plan in a few lines; fewer where something else is asked besides."""
    found = result.best.estimate
    pieces = facts.few(facts.time_pieces(found.parts))
    goes = ", ".join(f"{each.name} {percent(each.share)}" for each in pieces)
    step, memory = facts.step(found), facts.memory(there, found)
    if _asked_besides(result):
        return (step, memory)
    told = facts.answer(there, found)
    if offered:
        return (step, memory, *(it for it in told if it.label not in LESS))
    return (step, Fact(label="Parts", text=goes), memory, *told)


def _asked_besides(result: SearchResult) -> bool:
    """Whether a terminal has more to say than of the best plans."""
    return bool(result.why_not or result.scenarios or result.robust)


def _sizes(study: Study, result: SearchResult) -> Iterator[ReportSection]:
    """The sizes worth renting; nothing where there is no choice."""
    every = sizes(study, result)
    few = [Brief(sizes(study, result, most=MOST_SIZES))] if len(every.rows) > 1 else []
    if every.rows:
        title = f"How much to rent: {claim(result)}"
        yield ReportSection(name="sizes", title=title, body=(*few, Paper(every)))


def _time(result: SearchResult) -> ReportSection:
    """Where the time of the best plans goes."""
    drawn = charts.time_bars(result.plans)
    parts = Pieces(
        quantity=SECONDS,
        pieces=charts.explained(facts.time_pieces(result.best.estimate.parts), drawn, PARTS),
        of="of the step",
        meanings=PARTS,
    )
    return ReportSection(
        name="time",
        title="Where the time goes",
        body=(Drawing(template="time", content={"bars": drawn}), parts),
        page_only=True,
    )


def _memory(there: Study, result: SearchResult) -> ReportSection:
    """Where the memory of the best plan goes."""
    heaviest = result.best.estimate.memory.heaviest
    capacity, drawn = there.cluster.device.memory, charts.memory_bars(there, result.best)
    content = {
        "bars": drawn,
        "heaviest": heaviest.stage + 1,
        "capacity": 100 * capacity / charts.longest_memory(there, result.best),
        "capacity_text": written(BYTES, capacity),
    }
    parts = Pieces(
        quantity=BYTES,
        pieces=charts.explained(facts.memory_pieces(heaviest, capacity), drawn, MEMORY),
        of="of the device",
        meanings=MEMORY,
    )
    return ReportSection(
        name="memory",
        title="Where the memory goes",
        body=(Drawing(template="memory", content=content), parts),
        page_only=True,
    )


def _ranking(result: SearchResult) -> ReportSection:
    """The plans that are predicted to have least, variations of one plan and all."""
    title = f"The {count(len(result.ranking), 'plan')} of the {LEAST[result.objective]}"
    body = (ranking.ranking(result.ranking),)
    return ReportSection(name="ranking", title=title, body=body, page_only=True)


def _front(study: Study, result: SearchResult) -> ReportSection:
    """The plans that nothing beats in every respect."""
    memories = {offer.cluster.device.memory for offer in study.choices}
    counted = ", cost and energy" if counts_energy(study) else " and cost"
    content = {
        "plot": pareto_plot(study, result),
        "counted": counted,
        "capacity": written(BYTES, memories.pop()) if len(memories) == 1 else "",
    }
    return ReportSection(
        name="front",
        title=f"Trade-offs: no other plan beats these in time, memory{counted} at once",
        body=(
            Drawing(template="front", content=content),
            Paper(ranking.pareto(result.pareto)),
        ),
        page_only=True,
    )


def _fates(study: Study, result: SearchResult) -> ReportSection:
    """Whether the best plan is proven to be the best, and what became of every plan."""
    told = effort(study, result)
    content = {"effort": told, "bar": charts.space_bar(result), "fates": charts.fates(result)}
    return ReportSection(
        name="rejected",
        title=verdict(result),
        quiet=True,
        body=(
            Brief(shortly(result)),
            Drawing(template="rejected", content=content),
            More(Note(told)),
            More(ranking.rejected(result)),
            More(""),
            More(cautions(result)),
            Brief(() if _asked_besides(result) else facts.in_brief(result.best.estimate)),
        ),
    )


def _inputs(study: Study, result: SearchResult) -> ReportSection:
    """The question, what it says of each field of the plan, and where figures come from."""
    space = {each.name: getattr(study.space, each.name) for each in fields(study.space)}
    choices = (
        Fact(
            label=name.replace("_", " "),
            text="free" if some is None else ", ".join(map(_spoken, some)),
        )
        for name, some in space.items()
    )
    asked = (*facts.question(study), *facts.purpose(study), *choices)
    content = {"question": asked, "sources": result.best.estimate.sources}
    picture = Drawing(template="inputs", content=content)
    return ReportSection(name="inputs", title="What was asked", body=(picture,), page_only=True)


def _spoken(choice: object) -> str:
    if isinstance(choice, bool):
        return "yes" if choice else "no"
    if isinstance(choice, tuple):
        return " > ".join(str(axis) for axis in choice)
    return spelled(choice).strip('"')
