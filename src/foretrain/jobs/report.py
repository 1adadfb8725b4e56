"""The report of `simulate`: response times under each policy, at each load.

Gantt charts: which job held how many devices when.

How the members of an ensemble are fed: on each number of devices, and why in that way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from foretrain.ensemble.result import SharedInput
from foretrain.jobs.asked import capacity_table, capacity_title, changes_section, why_section
from foretrain.jobs.result import LoadPoint, ModelCurve, PartyResult, Simulated, Span
from foretrain.measured.queue_study import Drawn, InferredRules, QueueStudy
from foretrain.search.report.ranking import plan_columns
from foretrain.show.charts import (
    SHORTEST,
    Lines,
    PlotAxis,
    Ticks,
    distribution,
    growth,
    lines,
    scaling,
)
from foretrain.show.report import (
    AnswerReport,
    Block,
    Drawing,
    Note,
    Paper,
    ReportSection,
    Verbatim,
)
from foretrain.show.table import Column, Table, table
from foretrain.show.words import count, per_second, percent, sentences, written
from foretrain.units import SECONDS

ASSUMED = (
    "Nothing of this is measured: of a node's cores each device keeps one busy, one thread of each"
    " node exchanges samples through one adapter, and a core copies 42 Gb/s."
)


def input_table(curve: ModelCurve) -> Table:
    """The best way of feeding members on each number of devices."""
    rate = Column(name="samples/s", meaning="of a member", number=True, unit=per_second)
    private = "samples/s with a loader for each member"
    return table(
        [point for point in curve.points if point.input],
        "devices",
        "input.best.name",
        (rate, lambda point: point.rate),
        (
            Column(
                name="of plan",
                meaning="rate over that with its samples at hand",
                number=True,
                unit=percent,
            ),
            lambda point: min(1.0, point.rate / point.input.demand),
        ),
        (
            Column(name="private", meaning=private, number=True, unit=per_second),
            lambda point: point.input.private.rate,
        ),
        (
            Column(
                name="cores", meaning="of a node, at work on input on average", number=True, spare=1
            ),
            lambda point: f"{point.input.best.cores:,.0f} of {point.input.cores:,}",
        ),
        (
            Column(name="CPU saved", meaning="per sample", number=True, unit=percent),
            lambda point: point.input.saved if point.input.pays else None,
        ),
        legend=True,
    )


def ways_table(fed: SharedInput) -> Table:
    """Every way of feeding members that was looked at, the chosen one first."""
    return table((fed.best, *fed.others), "name", "rate", "cores", "cpu", "fate", legend=True)


def fed_words(curve: ModelCurve) -> str:
    """In words, how members are fed on the devices that a job asks for."""
    fed = curve.asked.input
    assert fed
    if fed.nodes == 1:
        places = f"all {fed.members} members on one node"
    elif fed.beside > 1:
        places = f"{fed.beside} members on each of {fed.nodes} nodes"
    elif fed.parts > 1:
        places = f"{fed.members} members that are fed through {fed.parts} nodes each"
    else:
        places = f"{fed.members} members on nodes of their own"
    where = f"This is on {count(curve.asks, 'device')}, with {places}."
    return f"{fed.verdict} {where} {ASSUMED}"


def input_plot(curve: ModelCurve) -> Lines | None:
    """What members train: by their plans alone, fed as chosen, fed each by its own loader.

    Returns:
        None where there is nothing to draw a line through.
    """
    found = [(point.devices, point.input) for point in curve.points if point.input]
    if len(found) < 2:
        return None
    devices = [each for each, _ in found]

    def run(name: str, rates: Sequence[float]) -> tuple[str, Sequence[int], Sequence[float]]:
        return name, devices, rates

    return scaling(
        [
            run("samples at hand", [fed.demand for _, fed in found]),
            run("chosen input", [fed.best.rate for _, fed in found]),
            run("private loaders", [fed.private.rate for _, fed in found]),
        ]
    )


def simulate_report(study: QueueStudy, answer: Simulated) -> AnswerReport:
    """What is said of a simulation.

    Args:
        study: the question.
        answer: the answer.
    """
    return AnswerReport(
        kind="Simulation",
        title=f"Jobs on {count(answer.devices, 'device')}",
        subtitle=f"Policies: {', '.join(study.policies)}. {speed(answer)}",
        sections=tuple(_sections(study, answer)),
        coefficients=bool(answer.curves),
    )


def _sections(study: QueueStudy, answer: Simulated) -> Iterator[ReportSection]:
    replayed = table(answer.replays, "policy", "simulated", "logged", "gap", legend=True)
    yield ReportSection(name="replay", title="The log beside its simulation", body=(replayed,))
    if answer.inferred:
        yield ReportSection(
            name="inferred",
            title="The rules that the log follows",
            body=(rules_table(answer.inferred),),
        )
        yield ReportSection(
            name="stated",
            title="The same rules as sections of a study",
            body=(Paper(Verbatim(answer.inferred.written)),),
        )
    models = study.jobs.models if isinstance(study.jobs, Drawn) else ()
    for model, curve in zip(models, answer.curves, strict=True):
        plan = curve.asked.plan
        told = sentences(plan, model.planned.workload) if plan else ()
        yield from _curve(curve, " ".join(told))
    for place, point in enumerate(answer.points):
        body = (responses(point),)
        headed = title(point, answer.counted)
        yield ReportSection(name=f"responses-{place}", title=headed, body=body)
    yield from _drawn(answer)
    yield from _courses(answer)
    # Groups and users under the best policy of the highest load; none where all are of one.
    name, best = min(answer.policies.items(), key=lambda item: item[1].mean_response)
    groups, users = parts_table(best.groups, "group"), parts_table(best.users, "user")
    yield ReportSection(name="groups", title=f"By group, under {name}", body=(groups,))
    yield ReportSection(name="users", title=f"By user, under {name}", body=(users,), page_only=True)
    if answer.capacity is not None:
        asked = capacity_title(answer.capacity)
        yield ReportSection(name="capacity", title=asked, body=(capacity_table(answer.capacity),))
    if answer.changes:
        yield changes_section(answer.changes)
    for each in answer.why:
        yield why_section(each)
    follows: tuple[Block, ...] = (*answer.findings, Note(speed(answer)))
    yield ReportSection(name="findings", title="What follows", body=follows)


def rules_table(told: InferredRules) -> Table:
    """The rules that a log follows, and what speaks for each."""
    return table(
        told.rules,
        (Column(name="rule"), lambda each: each.rule),
        (Column(name="as the log has it"), lambda each: each.value),
        (Column(name="what tells it"), lambda each: each.evidence),
    )


def responses(point: LoadPoint) -> Table:
    """Response times of every policy, the shortest mean first."""
    found = sorted(point.policies.items(), key=lambda item: item[1].mean_response)
    shown = ("mean_response", "interval", "p50", "p95", "p99", "mean_waiting")
    more = ("mean_of_finished", "utilisation", "rented", "interruptions", "cost")
    return table(dict(found), *shown, *more, key="policy", best=0, legend=True)


def parts_table(parts: Sequence[PartyResult], name: str) -> Table:
    """Users or groups, those with most device time first."""
    return table({part.name: part for part in parts}, key=name)


def title(point: LoadPoint, counted: str = "jobs") -> str:
    """What a table of policies is called."""
    what = "Response times" if counted == "jobs" else "Times to the winners of sweeps"
    return what if point.load is None else f"{what} at load {point.load:g}"


def speed(answer: Simulated) -> str:
    """What was simulated."""
    jobs = sum(
        result.jobs.submitted for point in answer.points for result in point.policies.values()
    )
    seeds = f", {count(answer.seeds, 'seed')}" if answer.seeds > 1 else ""
    return (
        f"{count(answer.devices, 'device')}{seeds}; {count(jobs, answer.counted[:-1])} simulated,"
        f" {answer.jobs_per_second:,.0f} a second."
    )


def _curve(curve: ModelCurve, plan: str) -> Iterator[ReportSection]:
    """The best plan of a model on each number of devices, and how members are fed there."""
    several = curve.members > 1
    whose = f" of each of {curve.members} members" if several else ""
    each = f", {curve.asks // curve.members} for each member" if several else ""
    planned = bool(plan)
    columns = plan_columns(curve.points) if planned else ()
    shown = ("devices", "rate", "interval", "efficiency", *columns)
    what = f"the best plan{whose}" if planned else "samples per second"
    told = f"On {count(curve.asks, 'device')}, which a job asks for{each}: {plan}"
    yield ReportSection(
        name=f"curve-{curve.name}",
        title=f"{curve.name}: {what} on each number of devices",
        body=(
            *([Paper(told)] if planned else []),
            table(curve.points, *shown),
            *(Note(f"{devices} devices: {why}") for devices, why in sorted(curve.refused.items())),
        ),
    )
    fed = curve.asked.input
    if fed is None:
        return
    called = f"{curve.name}: how {curve.members} members are fed"
    yield ReportSection(name=f"input-{curve.name}", title=called, body=(input_table(curve),))
    yield ReportSection(
        name=f"ways-{curve.name}",
        title=f"Input on the {curve.asks} devices that a job asks for",
        body=(ways_table(fed), Note(fed_words(curve))),
    )
    plot = input_plot(curve)
    if plot:
        heading = f"{curve.name}: what each way of feeding lets a member train"
        yield _lines(f"rates-{curve.name}", heading, plot, across="devices", upwards="samples/s")


def _drawn(answer: Simulated) -> Iterator[ReportSection]:
    """Responses of every policy, and how they grow with the load."""
    found = sorted(answer.policies.items(), key=lambda item: item[1].mean_response)
    spread = distribution([(name, result.quantiles) for name, result in found])
    counted = answer.counted
    heading = f"How long {counted} take"
    yield _lines("distribution", heading, spread, upwards=f"share of the {counted}")
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
) -> ReportSection:
    """A drawing of lines; with words about them, one for each line."""
    content = {"plot": plot, "upwards": upwards, "across": across, "words": words, "name": name}
    picture = Drawing(template="multiples" if words else "lines", content=content)
    return ReportSection(name=name, title=title, body=(picture,), page_only=True)


WAITED: Final = "How long those waited that came then, until they first ran"


def _courses(answer: Simulated) -> Iterator[ReportSection]:
    """How one run went under each policy: a small drawing for each, all on the same axes."""
    means = {name: result.mean_response for name, result in answer.policies.items()}
    shown = sorted(answer.histories, key=lambda each: means[each.policy])
    if not shown:
        return
    queue = lines([(each.policy, each.times, [*map(float, each.queue)]) for each in shown])
    busy = lines([(each.policy, each.times, each.busy) for each in shown], share=True)
    waited = lines([(each.policy, each.came, each.waited) for each in shown], quantity=SECONDS)
    first = "The first seed at the highest load. " if answer.seeds > 1 else ""
    others = "Each policy in colour, the others grey." if len(shown) > 1 else ""
    clock, words = "time since the first arrival", f"{first}{others}"
    for name, title, plot, upwards in (
        ("queue", "Jobs that wait", queue, "jobs"),
        ("waited", WAITED, waited, "mean waiting"),
        ("busy", "Devices that are held", busy, "share"),
    ):
        yield _lines(name, title, plot, across=clock, upwards=upwards, words=words)
    plots = [(each.policy, gantt(each.spans)) for each in shown if each.spans]
    picture = Drawing(template="gantt", content={"plots": plots})
    yield ReportSection(name="gantt", title="Who ran when", body=(picture,), page_only=True)


DEPTHS = 5
"""Shades of spans in the style sheet, the darkest first."""

ROW = 1.15
"""Height of the row of a job, in the size of its letters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stripe:
    """A span: per cent from the left, from the top, and its width; the more devices, the darker."""

    x: float
    y: float
    width: float
    shade: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Gantt:
    """Jobs below each other.

    Attributes:
        x: ticks of time.
        fine: more of them, for who looks closely.
        jobs: their names, from the top.
        height: of all rows, in the size of letters.
        stripes: the spans.
    """

    x: Ticks
    fine: tuple[tuple[float, str], ...]
    jobs: tuple[str, ...]
    height: float
    stripes: tuple[Stripe, ...]


