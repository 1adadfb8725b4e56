"""The report of `explain`: where the step goes, what would help, and what stands behind it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from foretrain.errors import shortened
from foretrain.plan.study import Study
from foretrain.search.explain.alive import FullestMoment
from foretrain.search.explain.explained import Explained, Limitation
from foretrain.search.explain.levers import Lever, LeverKind
from foretrain.search.explain.limits import BoundOperator
from foretrain.search.explain.sensitivity import Sensitivity, signed_share
from foretrain.search.explain.waterfall import Fall
from foretrain.search.report.bars import moment_bars
from foretrain.search.report.step_picture import step_picture
from foretrain.search.report.why_not import why_not_section
from foretrain.show.report import (
    AnswerReport,
    Brief,
    Drawing,
    Note,
    Paper,
    Pieces,
    ReportSection,
)
from foretrain.show.table import Column, Fact, Piece, table
from foretrain.show.words import count, percent, written
from foretrain.step import facts
from foretrain.step.result import Estimate
from foretrain.units import BYTES, SECONDS

NOTED: Final = 0.01
"""Share of the step below which a part is told only to who asks for more."""

MOST_NAMED: Final = 3
LONGEST: Final = 130
"""Parts and findings that a terminal names, and characters of a finding."""

GROWTH: Final = "scaling-limit"
"""The finding that a degree cannot be doubled."""


def explain_report(study: Study, answer: Explained) -> AnswerReport:
    """What is said of an explanation."""
    there = facts.question(study)
    plan = Fact(
        label="Plan",
        text=str(answer.plan),
        more="proposed by a search" * answer.proposed,
    )
    rent = Fact(label="Rent", text=f"{count(answer.nodes, 'node')} of {answer.cluster}")
    brief = tuple(each for each in there if each.label != "Batch")
    asked = (*((rent,) * bool(study.offers)), plan, *facts.misfit(answer.estimate))
    return AnswerReport(
        kind="Explained",
        title=f"{study.workload.model.name} on {count(answer.nodes, 'node')} of {answer.cluster}",
        sections=(
            ReportSection(
                name="plan",
                title="",
                body=(
                    Brief((*brief, *asked)),
                    Paper((*there, *asked)),
                    (facts.step(answer.estimate),),
                ),
            ),
            _where(answer.waterfall),
            *_picture(answer),
            _bounds(answer.operators),
            _memory(answer.peak, study.cluster.device.memory),
            _levers(answer.levers),
            _sensitivities(answer.sensitivities),
            _findings(answer.findings),
            _evidence(answer.estimate),
            *(
                why_not_section(study, each, number=number)
                for number, each in enumerate(answer.why_not, start=1)
            ),
        ),
        coefficients=True,
    )


def _where(falls: Sequence[Fall]) -> ReportSection:
    """The waterfall; a terminal that is not asked for more adds up what is next to nothing."""
    shown = [each for each in falls if abs(each.share) > facts.ROUNDING]
    small = [each for each in shown if abs(each.share) < NOTED]
    rest = sum(each.seconds for each in small)
    large = [each for each in shown if each not in small]
    before = dict(zip(large[1:], large, strict=False))
    lines = [
        (it.name, it.seconds, AGAIN if it in before and before[it].cause == it.cause else it.cause)
        for it in large
    ]
    if small:
        names = ", ".join(each.name for each in small[:MOST_NAMED])
        lines.append(("the rest", rest, f"{names}{', ...' * (len(small) > MOST_NAMED)}"))
    return ReportSection(
        name="waterfall",
        title="Where the step goes, from the model's FLOP alone to the whole",
        body=(
            Brief(tuple(_line(each, falls[-1].until) for each in lines)),
            Paper(table(shown, "name", "seconds", "until", "share", "cause", legend=True)),
        ),
    )


AGAIN: Final = "the same"
"""Of a part whose cause is that of the part before."""


def _line(fall: tuple[str, float, str], whole: float) -> Fact:
    """A part of the step, how much of it that is, and why."""
    name, seconds, cause = fall
    amount, share = f"{SECONDS.write(seconds)}", percent(seconds / whole)
    return Fact(label=name.capitalize(), text=f"{amount:>8} {share:>6}  {cause}")


def _picture(answer: Explained) -> Iterator[ReportSection]:
    """The step as it was simulated; nothing where it was not."""
    trace = answer.trace
    if trace is None:
        return
    words = (
        "Passes of micro-batches on top, sends to other stages below, what replicas exchange at "
        "the bottom. foretrain explain --timeline writes every stage and pass for Perfetto."
    )
    content = {"picture": step_picture(trace.times), "words": words}
    picture = Drawing(template="step", content=content)
    title = "The step, stage by stage"
    yield ReportSection(name="timeline", title=title, body=(picture,), page_only=True)


def _bounds(operators: Sequence[BoundOperator]) -> ReportSection:
    """What bounds the operators, in a line and in a table."""
    return ReportSection(
        name="operators",
        title="What bounds each operator",
        body=(table(operators, legend=True),),
        page_only=True,
    )


def _memory(peak: FullestMoment, capacity: float) -> ReportSection:
    """When memory is fullest and what is alive then, of a device of some capacity."""
    now, drawn = peak.fullest, moment_bars(peak.moments, capacity)
    content = {
        "bars": drawn,
        "capacity": 100 * capacity / max(capacity, now.total),
        "capacity_text": written(BYTES, capacity),
    }
    names = ("activations", "gradients", "weights", "buffers", "optimizer")
    held = sorted(((getattr(now, name), name) for name in names), reverse=True)
    told = ", ".join(f"{written(BYTES, amount)} {name}" for amount, name in held[:MOST_NAMED])
    kept = ", ".join(f"{each.operator} {percent(each.share)}" for each in peak.kept[:3])
    where = f"{written(BYTES, now.total)} on stage {peak.stage + 1}, {now.when}"
    held_then = (Fact(label="Memory", text=f"{where}: {told}"),)
    of_layer = (Fact(label="A layer keeps", text=kept),) * bool(kept)
    pieces = Pieces(
        quantity=BYTES,
        pieces=[
            Piece(name=name, amount=amount, share=amount / now.total)
            for amount, name in held
            if amount
        ],
        of="of what is held",
    )
    return ReportSection(
        name="peak",
        title="Memory",
        quiet=True,
        body=(
            held_then,
            Paper(of_layer),
            Paper(pieces),
            Drawing(template="moments", content=content),
            Paper(table(peak.moments)),
            Paper(table(peak.kept, legend=True)),
        ),
    )


def _levers(found: Sequence[Lever]) -> ReportSection:
    """What would help most; of resources and nodes the first of each alone in a terminal."""
    few = [*_first(found, LeverKind.PLAN, LeverKind.TRAINER, most=2)]
    few += [*_first(found, LeverKind.NODES, most=1), *_first(found, LeverKind.RESOURCE, most=2)]
    shown = ("step_gain", "step_share", "step_cost", "device_memory", "change")
    none = "Nothing that is known saves half a per cent of time or money."
    return ReportSection(
        name="levers",
        title="What would help: each the difference of two estimates",
        body=(
            Brief(table(few, *shown)),
            Paper(table(found, *shown, "kind")) if found else Note(""),
            *((none,) * (not found)),
        ),
    )


def _first(found: Sequence[Lever], *kinds: LeverKind, most: int) -> list[Lever]:
    return [each for each in found if each.kind in kinds][:most]


def _sensitivities(found: Sequence[Sensitivity]) -> ReportSection:
    """What a tenth more does; what changes nothing is counted."""
    moves = [each for each in found if each.time or each.memory or each.cost]
    still = len(found) - len(moves)
    first = [each for each in moves if each.kind == "resource" and each.time][:MOST_NAMED]
    told = ", ".join(f"{each.name} {signed_share(each.share)}" for each in first)
    few = (Fact(label="10 % more", text=told),) * bool(told)
    return ReportSection(
        name="sensitivities",
        title="A tenth more of everything",
        quiet=True,
        body=(
            Brief(few),
            Paper(table(moves)),
            Paper(Note(f"{still} others change neither step nor memory nor money.")),
        ),
    )


def _findings(found: Sequence[Limitation]) -> ReportSection:
    """What the detector sees."""
    # What there is too little of to grow further is only counted.
    first = next((each for each in found if each.id != GROWTH), None)
    lines = [shortened(_said(first), most=LONGEST)] if first else []
    others = len(found) - len(lines)
    if others:
        names = ", ".join(f"{it.id} ({it.term})" for it in found if it is not first)
        lines.append(shortened(f"also {names}", most=LONGEST))
    return ReportSection(
        name="findings",
        title="Findings",
        quiet=True,
        body=(
            Brief(tuple(Fact(label="Finding", text=each) for each in lines)),
            Paper(table(found, legend=True)),
        ),
    )


def _said(found: Limitation) -> str:
    """A finding in a sentence."""
    gain = "" if found.gain is None else f", {percent(found.gain)} less"
    what = "memory" if found.term == "memory" else "time"
    helps = f" Helps: {found.remedy}{gain} {what}." if found.remedy and gain else ""
    return f"{found.id}: {found.evidence}.{helps}"


def _evidence(estimate: Estimate) -> ReportSection:
    """The measured runs behind the answer, and what to doubt about it."""
    columns = (
        (Column(name="measured run"), lambda each: each.run),
        (Column(name="id", spare=1), lambda each: each.id),
        (Column(name="rows", number=True, spare=2), lambda each: str(each.rows)),
        (Column(name="off", number=True, meaning=OFF), lambda each: f"{each.error:+.0%}"),
        (Column(name="differs in"), lambda each: " and ".join(each.differs)),
    )
    return ReportSection(
        name="evidence",
        title="Evidence",
        quiet=True,
        body=(
            Brief(facts.in_brief(estimate)),
            Paper(facts.caution(estimate)),
            Paper(table(estimate.confidence.nearest, *columns, legend=True)),
        ),
    )


OFF: Final = "how far predictions of it are off, made without its publisher's rows"
