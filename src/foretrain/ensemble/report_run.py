"""The report of `ensemble run`: members while they train, and what became of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import isfinite

from foretrain.ensemble.estimate import COUNTED, code
from foretrain.ensemble.result import EnsembleRan, MemberState, Snapshot
from foretrain.measured.ensemble_study import EnsembleStudy
from foretrain.show.report import AnswerReport, Block, Note, ReportSection
from foretrain.show.table import Column, Fact, Table, table
from foretrain.show.words import count, percent, written
from foretrain.units import BYTES, SECONDS


def live(now: Snapshot) -> tuple[Block, ...]:
    """A look at a run, drawn again and again."""
    fill = "" if now.fill is None else f", {percent(now.fill)} of the stream's slots are full"
    pace = f"; the {now.bottleneck.stage} sets the pace" if now.bottleneck else ""
    shown = ("name", "state", "epoch", "samples", "rate", "lag", "wait", "loss")
    return table(now.members, *shown), Note(f"{written(SECONDS, now.seconds)}{fill}{pace}")


def ensemble_run_report(study: EnsembleStudy, answer: EnsembleRan) -> AnswerReport:
    """What is said after a run."""
    shown = ("name", "state", "epochs", "samples", "rate", "wait", "cpu", "loss", "lost")
    failed = (each for each in answer.members if each.state is MemberState.FAILED)
    done = [
        (each.loss, place)
        for place, each in enumerate(answer.members)
        if each.state is MemberState.DONE and each.loss is not None and isfinite(each.loss)
    ]
    members = ReportSection(
        name="members",
        title="Members",
        body=(
            table(answer.members, *shown, best=min(done)[1] if done else None, legend=True),
            tuple(Fact(label="Failed", text=f"{each.name}: {each.reason}") for each in failed),
            tuple(Fact(label="Warning", text=each) for each in answer.warnings),
        ),
    )
    compared = ReportSection(
        name="compared", title="Prediction against reality", body=(compared_table(answer),)
    )
    return AnswerReport(
        kind="Ensemble",
        title=f"{answer.name}: {count(len(answer.members), 'member')}",
        subtitle=code(answer.code),
        sections=(
            ReportSection(name="run", title="", body=(tuple(facts(answer)),)),
            members,
            compared,
            ReportSection(name="", title="", body=("", Note(code(answer.code)))),
        ),
    )


def facts(answer: EnsembleRan) -> Iterator[Fact]:
    """The run as a whole, one thing a line."""
    members = count(len(answer.members), "member")
    yield Fact(
        label="Ensemble", text=f"{answer.name}, {members}", more="resumed" if answer.resumed else ""
    )
    yield Fact(label="Input", text=str(answer.input), more=answer.why)
    processor = written(SECONDS, answer.cpu)
    yield Fact(
        label="Time", text=written(SECONDS, answer.seconds), more=f"{processor} of processor time"
    )
    if answer.memory is None:
        yield Fact(label="Memory", text="not seen", more="the run was over before the first look")
    else:
        yield Fact(label="Memory", text=written(BYTES, answer.memory), more=COUNTED)
    if answer.bottleneck is not None:
        yield Fact(
            label="Pace",
            text=f"set by the {answer.bottleneck.stage}",
            more=f"{answer.bottleneck.evidence}. {answer.bottleneck.remedy}",
        )
    if not answer.complete and answer.folder:
        yield Fact(label="To go on", text="run it again with --resume", more=answer.folder)


def compared_table(answer: EnsembleRan) -> Table:
    """Predictions against reality."""
    amount = Column(name="predicted", number=True, group="amount")
    return table(
        answer.compared,
        "quantity",
        (amount, lambda each: _valued(each.predicted, each.unit)),
        (replace(amount, name="measured"), lambda each: _valued(each.measured, each.unit)),
        "error",
    )


def _valued(value: float, unit: str) -> str:
    quantity = {"s": SECONDS, "B": BYTES}.get(unit)
    return written(quantity, value) if quantity else f"{value:,.3g} {unit}"