def gantt(spans: Sequence[Span]) -> Gantt:
    """Spans of jobs, the first to start on top, from the first of these starts on.

    Args:
        spans: of the jobs.
    """
    ordered = sorted(spans, key=lambda span: span.start)
    begun, end = ordered[0].start, max(span.end for span in spans)
    clock = PlotAxis(low=begun, high=max(end, begun + SHORTEST), quantity=SECONDS)
    long = clock.high - clock.low
    rows = {job: place for place, job in enumerate(dict.fromkeys(span.job for span in ordered))}
    sizes = sorted({span.devices for span in spans})
    # The darker, the more devices; jobs of one size lie in between.
    steps = max(1, len(sizes) - 1)
    shades = [round((DEPTHS - 1) * (1 - place / steps)) for place in range(len(sizes))]
    shade = dict(zip(sizes, shades if len(sizes) > 1 else [1], strict=True))
    stripes = (
        Stripe(
            x=100 * (span.start - begun) / long,
            y=100 * rows[span.job] / len(rows),
            width=max(0.1, 100 * (span.end - span.start) / long),
            shade=shade[span.devices],
            text=(
                f"{span.job}: {span.devices:g} devices from {written(SECONDS, span.start)}"
                f" to {written(SECONDS, span.end)}"
            ),
        )
        for span in ordered
    )
    return Gantt(
        x=Ticks(ticks=clock.linear, logarithmic=False),
        fine=clock.fine,
        jobs=tuple(rows),
        height=ROW * len(rows),
        stripes=tuple(stripes),
    )
