"""Found: the best plans so far, those that nothing beats, and what became of the rest.

Trade-offs of two: which rows of a table no other row beats.

Pareto front: plans that no other plan beats in every respect.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from foretrain.plan.study import Objective
from foretrain.plan.table import Column, Flags, PlanTable, Rows, distinct
from foretrain.search.candidate import Candidate, Priced, Spending
from foretrain.search.result import Progress
from foretrain.trainers.chosen import Runners


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
        points: seconds, what is spent in them, joules where they count, and bytes.
            [respect, member]
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
        rows = unbeaten_of(priced)
        seconds, devices = priced.step_time[rows], priced.plans.devices[rows]
        rates = self.spending.rates(priced.cluster, devices)
        drawn = [] if priced.energy is None else [priced.energy[np.newaxis, rows]]
        points = np.concatenate([rates * seconds, *drawn, priced.memory[np.newaxis, rows]])
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
        member has one time that it beats in all respects but memory, and energy where it counts.
        """
        beaten = np.zeros(len(rows), bool)
        if not self.members:
            return beaten
        devices = bounds.plans.devices[rows]
        seconds, memory = bounds.step_time[rows], bounds.memory[rows]
        for some in by_count(devices):
            rates = self.spending.rates(bounds.cluster, devices[some[:1]])
            reach = np.max(self.points[: len(rates)] / rates, axis=0)
            if bounds.energy is not None:
                here = rows[some]
                for least, joules, size in zip(reach, *self.points[-2:], strict=True):
                    beaten[some] |= (
                        (least < seconds[some])
                        & (joules <= bounds.energy[here])
                        & (size <= memory[some])
                    )
                continue
            order = np.argsort(reach)
            least = np.minimum.accumulate(self.points[-1][order])
            behind = np.searchsorted(reach[order], seconds[some], side="left")
            beaten[some] = (behind > 0) & (least[behind - 1] <= memory[some])
        return beaten


def unbeaten_of(priced: Priced) -> Rows:
    """Plans that no other of as many devices beats in time, memory and, if it counts, energy."""
    found = []
    for some in by_count(priced.plans.devices):
        time, memory = priced.step_time[some], priced.memory[some]
        if priced.energy is None:
            found.append(some[unbeaten(time, memory)])
        else:
            found.append(some[_unbeaten(np.stack([time, memory, priced.energy[some]]))])
    return np.concatenate(found)


def _unbeaten(points: Floats) -> Rows:
    """Columns that no other one beats, equals with them; a few that are beaten may stay. [row]

    The one of the least product is beaten by none but for rounding, so that each pass over those
    that are left finds one more.
    """
    found, left = [], np.arange(points.shape[1])
    size = np.log(points).sum(axis=0)
    while len(left):
        best = points[:, [left[np.argmin(size[left])]]]
        behind = (points[:, left] >= best).all(axis=0)
        found.append(left[(points[:, left] == best).all(axis=0)])
        left = left[~behind]
    return np.concatenate(found)


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


Degrees = tuple[int, int]
"""Of the tensor and the pipeline axis."""


class Beside(Protocol):
    """Plans that count for something, be they among the best or not."""

    def add(self, priced: Priced) -> None:
        """Look at more plans."""

    def beats(self, bounds: Priced, rows: Rows) -> Flags:
        """Whether whatever takes at least as much as some rows counts for nothing. [row]"""


@dataclass(slots=True, kw_only=True)
class Corner:
    """What is known of all plans with the same tensor and pipeline degree.

    Attributes:
        plans: how many there are.
        best: the best one that was priced.
        bound: no plan that was excluded has a smaller value.
    """

    plans: int = 0
    best: Candidate | None = None
    bound: float = np.inf


