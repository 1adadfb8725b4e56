"""The report of `scale`: throughput beside workers, the knee in a sentence, and what-ifs."""

from __future__ import annotations

from collections.abc import Iterator

from foretrain.measured.scale_study import ScaleStudy
from foretrain.plan.servers import Aggregation
from foretrain.queueing.scaled import BestCount, Scaled, ScaleKnee
from foretrain.show.lines import scaling
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
from foretrain.show.table import table
from foretrain.show.words import count, per_second, percent, written
from foretrain.units import SECONDS


def scale_report(study: ScaleStudy, answer: Scaled) -> AnswerReport:
    """What is said of throughput against workers.

    Args:
        study: the question.
        answer: the answer.
    """
    return AnswerReport(
        kind="Scale",
        title=f"Throughput of {count(answer.points[0].workers, 'worker')} to"
        f" {count(answer.points[-1].workers, 'worker')}",
        subtitle=scheme(answer),
        sections=tuple(_sections(answer)),
        coefficients=study.model is not None,
    )


def _sections(answer: Scaled) -> Iterator[ReportSection]:
    shown = ("workers", "throughput", "interval", "formula", "most", "useful", "efficiency", "step")
    points = table(answer.points, *shown, "limit", legend=True)
    drawn = Paper(_plot(answer)) if len(answer.points) > 1 else Note("")
    yield ReportSection(name="points", title="", body=(scheme(answer), points, drawn))
    yield ReportSection(name="knee", title="What limits", body=tuple(_limits(answer)))
    if answer.best is not None:
        told = Bullets(tuple(each.sentence for each in answer.best.findings))
        body = (best_sentence(answer.best), told)
        yield ReportSection(name="job", title="The whole job", body=body)
    changes = table(answer.what_ifs, "change", "knee", "throughput", "gain", legend=True)
    yield ReportSection(
        name="what-ifs",
        title=f"What if, on {count(answer.points[-1].workers, 'worker')}, by formulas",
        body=(changes,),
    )
    notes = tuple(Note(f"{text[0].upper()}{text[1:]}.") for text in answer.assumed)
    yield ReportSection(name="assumed", title="", body=notes)


def best_sentence(best: BestCount) -> str:
    """On how many nodes the job ends first."""
    return (
        f"It ends first on {count(best.nodes, 'node')}, after {written(SECONDS, best.seconds)}, of"
        f" which {written(SECONDS, best.start)} before the first step."
    )


def scheme(answer: Scaled) -> str:
    """How the workers train, in a sentence."""
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
        f"{count(last.workers, 'worker')} do {per_second(last.throughput)} samples/s, each"
        f" {percent(last.efficiency)} of what {alone} does; what limits them: {last.limit}."
    )
    if best is not last:
        yield (
            f"Most is learned on {count(best.workers, 'worker')}:"
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
    """Throughput against workers, as simulated and by formula, with what is at most possible."""
    workers = [each.workers for each in answer.points]
    runs = [("simulated", workers, [each.throughput for each in answer.points])]
    formulas = [each.formula for each in answer.points]
    if all(each is not None for each in formulas):
        runs.append(("formula", workers, [each or 0.0 for each in formulas]))
    first = answer.points[0]
    ideal = [first.throughput / first.workers * each for each in workers]
    runs.append(("linear", workers, ideal))
    content = {"plot": scaling(runs), "words": "", "upwards": "samples/s", "across": "workers"}
    return Drawing(template="lines", content=content)
