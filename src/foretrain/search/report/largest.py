"""The report of the largest size that fits: the size, what the next one needs, how memory grew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from foretrain.plan.study import Maximise, Study
from foretrain.search.largest import Largest
from foretrain.show.report import Block, ReportSection, Strong
from foretrain.show.table import Column, Table, table
from foretrain.show.words import count, written
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


def largest_section(there: Study, answer: Largest) -> ReportSection:
    """What is said of the largest size.

    Args:
        there: the question at the largest size.
        answer: what was found.
    """
    body: tuple[Block, ...] = (
        *sentences(there, answer),
        Strong("What the leanest plan needs as it grows"),
        growth(answer),
        "",
    )
    return ReportSection(name="largest", title=title(answer), body=body)


def title(answer: Largest) -> str:
    """The answer in one line."""
    shown = count(answer.size, UNITS[answer.maximise])
    if answer.maximise is Maximise.PARAMETERS:
        shown = f"{written(PARAMETERS, answer.parameters)} in {shown}"
    return f"{TITLES[answer.maximise]}: {shown}"


def sentences(there: Study, answer: Largest) -> Iterator[str]:
    """What keeps it from being larger, and what else changes with it."""
    need, unit = answer.next, UNITS[answer.maximise]
    if need is None:
        yield "There is no larger size to try."
    else:
        yield (
            f"The next size, {count(need.size, unit)}, needs at least "
            f"{written(BYTES, need.memory)} on a device; {written(BYTES, need.room)} may be filled."
        )
    if answer.maximise is Maximise.SEQUENCE and answer.tokens is not None:
        batch = count(there.workload.global_batch, "sample")
        yield (
            f"A step still has {batch}, so it learns from {written(TOKENS, answer.tokens)}: more "
            "than with shorter samples."
        )


def growth(answer: Largest) -> Table:
    """What sizes up to the largest, and the next one, need at least."""
    return table(
        (*answer.growth, *([answer.next] if answer.next else [])),
        (Column(name=f"{UNITS[answer.maximise]}s", number=True), lambda need: f"{need.size:,}"),
        "memory",
        "filled",
        "plan",
        best=len(answer.growth) - 1,
    )
