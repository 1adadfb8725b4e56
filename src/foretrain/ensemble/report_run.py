"""The report of `ensemble run`: members while they train, and what became of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite

from rich.console import Group
from rich.text import Text

from foretrain.ensemble.estimate import COUNTED, code
from foretrain.ensemble.result import (
    Compared,
    EnsembleRan,
    MemberNow,
    MemberResult,
    MemberState,
    Snapshot,
)
from foretrain.measured.ensemble_study import Bottleneck
from foretrain.show import terminal
from foretrain.show.table import Column, Fact, Table
from foretrain.show.words import count, percent, written
from foretrain.units import BYTES, SECONDS

COMPARED = "Prediction against reality"


def probes_text(what: str, done: int, total: int) -> Text:
    """What is measured before a run, and how far that is."""
    return terminal.note(f"{what}: {done} of {total}")


def live_text(now: Snapshot) -> Group:
    """A look at a run, drawn again and again."""
    fill = "" if now.fill is None else f", {percent(now.fill)} of the stream's slots are full"
    pace = f"; the {now.bottleneck.stage} sets the pace" if now.bottleneck else ""
    return Group(
        terminal.table(now_table(now.members)),
        terminal.note(f"{written(SECONDS, now.seconds)}{fill}{pace}"),
    )


def ensemble_run_text(answer: EnsembleRan) -> Group:
    """What the terminal shows after a run."""
    members, predictions = result_table(answer.members), compared_table(answer.compared)
    best = _best(answer.members)
    against = (terminal.heading(COMPARED), terminal.table(predictions))
    return Group(
        terminal.facts(facts(answer)),
        terminal.heading("Members"),
        terminal.table(members, best=best),
        terminal.legend(members.columns),
        *(Text(f"{each.name}: {each.reason}", style="red") for each in _failed(answer)),
        *(Text(f"Warning: {each}", style="yellow") for each in answer.warnings),
        *(against if predictions.rows else ()),
        terminal.note(f"\n{code(answer.code)}"),
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
            more=evidence(answer.bottleneck),
        )
    if not answer.complete and answer.folder:
        yield Fact(label="To go on", text="run it again with --resume", more=answer.folder)


def evidence(found: Bottleneck) -> str:
    """Why a stage is blamed, and what would help."""
    return f"{found.evidence}. {found.remedy}"


def now_table(members: Sequence[MemberNow]) -> Table:
    """What every member does now."""
    columns = (
        Column(name="member"),
        Column(name="state"),
        Column(name="epoch", number=True),
        Column(name="samples", number=True),
        Column(name="samples/s", number=True),
        Column(name="lag", number=True),
        Column(name="waits", number=True),
        Column(name="loss", number=True),
    )
    rows = [
        (
            each.name,
            str(each.state),
            str(each.epoch),
            f"{each.samples:,}",
            f"{each.rate:,.0f}",
            f"{each.lag:,}",
            percent(each.wait),
            _loss(each.loss),
        )
        for each in members
    ]
    return Table(columns=columns, rows=tuple(rows))


def result_table(members: Sequence[MemberResult]) -> Table:
    """What became of every member."""
    lost = any(each.dropped or each.skipped for each in members)
    columns = (
        Column(name="member"),
        Column(name="state"),
        Column(name="epochs", number=True),
        Column(name="samples", number=True, spare=2),
        Column(name="samples/s", number=True),
        Column(name="waits", meaning="share of its time without a batch", number=True),
        Column(name="own time", meaning="processor time of its process", number=True, spare=1),
        Column(name="loss", meaning="mean of its last epoch", number=True),
        *((Column(name="lost", meaning="samples dropped or not readable", number=True),) * lost),
    )
    rows = [(*_row(each), *((f"{each.dropped + each.skipped:,}",) * lost)) for each in members]
    return Table(columns=columns, rows=tuple(rows))


def compared_table(compared: Sequence[Compared]) -> Table:
    """Predictions against reality."""
    columns = (
        Column(name="what"),
        Column(name="predicted", number=True, group="amount"),
        Column(name="measured", number=True, group="amount"),
        Column(name="difference", number=True),
    )
    rows = [
        (
            each.quantity,
            _valued(each.predicted, each.unit),
            _valued(each.measured, each.unit),
            "" if each.error is None else f"{100 * each.error:+.0f} %",
        )
        for each in compared
    ]
    return Table(columns=columns, rows=tuple(rows))


def _row(member: MemberResult) -> tuple[str, ...]:
    return (
        member.name,
        str(member.state),
        str(member.epochs),
        f"{member.samples:,}",
        f"{member.rate:,.0f}",
        percent(member.wait),
        written(SECONDS, member.cpu),
        _loss(member.loss),
    )


def _valued(value: float, unit: str) -> str:
    quantity = {"s": SECONDS, "B": BYTES}.get(unit)
    return written(quantity, value) if quantity else f"{value:,.3g} {unit}"


def _loss(loss: float | None) -> str:
    return "" if loss is None else f"{loss:.4g}"


def _best(members: Sequence[MemberResult]) -> int | None:
    """The member with the least loss, of those that have trained to their end."""
    done = [
        (each.loss, place)
        for place, each in enumerate(members)
        if each.state is MemberState.DONE and each.loss is not None and isfinite(each.loss)
    ]
    return min(done)[1] if done else None


def _failed(answer: EnsembleRan) -> list[MemberResult]:
    return [each for each in answer.members if each.state is MemberState.FAILED]
