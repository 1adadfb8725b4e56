"""Trade-offs of two: which rows of a table no other row beats.

Pareto front: plans that no other plan beats in every respect.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from foretrain.plan.table import Column, Flags, Rows, distinct
from foretrain.search.candidate import Candidate, Priced
from foretrain.search.objective import Spending


def unbeaten(time: Column, memory: Column) -> Rows:
    """Rows that no other row beats in both, fastest first; equals are all there. [row]

    A row beats another one if it is nowhere worse and somewhere better.
    """
    if not len(time):
        return np.arange(0)
    # Most are beaten by the one with the least product of both.
    knee = np.argmin(time * memory)
    stays = (time < time[knee]) | (memory < memory[knee])
    stays |= (time == time[knee]) & (memory == memory[knee])
    rows = np.flatnonzero(stays)
    order = rows[np.lexsort((memory[rows], time[rows]))]
    before = np.concatenate([[np.inf], np.minimum.accumulate(memory[order])[:-1]])
    first = memory[order] < before
    # What equals the last row that was better is as good.
    best = order[np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))]
    equals: Rows = order[(time[order] == time[best]) & (memory[order] == memory[best])]
    return equals


Floats = NDArray[np.float64]


@dataclass(slots=True, kw_only=True)
class Front:
    """The plans found so far that no other beats; of equals the one whose text comes first stays.

    Attributes:
        spending: what counts beside time and memory.
        members: the plans, in no order.
        points: seconds, what is spent in them, and bytes. [respect, member]
    """

    spending: Spending
    members: list[Candidate] = field(default_factory=list)
    points: Floats = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def ranked(self) -> list[Candidate]:
        """The plans, fastest first."""
        return sorted(self.members, key=lambda each: (each.step_time, each.memory, each.rank))

    def add(self, priced: Priced) -> None:
        """Look at more plans."""
        rows = np.concatenate(
            [
                some[unbeaten(priced.step_time[some], priced.memory[some])]
                for some in by_count(priced.plans.devices)
            ]
        )
        seconds, devices = priced.step_time[rows], priced.plans.devices[rows]
        rates = self.spending.rates(priced.cluster, devices)
        points = np.concatenate([rates * seconds, priced.memory[np.newaxis, rows]])
        if len(self.members):
            stays = ~_beaten(points, self.points)
            rows, points = rows[stays], points[:, stays]
        stays = ~_beaten(points, points)
        rows, points = rows[stays], points[:, stays]
        if len(rows):
            self._merge([priced.candidate(int(row)) for row in rows], points)

    def _merge(self, found: list[Candidate], points: Floats) -> None:
        """Take in plans that no member beats, and leave out whom they beat or equal."""
        if len(self.members):
            stays = ~_beaten(self.points, points)
            members = [each for each, one in zip(self.members, stays, strict=True) if one]
            found = [*members, *found]
            points = np.concatenate([self.points[:, stays], points], axis=1)
        kept: dict[tuple[float, ...], int] = {}
        for place, point in enumerate(map(tuple, points.T.tolist())):
            other = kept.get(point)
            if other is None or found[place].rank < found[other].rank:
                kept[point] = place
        self.members = [found[place] for place in kept.values()]
        self.points = points[:, list(kept.values())]

    def beats(self, bounds: Priced, rows: Rows) -> Flags:
        """Whether a member beats whatever takes at least as long and as many bytes. [row]

        Of one cluster and number of devices the rates are the same for all plans, so that every
        member has one time that it beats in all respects but memory.
        """
        beaten = np.zeros(len(rows), bool)
        if not self.members:
            return beaten
        devices = bounds.plans.devices[rows]
        seconds, memory = bounds.step_time[rows], bounds.memory[rows]
        for some in by_count(devices):
            rates = self.spending.rates(bounds.cluster, devices[some[:1]])
            reach = np.max(self.points[:-1] / rates, axis=0)
            order = np.argsort(reach)
            least = np.minimum.accumulate(self.points[-1][order])
            behind = np.searchsorted(reach[order], seconds[some], side="left")
            beaten[some] = (behind > 0) & (least[behind - 1] <= memory[some])
        return beaten


def by_count(devices: Column) -> list[Rows]:
    """Rows with equal numbers of devices."""
    rows, index = distinct([devices])
    if len(rows) == 1:
        return [np.arange(len(devices))]
    order = np.argsort(index, kind="stable")
    return np.split(order, np.cumsum(np.bincount(index))[:-1])


def _beaten(points: Floats, others: Floats) -> Flags:
    """Which points another one beats: nowhere worse and not the same. [point]"""
    mine, theirs = points[:, :, np.newaxis], others[:, np.newaxis]
    nowhere_better = np.logical_and.reduce(mine >= theirs, axis=0)
    somewhere_worse = np.logical_or.reduce(mine > theirs, axis=0)
    beaten: Flags = np.logical_or.reduce(nowhere_better & somewhere_worse, axis=1)
    return beaten
