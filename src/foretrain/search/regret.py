"""Least regret: the shape whose worst distance from the best of each scenario is the smallest.

A shape whose worst regret is at most some ceiling is that near the best in every scenario. So all
plans that are so near are listed, scenario by scenario; what stands on every list is all there is
to choose from, and its minimum is proven. Ceilings rise until the lists have something in common.

Sources: savage1951, minimax regret; kouvelis1997, chapter 1, relative regret (both from memory).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import inf

import numpy as np
from numpy.typing import NDArray

from foretrain.cluster.offer import Offer
from foretrain.plan.plan import Plan
from foretrain.plan.shape import Room, shapes_of
from foretrain.plan.study import Study
from foretrain.plan.table import Flags, PlanTable, Rows
from foretrain.search.bounded import promising_plans, surveys
from foretrain.search.candidate import Priced
from foretrain.search.found import Incumbents
from foretrain.step.setting import Setting

CEILINGS = (0.02, 0.1, 0.5, 2.0)
"""Worst regrets that are tried one after the other."""

ROUNDING = 1e-9
"""Regret that is nothing but the rounding of floats."""

MOST = 500_000
"""Plans that are listed in a scenario; with more nothing is proven."""

ONE_BY_ONE = 100_000
"""Of these, those that agree with plans of every other scenario in `KEPT`, at most."""

KEPT = ("tensor", "context", "pipeline", "interleaving", "micro_batch", "recompute", "offload")
"""Fields that all shapes of a plan have in common with it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contest:
    """A scenario to be good in.

    Attributes:
        study: the question.
        settings: its workload on the whole of each offer that keeps the limits.
        best: value of its best plan.
    """

    study: Study
    settings: Mapping[Offer, Setting]
    best: float

    @property
    def rooms(self) -> tuple[Room, ...]:
        """Where a plan may lie."""
        return tuple(
            Room(devices=devices, levels=tuple(level.members for level in offer.cluster.levels))
            for offer in self.settings
            for devices in offer.devices
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Regret:
    """What a shape loses.

    Attributes:
        shape: the plan with one replica.
        each: its regret in each contest.
    """

    shape: Plan
    each: tuple[float, ...]

    @property
    def worst(self) -> float:
        """The largest."""
        return max(self.each)

    @property
    def rank(self) -> tuple[float, float, str]:
        """Ties go to the smaller mean, then to the canonical text."""
        return (self.worst, sum(self.each), str(self.shape))


@dataclass(frozen=True, slots=True, kw_only=True)
class Least:
    """The shapes with the least worst regret.

    Attributes:
        shapes: the best of them, in order; empty if none runs in every contest.
        proven: whether no other shape has a smaller worst regret.
        bound: no shape has a worst regret below this.
    """

    shapes: tuple[Regret, ...]
    proven: bool
    bound: float


def least_regret(
    contests: Sequence[Contest], *, known: float, keep: int, stop: Callable[[], bool]
) -> Least:
    """The shapes that are never far from the best.

    Args:
        contests: scenarios, each with the value of its best plan.
        known: worst regret of some shape that runs in all of them; infinite if none is known.
        keep: how many shapes to return.
        stop: asked before every table; true ends the search.
    """
    bound = 0.0
    for ceiling in [*(each for each in CEILINGS if each < known), known]:
        found = _common(contests, ceiling, stop=stop)
        if found is None:
            return Least(shapes=(), proven=False, bound=bound)
        if found:
            best = tuple(sorted(found, key=lambda regret: regret.rank)[:keep])
            return Least(shapes=best, proven=True, bound=best[0].worst)
        bound = ceiling
    return Least(shapes=(), proven=True, bound=bound)


def _common(
    contests: Sequence[Contest], ceiling: float, *, stop: Callable[[], bool]
) -> list[Regret] | None:
    """Every shape that loses at most `ceiling` everywhere; None if they were not all looked at."""
    lists: list[_Near] = []
    for contest in contests:
        near = _Near(most=contest.best * (1 + ceiling + ROUNDING), contests=contests)
        if stop() or not _list(contest, near, stop=stop):
            return None
        lists.append(near)
        _keep_common(lists)
        if not near.count:
            return []
    if max(near.count for near in lists) > ONE_BY_ONE:
        return None
    # The shapes that stand on every list, and what they lose.
    alive: dict[Plan, tuple[float, ...]] = {}
    for place, (contest, near) in enumerate(zip(contests, lists, strict=True)):
        here: dict[Plan, float] = {}
        for shape, regret in _lost(contest, near):
            if place == 0 or shape in alive:
                here[shape] = min(regret, here.get(shape, inf))
        alive = {shape: (*alive.get(shape, ()), regret) for shape, regret in here.items()}
    return [Regret(shape=shape, each=each) for shape, each in alive.items()]


@dataclass(slots=True, kw_only=True, eq=False)
class _Near:
    """The plans that have at most so much and may run in all contests.

    Attributes:
        most: of the objective.
        contests: where they may have to run.
        pieces: the plans.
        count: how many they are.
    """

    most: float
    contests: Sequence[Contest]
    pieces: list[Priced] = field(default_factory=list)
    count: int = 0

    def add(self, priced: Priced) -> None:
        """Look at more plans."""
        # Which plans have a shape whose replicas and micro-batches may come out even.
        plans = priced.plans
        others = plans.tensor * plans.context * plans.pipeline
        fits = np.ones(len(plans), bool)
        for contest in self.contests:
            samples, even = contest.study.workload.global_batch, np.zeros(len(plans), bool)
            for devices in {each.devices for each in contest.rooms}:
                passed = devices / others * plans.micro_batch
                even |= (devices % others == 0) & (samples % passed == 0)
            fits &= even
        rows = np.flatnonzero((priced.value <= self.most) & fits)
        self.pieces.append(priced.take(rows))
        self.count += len(rows)

    def beats(self, bounds: Priced, rows: Rows) -> Flags:
        """Whether whatever has at least as much as some rows has too much. [row]"""
        beaten: Flags = bounds.value[rows] > self.most
        return beaten


def _keep_common(lists: Sequence[_Near]) -> None:
    """Drop plans without any like them on the other lists; cheap, and never too many."""
    keys = [[_key(piece.plans) for piece in near.pieces] for near in lists]
    shared = reduce(np.intersect1d, (np.concatenate([NO_KEY, *each]) for each in keys))
    for near, each in zip(lists, keys, strict=True):
        rows = [np.flatnonzero(np.isin(key, shared)) for key in each]
        near.pieces = [
            piece.take(some) for piece, some in zip(near.pieces, rows, strict=True) if len(some)
        ]
        near.count = sum(map(len, rows))


NO_KEY = np.zeros(0, np.int64)


def _key(plans: PlanTable) -> NDArray[np.int64]:
    """A number that plans have in common that agree in `KEPT`; few others share it. [plan]"""
    key = np.zeros(len(plans), np.int64)
    for name in KEPT:
        key = key * 1_000_003 + getattr(plans, name).astype(np.int64)
    return key


def _list(contest: Contest, near: _Near, *, stop: Callable[[], bool]) -> bool:
    """List the plans that are near the best of a contest; false if not all were looked at."""
    found = Incumbents(keep=1, front=near)
    promising_plans(
        contest.study,
        surveys(contest.study, contest.settings),
        found=found,
        tell=lambda: None,
        stop=lambda: near.count > MOST or stop(),
    )
    return found.complete and near.count <= MOST


def _lost(contest: Contest, near: _Near) -> Iterator[tuple[Plan, float]]:
    """Every shape of the plans that are near the best, and what it loses.

    A plan that has less than the best one was refused by the search for the sake of its whole job.
    """
    spaces = [each.study.space for each in near.contests]
    rooms = [room for each in near.contests for room in each.rooms]
    experts = bool(contest.study.workload.model.experts)
    for piece in near.pieces:
        levels = tuple(level.members for level in piece.cluster.levels)
        lost = piece.value / contest.best - 1.0
        for row in np.flatnonzero(lost >= -ROUNDING):
            plan, regret = piece.plans.plan(int(row)), max(0.0, float(lost[row]))
            here = Room(devices=plan.devices, levels=levels)
            for shape in shapes_of(plan, here, rooms=rooms, spaces=spaces, experts=experts):
                yield shape, regret