@dataclass(slots=True, kw_only=True)
class Incumbents:
    """What a search has found so far.

    Attributes:
        keep: how many of the best plans to keep.
        front: plans that count for something beside being among the best, such as those that no
            other beats; None where nobody asks for them.
        simple: the same of those that no plan as simple beats.
        runners: who may run a plan; None if nobody is asked.
        best: the best plans, in order.
        space: distinct legal plans.
        priced: plans that reached the time formula and keep the limits.
        excluded: plans that a bound proves worse.
        rejected: plans that are refused, by reason.
        corners: the map of the space.
        complete: whether the whole space was looked at.
        bound: no plan that is not settled has a smaller value; None while that is not known.
        recalled: plans of the space that are known beforehand; they exclude others already.
    """

    keep: int
    front: Beside | None = None
    simple: Beside | None = None
    runners: Runners | None = None
    best: list[Candidate] = field(default_factory=list)
    space: int = 0
    priced: int = 0
    excluded: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    corners: dict[Degrees, Corner] = field(default_factory=dict)
    complete: bool = True
    bound: float | None = None
    recalled: Incumbents | None = None

    @property
    def settled(self) -> int:
        """Plans of which it is known what became of them."""
        return self.priced + self.excluded + self.rejected.total()

    @property
    def worst(self) -> float:
        """A plan of a larger value is none of the best."""
        return self.best[-1].value if len(self.best) == self.keep else np.inf

    @property
    def gap(self) -> float | None:
        """By what part of its value the best plan may at most be beaten."""
        if self.bound is None or not self.best:
            return None
        best = self.best[0].value
        return max(0.0, 1.0 - self.bound / best) if best else 0.0

    def progress(self, objective: Objective) -> Progress:
        """How far the search has come."""
        best = self.best[0] if self.best else None
        return Progress(
            objective=objective,
            settled=self.settled,
            space=self.space,
            best=best.value if best else None,
            plan=best.plan if best else None,
            gap=self.gap,
        )

    def reject(self, reason: str, count: int) -> None:
        """Count plans that are refused."""
        if count:
            self.rejected[reason] += count

    def fitting(self, memory: Column, room: Mapping[str, float], *, many: Rows) -> Rows:
        """Rows that need no more bytes than there is room for; the others are refused.

        Args:
            memory: bytes per device. [row]
            room: bytes that may be filled, by the reason for it.
            many: plans that each row stands for.
        """
        fits = np.ones(len(memory), bool)
        for reason, most in room.items():
            over = fits & (memory > most)
            self.reject(reason, int(many[over].sum()))
            fits &= ~over
        return np.flatnonzero(fits)

    def revoke(self, candidate: Candidate, reason: str) -> None:
        """Refuse one of the best plans after all."""
        self.best.remove(candidate)
        self.priced -= 1
        self.reject(reason, 1)

    def hopeless(self, bounds: Priced, rows: Rows) -> Flags:
        """Whether some rows are surely none of the best, nor unbeaten, given bounds. [row]"""
        known = [self] if self.recalled is None else [self, self.recalled]
        hopeless: Flags = bounds.value[rows] > min(each.worst for each in known)
        for several in ([each.front for each in known], [each.simple for each in known]):
            asked = [beside for beside in several if beside is not None]
            if asked and hopeless.any():
                beaten = [beside.beats(bounds, rows[hopeless]) for beside in asked]
                hopeless[hopeless] = np.logical_or.reduce(beaten)
        return hopeless

    def exclude(self, bounds: Priced, rows: Rows, many: Rows) -> None:
        """Count plans that a bound excludes, each row of which stands for many."""
        self.excluded += int(many[rows].sum())
        self._bound(bounds, rows)

    def leave(self, bounds: Priced) -> None:
        """Put on the map, given bounds, that some plans will not be looked at."""
        self.complete = False
        self._bound(bounds, np.arange(len(bounds.plans)))

    def _bound(self, bounds: Priced, rows: Rows) -> None:
        for degrees, some in corners(bounds.plans, rows).items():
            corner = self.corners[degrees]
            corner.bound = min(corner.bound, float(bounds.value[some].min()))

    def add(self, priced: Priced) -> None:
        """Rank a table of plans that run."""
        if not len(priced.plans):
            return
        self.priced += len(priced.plans)
        rows = _smallest(priced.value, self.keep, below=self.worst)
        best = [priced.candidate(int(row)) for row in rows]
        self.best = sorted([*self.best, *best], key=lambda candidate: candidate.rank)[: self.keep]
        for beside in (self.front, self.simple):
            if beside is not None:
                beside.add(priced)
        for degrees, some in corners(priced.plans, np.arange(len(priced.plans))).items():
            corner = self.corners[degrees]
            row = int(some[np.argmin(priced.value[some])])
            if corner.best is None or priced.value[row] < corner.best.value:
                corner.best = priced.candidate(row)

    def survey(self, plans: PlanTable, many: Rows) -> None:
        """Put plans on the map, each of which stands for so many."""
        self.space += int(many.sum())
        for degrees, rows in corners(plans, np.arange(len(plans))).items():
            corner = self.corners.setdefault(degrees, Corner())
            corner.plans += int(many[rows].sum())


def corners(plans: PlanTable, rows: Rows) -> dict[Degrees, Rows]:
    """Some rows of a table by their tensor and pipeline degree."""
    if not len(rows):
        return {}
    tensor, pipeline = plans.tensor[rows], plans.pipeline[rows]
    few, index = distinct([tensor, pipeline])
    order = np.argsort(index, kind="stable")
    parts = np.split(rows[order], np.cumsum(np.bincount(index))[:-1])
    keys = zip(tensor[few].tolist(), pipeline[few].tolist(), strict=True)
    return {(int(t), int(p)): part for (t, p), part in zip(keys, parts, strict=True)}


def _smallest(values: Column, keep: int, *, below: float) -> Rows:
    """Rows of the `keep` smallest values and of all that tie with the last, none above `below`."""
    rows = np.flatnonzero(values <= below)
    if len(rows) <= keep:
        return rows
    some = values[rows]
    smallest: Rows = rows[some <= np.partition(some, keep - 1)[keep - 1]]
    return smallest
