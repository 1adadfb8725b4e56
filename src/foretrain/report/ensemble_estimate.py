"""The report of `ensemble estimate`: whether to share the input, and what a run will take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group
from rich.text import Text

from foretrain.report import terminal
from foretrain.report.fact import Fact
from foretrain.report.page import page
from foretrain.report.section import tables
from foretrain.report.table import Column, Table
from foretrain.report.words import count, percent, written
from foretrain.results.ensemble_estimate import EnsembleEstimated, Loading, MemberForecast
from foretrain.results.provenance import Provenance
from foretrain.units import BYTES, SECONDS

WAYS = "How members may get their samples"
MEMBERS = "Members"
COUNTED = "all processes, what they share once"
LIMITS = {"training": "the steps", "preparation": "preparing", "cores": "the cores"}


def ensemble_estimate_text(answer: EnsembleEstimated) -> Group:
    """What the terminal shows before a run."""
    ways, members = loading_table(answer.loadings), member_table(answer)
    chosen = next((n for n, each in enumerate(answer.loadings) if each.chosen), None)
    return Group(
        terminal.facts(facts(answer)),
        terminal.heading(WAYS),
        terminal.table(ways, best=chosen),
        terminal.legend(ways.columns),
        terminal.heading(MEMBERS),
        terminal.table(members),
        terminal.legend(members.columns),
        *([Text()] if answer.warnings else []),
        *(Text(f"Warning: {each}", style="yellow") for each in answer.warnings),
        terminal.note(f"\n{_code(answer)}"),
    )


def ensemble_estimate_page(answer: EnsembleEstimated, provenance: Provenance) -> str:
    """The HTML page of an estimate, complete in itself."""
    told = tuple((fact.label, fact.text, fact.more) for fact in facts(answer))
    heads = (Column(name="what"), Column(name="expected"), Column(name="more"))
    sections = (
        tables("expected", "What to expect", Table(columns=heads, rows=told)),
        tables("loading", WAYS, loading_table(answer.loadings), words=answer.why),
        tables("members", MEMBERS, member_table(answer), words=" ".join(answer.warnings)),
    )
    return page(
        kind="Ensemble",
        title=f"{answer.name}: {count(len(answer.members), 'member')}",
        subtitle=_code(answer),
        sections=[each for each in sections if each is not None],
        provenance=provenance,
    )


def facts(answer: EnsembleEstimated) -> Iterator[Fact]:
    """What is expected, one thing a line."""
    members = count(len(answer.members), "member")
    cores = count(answer.cores, "core")
    yield Fact(label="Ensemble", text=f"{answer.name}, {members} on {cores}", more=_groups(answer))
    yield Fact(label="Input", text=str(answer.input), more=answer.why)
    if answer.seconds is not None and answer.cpu is not None:
        more = f"{written(SECONDS, answer.cpu)} of processor time"
        yield Fact(label="Time", text=written(SECONDS, answer.seconds), more=more)
    yield Fact(
        label="Memory",
        text=written(BYTES, answer.memory),
        more=COUNTED,
    )
    saved = f"{answer.saved:.2g} times the processor time without sharing"
    yield Fact(label="Sharing", text=f"k = {answer.shareable:.2g}", more=saved)
    yield Fact(
        label="Sample", text=_sample(answer), more="" if answer.measured else "as the study says"
    )


def loading_table(loadings: Sequence[Loading]) -> Table:
    """Ways of loading, the quickest first."""
    columns = (
        Column(name="way"),
        Column(name="rate", meaning="samples per second of each member", number=True),
        Column(name="processor time", meaning="per sample, all members together", number=True),
        Column(name="memory", number=True, spare=1),
        Column(name="limit", meaning="what keeps it from more"),
    )
    rows = [
        (
            each.name,
            f"{each.rate:,.3g}" if each.rate < 1000 else f"{each.rate:,.0f}",
            written(SECONDS, each.cpu),
            written(BYTES, each.memory),
            LIMITS[each.limit],
        )
        for each in loadings
    ]
    return Table(columns=columns, rows=tuple(rows))


def member_table(answer: EnsembleEstimated) -> Table:
    """Members in the order of the study."""
    waves = answer.waves > 1
    columns = (
        Column(name="member"),
        Column(name="batch", number=True),
        Column(name="epochs", number=True),
        Column(name="alone", meaning="samples per second with samples always at hand", number=True),
        Column(name="together", meaning="samples per second among the others", number=True),
        Column(name="own time", meaning="processor time of a sample", number=True, spare=1),
        Column(name="memory", number=True, spare=2),
        *((Column(name="wave", number=True),) * waves),
    )
    rows = [(*_row(each), *((str(each.wave),) * waves)) for each in answer.members]
    return Table(columns=columns, rows=tuple(rows))


def _code(answer: EnsembleEstimated) -> str:
    """What was called, or will be."""
    named = ", ".join(answer.code)
    return code(answer.code) if answer.measured else f"A run calls code of the study: {named}."


def code(names: Sequence[str]) -> str:
    """Which functions of the study run."""
    return f"Runs code of the study: {', '.join(names)}."


def _row(member: MemberForecast) -> tuple[str, ...]:
    return (
        member.name,
        f"{member.batch:,}",
        f"{member.epochs:,}",
        f"{member.alone:,.0f}",
        f"{member.rate:,.0f}",
        written(SECONDS, member.cpu),
        written(BYTES, member.memory),
    )


def _groups(answer: EnsembleEstimated) -> str:
    waves = f"{answer.waves} waves, one after the other" if answer.waves > 1 else ""
    rungs = ", ".join(map(str, answer.comparisons))
    compared = f"compared after epoch {rungs}" if rungs else ""
    return "; ".join(part for part in (waves, compared) if part)


def _sample(answer: EnsembleEstimated) -> str:
    sample = answer.sample
    share = sample.prepare / max(sample.seconds, sample.prepare)
    waits = f", {percent(1 - share)} of it waiting" if share < 0.9 else ""
    prepare = written(SECONDS, sample.prepare)
    size = written(BYTES, sample.size)
    return f"{prepare} of processor time to prepare{waits}; {size}"
