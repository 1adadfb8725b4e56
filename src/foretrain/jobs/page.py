"""The web page of a simulation: one file that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Iterator

from foretrain.jobs.gantt import gantt
from foretrain.jobs.report import (
    REPLAYED,
    capacity_table,
    capacity_title,
    curve_table,
    curve_title,
    input_title,
    parts_table,
    replay_table,
    responses,
    speed,
    title,
)
from foretrain.jobs.report_shared_input import fed_words, input_plot, input_table, ways_table
from foretrain.jobs.result import ModelCurve, Simulated
from foretrain.measured.queue_study import Drawn, QueueStudy
from foretrain.show.document import Provenance
from foretrain.show.lines import Lines, distribution, growth, lines
from foretrain.show.page import PageSection, page, tables
from foretrain.show.table import Column, Table, coefficients
from foretrain.show.words import count, sentences


def simulate_page(study: QueueStudy, answer: Simulated, provenance: Provenance) -> str:
    """The HTML page of a simulation, complete: styles and drawings are in it.

    Args:
        study: the question.
        answer: the answer.
        provenance: what it was computed from.
    """
    policies = ", ".join(study.policies)
    return page(
        kind="Simulation",
        title=f"Jobs on {count(answer.devices, 'device')}",
        subtitle=f"Policies: {policies}. {speed(answer)}",
        sections=[section for section in _sections(study, answer, provenance) if section],
        provenance=provenance,
    )


def _sections(
    study: QueueStudy, answer: Simulated, provenance: Provenance
) -> Iterator[PageSection | None]:
    yield tables("findings", "What follows", *_findings(answer))
    yield tables("replay", REPLAYED, replay_table(answer.replays))
    for curve, words in zip(answer.curves, _plans(study, answer), strict=True):
        yield tables(f"curve-{curve.name}", curve_title(curve), curve_table(curve), words=words)
        yield from _input(curve)
    for place, point in enumerate(answer.points):
        yield tables(f"responses-{place}", title(point), responses(point))
    yield from _drawn(answer)
    if answer.capacity is not None:
        yield tables("capacity", capacity_title(answer.capacity), capacity_table(answer.capacity))
    yield from _courses(answer)
    yield from _parts(answer)
    if answer.curves:
        yield tables("coefficients", "Coefficients", coefficients(provenance.sources))


def _input(curve: ModelCurve) -> Iterator[PageSection | None]:
    """How the members of an ensemble are fed; nothing of a single model."""
    fed = curve.asked.input
    if fed is None:
        return
    shown, words = (input_table(curve), ways_table(fed)), fed_words(curve)
    yield tables(f"input-{curve.name}", input_title(curve), *shown, words=words)
    plot = input_plot(curve)
    if plot:
        title = f"{curve.name}: what each way of feeding lets a member train"
        yield _lines(f"rates-{curve.name}", title, plot, across="devices", upwards="samples/s")


def _plans(study: QueueStudy, answer: Simulated) -> Iterator[str]:
    """In words, how each model trains on the devices that its jobs ask for."""
    models = study.jobs.models if isinstance(study.jobs, Drawn) else ()
    for model, curve in zip(models, answer.curves, strict=True):
        told = " ".join(sentences(curve.asked.plan, model.study.workload))
        each = f", {curve.asks // curve.members} for each member" if curve.members > 1 else ""
        yield f"On {count(curve.asks, 'device')}, which a job asks for{each}: {told}"


def _findings(answer: Simulated) -> Iterator[Table]:
    """A sentence in each row."""
    yield Table(columns=(Column(name="finding"),), rows=tuple((text,) for text in answer.findings))


def _drawn(answer: Simulated) -> Iterator[PageSection]:
    """Responses of every policy, and how they grow with the load."""
    found = sorted(answer.policies.items(), key=lambda item: item[1].mean_response)
    spread = distribution([(name, result.quantiles) for name, result in found])
    yield _lines("distribution", "How long jobs take", spread, upwards="share of the jobs")
    loads = [point.load for point in answer.points if point.load is not None]
    if len(loads) > 1:
        means = [
            (name, loads, [point.policies[name].mean_response for point in answer.points])
            for name, _ in found
        ]
        plot = growth(means)
        yield _lines("growth", "What load does", plot, across="load", upwards="mean response")


def _lines(
    name: str,
    title: str,
    plot: Lines,
    *,
    upwards: str,
    across: str = "time since a job came",
    words: str = "",
) -> PageSection:
    content = {"plot": plot, "words": words, "upwards": upwards, "across": across}
    return PageSection(name=name, title=title, template="lines", content=content)


def _courses(answer: Simulated) -> Iterator[PageSection]:
    """How one run went under each policy."""
    means = {name: result.mean_response for name, result in answer.policies.items()}
    shown = sorted(answer.histories, key=lambda each: means[each.policy])
    if not shown:
        return
    queue = lines([(each.policy, each.times, [*map(float, each.queue)]) for each in shown])
    busy = lines([(each.policy, each.times, each.busy) for each in shown], share=True)
    first = "The first seed at the highest load." if answer.seeds > 1 else ""
    clock = "time since the first arrival"
    yield _lines("queue", "Jobs that wait", queue, across=clock, words=first, upwards="jobs")
    yield _lines("busy", "Devices that are held", busy, across=clock, words=first, upwards="share")
    plots = [(each.policy, gantt(each.spans)) for each in shown if each.spans]
    yield PageSection(
        name="gantt", title="Who ran when", template="gantt", content={"plots": plots}
    )


def _parts(answer: Simulated) -> Iterator[PageSection | None]:
    """Groups and users under the best policy of the highest load."""
    name, best = min(answer.policies.items(), key=lambda item: item[1].mean_response)
    yield tables("groups", f"By group, under {name}", parts_table(best.groups, "group"))
    yield tables("users", f"By user, under {name}", parts_table(best.users, "user"))
