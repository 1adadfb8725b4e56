"""The report of `compare`: two questions side by side, and what each difference costs.

What to ask after an answer: commands in which {study} stands for the question.
"""

from __future__ import annotations

from collections.abc import Sequence

from foretrain.launch.kineto import OperatorClass
from foretrain.plan.study import Study
from foretrain.search.explain.compared import (
    ClassTimes,
    Comparison,
    Departure,
    MeasuredStep,
    PartChange,
    SideOfTwo,
)
from foretrain.search.explain.explain import Explained
from foretrain.search.export import able
from foretrain.search.result import SearchResult
from foretrain.show.report import AnswerReport, Note, Paper, ReportSection
from foretrain.show.table import Fact, table
from foretrain.show.words import count, percent, signed, signed_percent, span, written
from foretrain.step.facts import ROUNDING, home
from foretrain.units import BYTES, DOLLARS, SECONDS

Side = Study | MeasuredStep
Two = tuple[Side, Side]


def compare_report(studies: Two, answer: Comparison) -> AnswerReport:
    """What is said of a comparison."""
    one, other = answer.first, answer.second
    facts = (
        _side("First", studies[0], one),
        _takes(one),
        _side("Second", studies[1], other),
        _takes(other),
        *_difference(answer),
    )
    return AnswerReport(
        kind="Compared",
        title="What differs, and what it costs",
        sections=(
            ReportSection(name="two", title="", body=(facts,)),
            _ways(answer.departures, step=one.step_time),
            _operators(answer.operators),
            _parts(answer.parts, step=one.estimate.step_time),
        ),
        coefficients=True,
    )


def after_compare(_studies: object, answer: object) -> tuple[Fact, ...]:
    """What to ask next."""
    assert isinstance(answer, Comparison), "another answer than a comparison"
    return (Fact(label="All of it", text="foretrain compare {study} --more"),)


def _side(name: str, asked: Side, side: SideOfTwo) -> Fact:
    study = asked.study if isinstance(asked, MeasuredStep) else asked
    where = f"{count(side.nodes, 'node')} of {side.cluster}"
    proposed = "proposed by a search" * side.proposed
    return Fact(
        label=name, text=f"{study.workload.model.name} on {where}: {side.plan}", more=proposed
    )


def _takes(side: SideOfTwo) -> Fact:
    found = side.estimate
    cost = "" if found.cost_per_step is None else f", {written(DOLLARS, found.cost_per_step)}"
    speed = f"{found.samples_per_second:,.3g} samples/s"
    memory = f"{written(BYTES, found.memory.total)} per device"
    between = span(found.step_time_low, found.step_time_high, SECONDS)
    if side.measured is not None:
        off = signed_percent(found.step_time / side.measured - 1.0)
        text = f"measured {written(SECONDS, side.measured)} per step ({side.of})"
        told = f"{written(SECONDS, found.step_time)}, {between}, are predicted: {off}"
        return Fact(label="", text=f"{text}; {told}")
    return Fact(
        label="",
        text=f"{written(SECONDS, found.step_time)} per step{cost}, {memory}, {speed}",
        more=between,
    )


def _operators(found: Sequence[ClassTimes]) -> ReportSection:
    """Classes of operators of a profiled step, as predicted and as measured."""
    title = "Where the prediction is off, by what runs"
    both = table(found, "kind", "predicted", "measured", "more", "error")
    note = Note("A profiler counts what is recomputed with what it is.")
    again = any(each.kind is OperatorClass.RECOMPUTE for each in found)
    body = (both, *((note,) if again else ())) if found else ()
    return ReportSection(name="operators", title=title if found else "", body=body)


def _difference(answer: Comparison) -> tuple[Fact, ...]:
    """The difference of the steps, its interval, and what of their errors cancels."""
    if not answer.departures:
        return (Fact(label="Differs", text="nothing: the two are one question"),)
    ends = (
        f"{signed(SECONDS, answer.time_low)} to {signed(SECONDS, answer.time_high)}, "
        f"{signed_percent(answer.ratio_low - 1.0)} to {signed_percent(answer.ratio_high - 1.0)}"
    )
    text = f"{signed(SECONDS, answer.time)}, {signed_percent(answer.ratio - 1.0)}"
    return (
        Fact(label="Differs", text=f"{text} per step", more=ends),
        Fact(label="Cancels", text=answer.shared),
    )


def _ways(found: Sequence[Departure], *, step: float) -> ReportSection:
    """What each difference costs; the rounding of floats is left out."""
    least = ROUNDING * step
    tells = [it for it in found if it.what != "rounding" or abs(it.time) > least]
    moves = [it for it in tells if abs(it.time) > least or it.memory or it.cost]
    still = [it.what for it in tells if it not in moves]
    shown = ("step_change", "step_cost", "device_memory", "what", "before", "after")
    note = (Note(f"These cost nothing: {', '.join(still)}."),) if still else ()
    title = "What each difference costs, one after another"
    return ReportSection(name="departures", title=title, body=(table(moves, *shown), *note))


def _parts(found: Sequence[PartChange], *, step: float) -> ReportSection:
    """Where in the step the two differ."""
    shown = [each for each in found if abs(each.second - each.first) > ROUNDING * step]
    few = [each for each in shown if abs(each.second - each.first) > SMALL * step]
    title = f"Where in the step: parts that differ by {percent(SMALL)} of the first or more"
    return ReportSection(
        name="parts",
        title=title,
        body=(table(few, "part", "first", "second", "more"), Paper(table(shown))),
    )


SMALL = 0.01
"""Share of the first step below which a part is told only to who asks for more."""


def after_search(study: object, answer: object) -> tuple[Fact, ...]:
    """Of what a search proposes: what is safer, why it is as it is, why not another, how to run."""
    assert isinstance(answer, SearchResult), "another answer than that of a search"
    assert isinstance(study, Study), "another question than that of a search"
    return (
        *_safer(answer),
        Fact(label="Explain", text="foretrain explain {study}"),
        Fact(label="Why not", text="foretrain search {study} --why-not tp8"),
        *_export(study, answer),
    )


def _export(study: Study, answer: SearchResult) -> tuple[Fact, ...]:
    """The files of the best plan, for a trainer that can be told it."""
    trainer = able(home(study, answer.best), answer.best.estimate.plan)
    if trainer is None:
        return ()
    return (Fact(label="Export", text=f"foretrain export {{study}} --to {trainer.name} --search"),)


def _safer(answer: SearchResult) -> tuple[Fact, ...]:
    """The plan that surely fits, where the first is not that one."""
    named = [each for each in answer.plans if "safest" in each.name]
    if not named or named[0] is answer.plans[0]:
        return ()
    safest = named[0]
    place = answer.plans.index(safest) + 1
    likely = percent(safest.estimate.memory.probability_fits)
    return (Fact(label="Safer", text=f"plan {place}, which fits with {likely}"),)


def after_explain(_study: object, answer: object) -> tuple[Fact, ...]:
    """Of a plan that was explained: is there a better one, and how does it go?"""
    assert isinstance(answer, Explained), "another answer than an explanation"
    best = Fact(label="Search", text="foretrain search {study}", more="leave plan keys out")
    return (
        *((best,) * (not answer.proposed)),
        Fact(label="All of it", text="foretrain explain {study} --more"),
    )
