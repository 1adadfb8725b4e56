"""What the free text of a row says, and which of its words nothing here understands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from foretrain.measured.run import Layout, MeasuredRun
from foretrain.units import as_written

_STAGES: Final = (
    (re.compile(r"full_?shard|fully_?shard|fsdp|zero-?3"), 3),
    (re.compile(r"shard_grad_op|zero-?2"), 2),
    (re.compile(r"distributed optimizer|zero-?1"), 1),
    (re.compile(r"^(none|no_?shard|ddp|zero-?0)$"), 0),
)
"""How sources write the stages of ZeRO; the first that is found counts."""

_GROUPED: Final = re.compile(r"hybrid|hsdp|mics")
"""Strategies that say that groups share a copy, and not how large they are."""

GROUP: Final = re.compile(r"group ([0-9]+)")
ONE_AXIS: Final = ("data parallel", "single")
"""How a column of words about parallelism begins where every device has the whole network."""

_REMARKS: Final = {"recompute": ("sequence parallel",), "precision": ("bnb.nf4", "bnb.nf4-dq")}
"""What may follow a plus."""


def stage_of(words: str) -> int | None:
    """The stage of ZeRO that words for a way of sharding mean; nothing where they are not known."""
    said = words.lower().replace("zero ", "zero").strip()
    if _GROUPED.search(said) and not GROUP.search(said):
        return None
    return next((stage for pattern, stage in _STAGES if pattern.search(said)), None)


def shard_of(layout: Layout) -> int | None:
    """Devices that share one copy, where the words for the sharding say so."""
    group = GROUP.search(layout.sharding)
    return int(group[1]) if group else None


def first_of(words: str) -> str:
    """What words say before a plus."""
    return words.partition("+")[0].strip()


def not_understood(run: MeasuredRun) -> Iterator[str]:
    """The column and the words of free text that are left out."""
    layout = run.layout
    if layout.sharding and stage_of(layout.sharding) is None:
        yield left_out("shard_strategy", layout.sharding)
    for column, words in (("recompute", layout.recompute), ("precision", run.precision)):
        more = [part.strip() for part in words.split("+")[1:]]
        if left := [part for part in more if part.lower() not in _REMARKS[column]]:
            yield left_out(column, " + ".join(left))
    if layout.axes and not layout.axes.lower().startswith(ONE_AXIS):
        yield left_out("parallelism", layout.axes)


def left_out(column: str, words: str) -> str:
    """What is said of words that are not understood."""
    return f"{column} {as_written(words)} is not understood and left out"
