"""Simple plans: what makes a plan hard to run, and the best of those that have little of it.

A plan is as complex as the number of things that it needs beside replicas of a whole model: axes,
chunks, unusual schedules and placements. Of equal plans the simpler one is easier to start, to
debug and to move to another cluster.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from foretrain.plan.plan import Plan
from foretrain.plan.table import SIDE, Column, Flags, PlanTable, Rows, table_of
from foretrain.search.candidate import Candidate, Priced
from foretrain.search.found import unbeaten

WINDOW: Final = 1.25
"""How many times as much as the best a plan may have that is shown for being simple."""

NEUTRAL: Final = Plan()

ABOVE_ONE: Final = ("tensor", "context", "pipeline", "expert", "expert_tensor", "interleaving")
"""Fields of which more than one is one thing more."""

UNUSUAL: Final = (
    "shard",
    "reshard",
    "recompute_layers",
    "offload",
    "offload_layers",
    "attention",
    "schedule",
)
"""Fields of which anything but what they say by default is one thing more."""


def complexity(plans: PlanTable, *, placed: bool = True) -> Column:
    """How many things each plan needs beside replicas of a whole model. [plan]

    Open fields of a region that stand at their neutral values make it the least of its plans, but
    for the placement: the first that differs for one plan of a region is not that of another.

    Args:
        plans: the plans, or one of each region.
        placed: whether an unusual placement counts.
    """
    found = np.zeros(len(plans))
    for name in ABOVE_ONE:
        found += getattr(plans, name) > 1
    for name in UNUSUAL:
        found += getattr(plans, name) != float(getattr(NEUTRAL, name))
    # Cuts and grids that are not the first choice, placements that are not the usual one, and
    # samples that no power of two counts.
    sizes = plans.micro_batch
    for name, table in SIDE.items():
        if name == "order" and not placed:
            continue
        values = getattr(plans, table)
        odd = np.array([value != getattr(NEUTRAL, name) for value in values], float)
        found += odd[getattr(plans, name).astype(np.intp)]
    found += np.log2(sizes) != np.floor(np.log2(sizes))
    return found


def complexity_of(plan: Plan) -> int:
    """How many things one plan needs beside replicas of a whole model."""
    return int(complexity(table_of([plan]))[0])


@dataclass(slots=True, kw_only=True)
class Simple:
    """The plans found so far that none as simple beats in value and memory, up to `WINDOW`.

    Attributes:
        levels: members by complexity, each with its share of a device's memory.
        least: the least value of any plan.
        reach: for every complexity the values, ascending, of members at most that complex, and
            the least share up to each of them.
    """

    levels: dict[int, list[tuple[Candidate, float]]] = field(default_factory=dict)
    least: float = np.inf
    reach: dict[int, tuple[Column, Column]] = field(default_factory=dict)

    @property
    def members(self) -> list[tuple[Candidate, float]]:
        """All members within the window, the simplest first, each with its share of the memory."""
        return [
            each
            for level in sorted(self.levels)
            for each in self.levels[level]
            if each[0].value <= WINDOW * self.least
        ]

    def add(self, priced: Priced) -> None:
        """Look at more plans."""
        self.least = min(self.least, float(priced.value.min()))
        rows = np.flatnonzero(priced.value <= WINDOW * self.least)
        rows = rows[~self.beats(priced, rows)]
        if not len(rows):
            return
        room, levels = priced.cluster.device.memory, complexity(priced.plans.take(rows))
        for level in np.unique(levels):
            some = rows[levels == level]
            few = some[unbeaten(priced.value[some], priced.memory[some])]
            found = [priced.candidate(int(row)) for row in few]
            self._merge(int(level), [(each, each.memory / room) for each in found])
        self._reach()

    def beats(self, bounds: Priced, rows: Rows) -> Flags:
        """Whether whatever takes at least as much as some rows counts for nothing. [row]"""
        value = bounds.value[rows]
        beaten: Flags = value > WINDOW * self.least
        near = np.flatnonzero(~beaten)
        if not len(near) or not self.reach:
            return beaten
        levels = complexity(bounds.plans.take(rows[near]), placed=False)
        share = bounds.memory[rows[near]] / bounds.cluster.device.memory
        known = np.array(sorted(self.reach))
        # Of members that are exactly as good one is enough, so that bounds need not be beaten.
        for level in np.unique(levels):
            place = np.searchsorted(known, level, side="right")
            if not place:
                continue
            some = near[levels == level]
            values, least = self.reach[int(known[place - 1])]
            behind = np.searchsorted(values, value[some], side="left")
            beaten[some] = (behind > 0) & (least[behind - 1] <= share[levels == level])
        return beaten

    def _merge(self, level: int, found: list[tuple[Candidate, float]]) -> None:
        """Take in members of one complexity; of equals the one of the first rank stays."""
        kept: dict[tuple[float, float], tuple[Candidate, float]] = {}
        for each in (*self.levels.get(level, ()), *found):
            point = (each[0].value, each[1])
            if point not in kept or each[0].rank < kept[point][0].rank:
                kept[point] = each
        self.levels[level] = list(kept.values())

    def _reach(self) -> None:
        """Leave out beaten members, and know what the others reach."""
        every: list[tuple[Candidate, float]] = []
        self.reach = {}
        for level in sorted(self.levels):
            joined = sorted(
                [*every, *self.levels[level]], key=lambda each: (each[0].value, each[1])
            )
            values = np.array([each[0].value for each in joined])
            shares = np.array([each[1] for each in joined])
            stays = set(unbeaten(values, shares).tolist())
            every = [each for place, each in enumerate(joined) if place in stays]
            own = {id(each) for each in self.levels[level]}
            self.levels[level] = [each for each in every if id(each) in own]
            self.reach[level] = (
                np.array([each[0].value for each in every]),
                np.minimum.accumulate(np.array([each[1] for each in every])),
            )
