"""The report of `scale`: throughput beside workers, the knee in a sentence, and what-ifs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from operator import attrgetter
from typing import Final

from foretrain.measured.scale_study import ModelTraining, ScaleStudy
from foretrain.plan.servers import Aggregation
from foretrain.queueing.scaled import BestCount, Scaled, ScaleKnee, ScaleMethod, ScalePoint
from foretrain.show.charts import scaling
from foretrain.show.report import (
    AnswerReport,
    Block,
    Bullets,
    Drawing,
    Note,
    Paper,
    ReportSection,
    Strong,
)
from foretrain.show.table import Shown, column_of, table
from foretrain.show.words import count, per_second, percent, written
from foretrain.units import SECONDS

MEANINGS: Final = {
    ScaleMethod.SIMULATED: "simulated",
    ScaleMethod.PLANNED: "estimated",
    ScaleMethod.PROVISIONED: "by formula",
}
"""What the samples per second are."""

INTERVALS: Final = {
    ScaleMethod.SIMULATED: "95 % of the mean",
    ScaleMethod.PLANNED: "80 % of the estimate",
    ScaleMethod.PROVISIONED: "",
}
"""What lies in the interval."""


def scale_report(study: ScaleStudy, answer: Scaled) -> AnswerReport:
    """What is said of throughput against workers.

    Args:
        study: the question.
        answer: the answer.
    """
    first, last = (noun(answer, answer.points[place].workers) for place in (0, -1))
    return AnswerReport(
        kind="Scale",
        title=f"Throughput of {first} to {last}",
        subtitle=scheme(answer),
        sections=tuple(_sections(answer)),
        coefficients=isinstance(study.training, ModelTraining),
    )


def _sections(answer: Scaled) -> Iterator[ReportSection]:
    points = table(answer.points, *_columns(answer), legend=True)
    drawn = Paper(_plot(answer)) if len(answer.points) > 1 else Note("")
    yield ReportSection(name="points", title="", body=(scheme(answer), points, drawn))
    yield ReportSection(name="knee", title="What limits", body=tuple(_limits(answer)))
    if answer.best is not None:
        told = Bullets(tuple(each.sentence for each in answer.best.findings))
        body = (best_sentence(answer.best), told)
        yield ReportSection(name="job", title="The whole job", body=body)
    most = answer.points[-1].workers
    provisions = table(answer.provisions, legend=True)
    yield ReportSection(
        name="provisions", title=f"The quickest on {noun(answer, most)}", body=(provisions,)
    )
    changes = table(answer.what_ifs, "change", "knee", "throughput", "gain", legend=True)
    yield ReportSection(
        name="what-ifs",
        title=f"What if, on {noun(answer, most)}, by formulas",
        body=(changes,),
    )
    notes = tuple(Note(f"{text[0].upper()}{text[1:]}.") for text in answer.assumed)
    yield ReportSection(name="assumed", title="", body=notes)


def noun(answer: Scaled, workers: int) -> str:
    """So many workers, or machines where those are shared out."""
    machines = answer.method is ScaleMethod.PROVISIONED
    return count(workers, "machine" if machines else "worker")


def _columns(answer: Scaled) -> Iterator[Shown]:
    """Columns of points, whose legend says how this answer's were found."""
    method = answer.method
    meanings = {"throughput": MEANINGS[method], "interval": INTERVALS[method]}
    if method is ScaleMethod.PROVISIONED:
        meanings["efficiency"] = "of a machine over one of the fewest"
    shown = ("throughput", "interval", "formula", "most", "useful", "efficiency", "step", "limit")
    machines = method is ScaleMethod.PROVISIONED
    yield _renamed("workers", name="machines") if machines else "workers"
    for each in shown:
        # What is nothing but a formula has no other beside it.
        if machines and each == "formula":
            continue
        yield _renamed(each, meaning=meanings[each]) if each in meanings else each


def _renamed(field: str, **looks: str) -> Shown:
    column = column_of(ScalePoint, field)
    assert column is not None, f"ScalePoint.{field} has no label"
    return replace(column, **looks), attrgetter(field)  # type: ignore[arg-type]


def best_sentence(best: BestCount) -> str:
    """On how many nodes the job ends first."""
    return (
        f"It ends first on {count(best.nodes, 'node')}, after {written(SECONDS, best.seconds)}, of"
        f" which {written(SECONDS, best.start)} before the first step."
    )


def scheme(answer: Scaled) -> str:
    """How the workers train, in a sentence."""
    if answer.method is ScaleMethod.PROVISIONED:
        return (
            "Machines are shared out among replicas, which never wait for one another, and servers."
        )
    updates = answer.updates
    when = "synchronously" if updates.stale == 0 else "asynchronously"
    if updates.stale:
        when = f"at most {count(updates.stale, 'step')} apart"
    backup = f", without waiting for the last {updates.backup}" if updates.backup else ""
    servers = answer.servers
    if servers is not None:
        place = " on the workers' nodes" if servers.colocated else ""
        return f"Workers train {when} with {count(servers.count, 'server')}{place}{backup}."
    if answer.aggregation is Aggregation.PAIRWISE:
        return f"Workers train {when} and average their parameters in pairs."
    if answer.method is ScaleMethod.PLANNED:
        return "Every number of nodes trains synchronously by its best plan."
    return "Workers train synchronously and add up gradients in a ring."


def _limits(answer: Scaled) -> Iterator[Block]:
    """The knee and what makes it, and how well the most workers do."""
    if answer.knee is not None:
        barrier = answer.updates.stale == 0
        yield Strong(knee_sentence(answer.knee, barrier=barrier))
    first, last = answer.points[0], answer.points[-1]
    best = max(answer.points, key=lambda each: each.useful)
    alone = "one alone" if first.workers == 1 else f"one of {first.workers}"
    yield (
        f"{noun(answer, last.workers)} do {per_second(last.throughput)} samples/s, each"
        f" {percent(last.efficiency)} of what {alone} does; what limits them: {last.limit}."
    )
    if best is not last:
        yield (
            f"Most is learned on {noun(answer, best.workers)}:"
            f" {per_second(best.useful)} samples/s after what staleness wastes."
        )


def knee_sentence(knee: ScaleKnee, *, barrier: bool) -> str:
    """Where more workers begin to wait, and for what."""
    waiting = (
        f"behind a barrier devices and the {knee.limit} take turns, so that it is never reached"
        if barrier
        else f"beyond it each worker waits longer for the {knee.limit}"
    )
    return (
        f"The knee is at {knee.workers:,.1f} workers: no number of them does more than"
        f" {per_second(knee.throughput)} samples/s, and {waiting}."
    )


def _plot(answer: Scaled) -> Drawing:
    """Throughput against workers as it was found, by formula, and if it grew with them."""
    workers = [each.workers for each in answer.points]
    runs = [(MEANINGS[answer.method], workers, [each.throughput for each in answer.points])]
    formulas = [each.formula for each in answer.points]
    if answer.method is ScaleMethod.SIMULATED and all(each is not None for each in formulas):
        runs.append(("formula", workers, [each or 0.0 for each in formulas]))
    first = answer.points[0]
    ideal = [first.throughput / first.workers * each for each in workers]
    runs.append(("linear", workers, ideal))
    across = "machines" if answer.method is ScaleMethod.PROVISIONED else "workers"
    content = {"plot": scaling(runs), "words": "", "upwards": "samples/s", "across": across}
    return Drawing(template="lines", content=content)
