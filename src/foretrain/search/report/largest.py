"""The report of the largest size that fits: the size, what the next one needs, how memory grew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from rich.console import Group

from foretrain.plan.study import Maximise, Study
from foretrain.search.largest import Largest, Need
from foretrain.search.report.search import search_text
from foretrain.show import terminal
from foretrain.show.page import PageSection, tables
from foretrain.show.table import Column, Table
from foretrain.show.words import count, percent, written
from foretrain.units import BYTES, PARAMETERS, TOKENS

TITLES: Mapping[Maximise, str] = MappingProxyType(
    {
        Maximise.MICRO_BATCH: "Largest micro-batch that fits",
        Maximise.SEQUENCE: "Longest sequence that fits",
        Maximise.PARAMETERS: "Largest model that fits",
    }
)
UNITS: Mapping[Maximise, str] = MappingProxyType(
    {
        Maximise.MICRO_BATCH: "sample",
        Maximise.SEQUENCE: "token",
        Maximise.PARAMETERS: "layer",
    }
)


def largest_text(there: Study, answer: Largest) -> Group:
    """What the terminal shows.

    Args:
        there: the question at the largest size.
        answer: what was found.
    """
    return Group(
        terminal.heading(title(answer)),
        "\n".join(sentences(there, answer)),
        terminal.heading("What the leanest plan needs as it grows"),
        terminal.table(growth(answer), best=len(answer.growth) - 1),
        "",
        search_text(there, answer.search),
    )


def largest_section(there: Study, answer: Largest) -> PageSection | None:
    """The section of a page about the largest size."""
    words = " ".join(sentences(there, answer))
    return tables("largest", title(answer), growth(answer), words=words)


def title(answer: Largest) -> str:
    """The answer in one line."""
    shown = count(answer.size, UNITS[answer.maximise])
    if answer.maximise is Maximise.PARAMETERS:
        shown = f"{written(PARAMETERS, answer.parameters)} in {shown}"
    return f"{TITLES[answer.maximise]}: {shown}"


def sentences(there: Study, answer: Largest) -> Iterator[str]:
    """What keeps it from being larger, and what else changes with it."""
    yield _next(answer)
    if answer.maximise is Maximise.SEQUENCE and answer.tokens is not None:
        batch = count(there.workload.global_batch, "sample")
        yield (
            f"A step still has {batch}, so it learns from {written(TOKENS, answer.tokens)}: more "
            "than with shorter samples."
        )


def growth(answer: Largest) -> Table:
    """What sizes up to the largest, and the next one, need at least."""
    columns = (
        Column(name=f"{UNITS[answer.maximise]}s", number=True),
        Column(name="memory", meaning="least of any plan, on the heaviest device", number=True),
        Column(name="of the room", number=True, spare=2),
        Column(name="plan", spare=1),
    )
    needs = (*answer.growth, *([answer.next] if answer.next else []))
    return Table(columns=columns, rows=tuple(map(_row, needs)))


def _row(need: Need) -> tuple[str, ...]:
    return (
        f"{need.size:,}",
        written(BYTES, need.memory),
        _share(need),
        str(need.plan),
    )


def _share(need: Need) -> str:
    """What a plan fills of the room, of which too much never reads as a whole."""
    share = percent(need.memory / need.room)
    return f">{share}" if share == "100 %" and need.memory > need.room else share


def _next(answer: Largest) -> str:
    need, unit = answer.next, UNITS[answer.maximise]
    if need is None:
        return "There is no larger size to try."
    return (
        f"The next size, {count(need.size, unit)}, needs at least {written(BYTES, need.memory)} on "
        f"a device; {written(BYTES, need.room)} may be filled."
    )
