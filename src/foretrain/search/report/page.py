"""Sections of the page of a search: each is a function of the study and the answer.

One that has nothing to show gives None; adding one is a function and a line in `SECTIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Final

from foretrain.plan.plan import spelled
from foretrain.plan.study import Study
from foretrain.search.report import bars
from foretrain.search.report import ranking as rankings
from foretrain.search.report.front import pareto_plot
from foretrain.search.report.search import cautions, claim, effort, sizes, verdict
from foretrain.search.report.space_map import SpaceMap, space_map
from foretrain.search.result import SearchResult
from foretrain.show import table
from foretrain.show.document import Provenance
from foretrain.show.page import PageSection, page, tables
from foretrain.show.table import Fact
from foretrain.show.terminal import fitted
from foretrain.show.words import MEMORY, PARTS, sentences, written
from foretrain.step import facts
from foretrain.step.rent import home
from foretrain.step.result import Ranked
from foretrain.units import BYTES

ROOM: Final = 90
"""Characters of a table that fit beside each other on a page 1,100 pixels wide."""


def best(study: Study, result: SearchResult) -> PageSection:
    """The best plan in words, its figures, and whether it is proven to be the best."""
    first = result.best
    content = {
        "plan": first.plan,
        "words": sentences(first.plan, study.workload),
        "verdict": verdict(result),
        "figures": (*facts.rented(study, first), *_figures(home(study, first), first)),
        "cautions": cautions(result),
    }
    return PageSection(name="best", title="The best plan", template="best", content=content)


def size(study: Study, result: SearchResult) -> PageSection | None:
    """The sizes worth renting; None where there is no choice."""
    shown = fitted(sizes(study, result), ROOM)
    words = claim(result).capitalize()
    return tables("sizes", "How much to rent", shown, words=f"{words}.")


def time(study: Study, result: SearchResult) -> PageSection:
    """Where the time of the best plans goes."""
    drawn = bars.time_bars(result.plans)
    pieces = facts.time_pieces(result.best.estimate.parts)
    content = {
        "bars": drawn,
        "pieces": bars.explained(pieces, drawn, PARTS),
        "meanings": PARTS,
    }
    return PageSection(name="time", title="Where the time goes", template="time", content=content)


def memory(study: Study, result: SearchResult) -> PageSection:
    """Where the memory of the best plan goes."""
    there, heaviest = home(study, result.best), result.best.estimate.memory.heaviest
    capacity, drawn = there.cluster.device.memory, bars.memory_bars(there, result.best)
    content = {
        "bars": drawn,
        "pieces": bars.explained(facts.memory_pieces(heaviest, capacity), drawn, MEMORY),
        "meanings": MEMORY,
        "heaviest": heaviest.stage + 1,
        "capacity": 100 * capacity / bars.longest_memory(there, result.best),
        "capacity_text": written(BYTES, capacity),
    }
    return PageSection(
        name="memory", title="Where the memory goes", template="memory", content=content
    )


def ranking(study: Study, result: SearchResult) -> PageSection:
    """The k best plans."""
    content = {"table": fitted(rankings.ranking(result.plans), ROOM)}
    return PageSection(name="ranking", title="The best plans", template="ranking", content=content)


def front(study: Study, result: SearchResult) -> PageSection:
    """The plans that nothing beats in every respect."""
    plot = pareto_plot(study, result)
    # By which numbers the columns sort that show amounts with units.
    points = result.pareto
    front_keys = {
        "step": [point.step_time for point in points],
        "memory": [point.memory for point in points],
        "cost per step": [point.cost_per_step for point in points],
        "energy per step": [point.energy_per_step for point in points],
    }
    # What a device has, where all kinds of device have the same.
    memories = {offer.cluster.device.memory for offer in study.choices}
    one_capacity = written(BYTES, memories.pop()) if len(memories) == 1 else ""
    content = {
        "plot": plot,
        "capacity": one_capacity,
        "table": fitted(rankings.pareto(result.pareto), ROOM),
        "order": front_keys,
    }
    return PageSection(
        name="front",
        title=f"Time, memory and {plot.third.name}" if plot.third else "Time against memory",
        template="front",
        content=content,
    )


def space(study: Study, result: SearchResult) -> PageSection | None:
    """The map of tensor and pipeline degrees; None where nothing was mapped."""
    drawn = space_map(result)
    if drawn is None:
        return None
    least = [each.cell.best or each.cell.bound for each in drawn.squares]
    content = {"map": drawn, "table": _map_table(drawn), "order": {"best": least}}
    return PageSection(name="map", title="The map of the space", template="map", content=content)


def rejected(study: Study, result: SearchResult) -> PageSection:
    """What became of every plan of the space."""
    content = {
        "effort": effort(study, result),
        "bar": bars.space_bar(result),
        "fates": bars.fates(result),
    }
    return PageSection(
        name="rejected", title="What became of all plans", template="rejected", content=content
    )


def inputs(study: Study, result: SearchResult, provenance: Provenance) -> PageSection:
    """The question and the coefficients."""
    content = {
        "question": (*facts.question(study), *facts.purpose(study), *_choices(study)),
        "provenance": provenance,
        "coefficients": table.coefficients(provenance.sources),
        "sources": result.best.estimate.sources,
    }
    return PageSection(name="inputs", title="What was asked", template="inputs", content=content)


SECTIONS: Final[tuple[Callable[[Study, SearchResult], PageSection | None], ...]] = (
    best,
    size,
    time,
    memory,
    ranking,
    front,
    space,
    rejected,
)


def _map_table(drawn: SpaceMap) -> table.Table:
    """What the map shows, a row for every cell."""
    numbers = ("tp", "pp", "plans", "best")
    columns = (
        *(table.Column(name=name, number=True) for name in numbers),
        table.Column(name="what it says"),
    )
    rows = tuple(
        (
            str(each.cell.tensor),
            str(each.cell.pipeline),
            f"{each.cell.plans:,}",
            each.text,
            each.words.partition(": ")[2],
        )
        for each in drawn.squares
    )
    return table.Table(columns=columns, rows=rows)


def _figures(there: Study, best: Ranked) -> tuple[Fact, ...]:
    """The figures of the best plan that stand on cards."""
    estimate = best.estimate
    return (facts.step(estimate), facts.memory(there, estimate), *facts.answer(there, estimate))


def _choices(study: Study) -> tuple[Fact, ...]:
    """What the study says of each field of the plan."""
    named = ((field.name, getattr(study.space, field.name)) for field in fields(study.space))
    return tuple(
        Fact(label=name.replace("_", " "), text=_choice(choices)) for name, choices in named
    )


def _choice(choices: tuple[object, ...] | None) -> str:
    if choices is None:
        return "free"
    return ", ".join(_spoken(choice) for choice in choices)


def _spoken(choice: object) -> str:
    if isinstance(choice, bool):
        return "yes" if choice else "no"
    if isinstance(choice, tuple):
        return " > ".join(str(axis) for axis in choice)
    return spelled(choice).strip('"')


def search_page(
    study: Study,
    result: SearchResult,
    provenance: Provenance,
    *,
    more: Sequence[PageSection | None] = (),
) -> str:
    """The HTML page of a search, complete: styles and drawings are in it, nothing is loaded.

    Args:
        study: the question.
        result: the answer.
        provenance: what the answer was computed from.
        more: sections about what was asked besides; None is left out.
    """
    told = [section(study, result) for section in SECTIONS]
    asked = inputs(study, result, provenance)
    return page(
        kind="Best plan",
        title=_title(home(study, result.best)),
        subtitle=_subtitle(study),
        sections=[section for section in (*told, *more, asked) if section is not None],
        provenance=provenance,
    )


def _title(study: Study) -> str:
    cluster = study.cluster
    return f"{study.workload.model.name} on {cluster.devices:,} {cluster.device.name}"


def _subtitle(study: Study) -> str:
    asked = facts.question(study)
    texts = [f"{fact.text} ({fact.more})" if fact.more else fact.text for fact in asked]
    return f"{'; '.join(texts)}."
