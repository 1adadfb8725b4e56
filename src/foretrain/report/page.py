"""The web page of a search: one file that needs nothing but itself."""

from __future__ import annotations

from dataclasses import fields
from functools import cache, partial
from typing import TYPE_CHECKING

from foretrain.plan.study import Study
from foretrain.report import chart, facts, table
from foretrain.report.fit import fitted
from foretrain.report.search import cautions, effort, verdict
from foretrain.report.words import MEMORY, PARTS, percent, sentences, written
from foretrain.results.provenance import Provenance
from foretrain.results.search import SearchResult
from foretrain.units import BYTES, SECONDS

if TYPE_CHECKING:
    from jinja2 import Template


ROOM = 90
"""Characters of a table that fit beside each other on a page 1,100 pixels wide."""


def search_page(study: Study, result: SearchResult, provenance: Provenance) -> str:
    """The HTML page of a search, complete: styles and drawings are in it, nothing is loaded."""
    estimate, capacity = result.best.estimate, study.cluster.device.memory
    times, memories = chart.time_bars(result.plans), chart.memory_bars(study, result.best)
    heaviest = facts.memory_pieces(estimate.memory.heaviest, capacity)
    return _template().render(
        title=_title(study),
        plan=result.best.plan,
        words=sentences(result.best.plan, study.workload),
        verdict=verdict(result),
        effort=effort(study, result),
        figures=_figures(study, result),
        cautions=cautions(result),
        time_bars=times,
        time_pieces=chart.explained(facts.time_pieces(estimate.parts), times, PARTS),
        memory_bars=memories,
        memory_pieces=chart.explained(heaviest, memories, MEMORY),
        heaviest=estimate.memory.heaviest.stage + 1,
        capacity=100 * capacity / chart.longest_memory(study, result.best),
        capacity_text=written(BYTES, capacity),
        parts=PARTS,
        holdings=MEMORY,
        ranking=fitted(table.ranking(result.plans), ROOM),
        plot=chart.pareto_plot(study, result),
        pareto=fitted(table.pareto(result.pareto), ROOM),
        rejected=table.rejected(result),
        question=(*facts.question(study), *facts.purpose(study), *_choices(study)),
        coefficients=table.coefficients(provenance.sources),
        sources=estimate.sources,
        provenance=provenance,
    )


def _title(study: Study) -> str:
    cluster = study.cluster
    return f"{study.workload.model.name} on {cluster.devices:,} {cluster.device.name}"


def _figures(study: Study, result: SearchResult) -> tuple[facts.Fact, ...]:
    """The figures of the best plan that stand on cards."""
    estimate = result.best.estimate
    return (facts.step(estimate), facts.memory(study, estimate), *facts.answer(study, estimate))


def _choices(study: Study) -> tuple[facts.Fact, ...]:
    """What the study says of each field of the plan."""
    named = ((field.name, getattr(study.space, field.name)) for field in fields(study.space))
    return tuple(
        facts.Fact(label=name.replace("_", " "), text=_choice(choices)) for name, choices in named
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
    return str(getattr(choice, "name", choice)).lower()


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("foretrain.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": percent,
        "time": partial(written, SECONDS),
        "bytes": partial(written, BYTES),
    }
    return environment.get_template("search.html.j2")
