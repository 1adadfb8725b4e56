"""Guesses of a site, and those that are near one.

A guess is everything that rules are made of; near it are guesses of which one thing is otherwise.
Who was early under a guess must be put back, who was missed must be put forward: half of the steps
are taken from there, by the share of its user, the points of its quality, or the weight of its
size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, log
from typing import Final

import numpy as np
from numpy.random import Generator

from foretrain.cluster.mixed import Fleet, Nodes
from foretrain.jobs.priority_evidence import (
    AGE,
    AGES,
    FAIR_SHARE,
    FIRST_QUALITY,
    HALF_LIVES,
    SIZE,
    Explanation,
    LogFactors,
)
from foretrain.jobs.replay import WrongDecisions
from foretrain.jobs.start_orders import PERIOD, Flags, Numbers, Started
from foretrain.jobs.user_ranks import SharePoint, siblings
from foretrain.measured.limit import PartyLimit
from foretrain.measured.site import (
    DAY,
    BackfillRules,
    NodeRange,
    Partition,
    PriorityWeights,
    Qos,
    SiteRules,
)

LARGEST: Final = 100_000.0
"""Of the weights, where a log tells only their ratios."""

RESERVES: Final = (0, 1, 2, 3, 5, 10)
"""Slots of a partition that are tried; 0 for one for each job."""

DEPTHS: Final = (500, 100, 50, 20, 10)
"""Jobs that a cycle of backfilling looks at that are tried."""

WINDOWS: Final = (DAY, 3_600.0, 2 * 3_600.0, 6 * 3_600.0, 12 * 3_600.0, 2 * DAY, 7 * DAY)
"""Seconds beyond which a planned start keeps no slot that are tried, the usual one first."""

RESOLUTIONS: Final = (60.0, 1.0, 30.0, 180.0, 300.0, 600.0)
"""Seconds to which slots are rounded that are tried."""

PER_USER: Final = (0, 1, 2, 3, 5, 10, 20)
"""Jobs of a user that a cycle looks at that are tried; 0 for all."""

PERIODS: Final = (PERIOD, 60.0, 120.0, 600.0)
"""Seconds after which priorities may be worked out again."""

ROUND: Final = (500.0, 1_000.0, 2_000.0, 5_000.0)
"""What a weight may be where the others are told in whole hundreds: administrators write such."""

HEAT: Final = 0.03
"""Share of what is wrong by which a step may be worse at first."""

REFIT: Final = 0.3
"""Of the steps to other shares and times, how many take the weights that explain orders best."""

AT_ONCE: Final = 1.0
"""Seconds between cycles of a site that backfills whenever something happens."""

Ask = Callable[["SiteGuess", float], WrongDecisions | None]

FINEST, COARSEST = -3.0, -0.3
"""Powers of ten of the largest effect by which a weight is moved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteGuess:
    """What a site is taken to be.

    Attributes:
        priority: of jobs.
        parts: nodes of each partition; empty where all share the fleet.
        groups: names of partitions, whose points are the last weights.
        nodes: of the fleet.
        per_node: devices of a node.
        backfill: how jobs pass; None where nobody does.
        limits: of parties.
        period: seconds after which priorities are worked out again.
        late: seconds by which the site's clock is ahead of the log's.
    """

    priority: Explanation
    parts: Mapping[str, NodeRange]
    groups: tuple[str, ...]
    nodes: int
    per_node: int
    backfill: BackfillRules | None = None
    limits: tuple[PartyLimit, ...] = ()
    period: float = PERIOD
    late: float = 0.0

    @property
    def fleet(self) -> Fleet:
        """Its nodes."""
        return Fleet(nodes=(Nodes(count=self.nodes, devices=self.per_node),))

    @property
    def covers(self) -> Flags:
        """Whether all nodes of a partition are in another one. [partition, other partition]"""
        whole = (0, self.nodes - 1)
        ranges = np.array([self.parts.get(name, whole) for name in self.groups])
        first, last = ranges[:, :1], ranges[:, 1:]
        found: Flags = (first >= first.T) & (last <= last.T)
        return found

    @property
    def factors(self) -> LogFactors:
        """How factors of a priority are told."""
        return LogFactors(period=self.period, nodes=self.nodes, per_node=self.per_node)

    def without(self, limit: PartyLimit) -> SiteGuess:
        """The same without one of its limits."""
        return replace(self, limits=tuple(each for each in self.limits if each != limit))

    def points(self) -> tuple[Numbers, Numbers]:
        """Points of qualities and of partitions, of each the least 0."""
        weights, parts = self.priority.fit.weights, len(self.groups) - 1
        both = weights[FIRST_QUALITY : len(weights) - parts], weights[len(weights) - parts :]
        qualities, groups = (np.array([0.0, *each]) for each in both)
        return qualities - qualities.min(), groups - groups.min()

    def scale(self, *, printed: bool) -> float:
        """Points of a priority for one of a weight.

        Args:
            printed: whether weights are those of priorities that the log prints.
        """
        weights = self.priority.fit.weights
        points = [float(each.max()) for each in self.points()]
        largest = float(np.abs([*weights[:FIRST_QUALITY], *points]).max())
        return 1.0 if printed or not largest > 0.0 else LARGEST / largest

    def rules(self, jobs: Started, *, printed: bool) -> SiteRules:
        """Its rules, in Slurm's terms.

        Args:
            jobs: whose users and qualities it has.
            printed: whether weights are those of priorities that the log prints.
        """
        point, fit = self.priority
        points, factors = self.points()
        size, most = float(fit.weights[SIZE]), float(points.max())
        named = self.groups if self.parts or factors.any() else ()
        scale = self.scale(printed=printed)
        return SiteRules(
            partitions=tuple(
                Partition(
                    name=name,
                    nodes=(self.parts[name],) if name in self.parts else (),
                    factor=float(factor) * scale,
                )
                for name, factor in zip(named, factors, strict=False)
            ),
            qualities=tuple(
                Qos(name=name, priority=float(each) * scale)
                for name, each in zip(jobs.qualities, points, strict=True)
                if name
            ),
            associations=tuple(point.associations(jobs)),
            priority=PriorityWeights(
                age=max(0.0, float(fit.weights[AGE])) * scale,
                fairshare=max(0.0, float(fit.weights[FAIR_SHARE])) * scale,
                size=abs(size) * scale,
                small_first=size < 0.0,
                partition=float(factors.max()) * scale,
                qos=most * scale,
                longest_age=point.longest,
                half_life=point.half_life,
                fair_tree=not point.classic,
                period=self.period,
            ),
            backfill=self.backfill,
            limits=self.limits,
        )


class Nearby:
    """Steps from one guess to another."""

    def __init__(
        self,
        jobs: Started,
        random: Generator,
        *,
        otherwise: Callable[[SiteGuess], Sequence[Sequence[SiteGuess]]],
        refit: Callable[[SiteGuess], SiteGuess],
    ) -> None:
        """Steps among guesses of one log.

        Args:
            jobs: of the log.
            random: which step is taken.
            otherwise: guesses of other nodes, clocks or ways to pass, one list for each.
            refit: with the weights that explain the orders best.
        """
        self._jobs, self._random = jobs, random
        self._otherwise, self._refit = otherwise, refit
        self._accounts = sorted({account for account, _ in jobs.users})
        self._waits = float(np.median(jobs.begun - jobs.arrival))
        self._middle = float(np.median(jobs.devices))

    def step(self, guess: SiteGuess, wrong: WrongDecisions) -> SiteGuess:
        """A guess near another one.

        Args:
            guess: the other.
            wrong: what is wrong of it; something must be.
        """
        mended, kind = self._random.random() < 0.5, self._random.random()
        if mended:
            who = [*((row, -1) for row in wrong.early), *((row, 1) for row in wrong.missed)]
            return self.mended(guess, *who[self._one_of(len(who))])
        if kind < 0.2:
            kinds = [each for each in self._otherwise(guess) if each]
            options = kinds[self._one_of(len(kinds))]
            return options[self._one_of(len(options))]
        if kind < 0.36:
            return with_weights(guess, self._rounded(guess.priority.fit.weights))
        unshared = not guess.priority.fit.weights[FAIR_SHARE] > 0.0
        if kind < 0.64 or (unshared and kind >= 0.78):
            return with_weights(guess, self._reweighed(guess))
        there = self._forgetting(guess) if kind < 0.78 else self._shared(guess)
        return self._refit(there) if self._random.random() < REFIT else there

    def walked(self, here: SiteGuess, ask: Ask, gone: Iterable[float]) -> SiteGuess:
        """The guess with the least that is wrong on a walk that cools down.

        Args:
            here: where to begin.
            ask: what is wrong of a guess; None where it is more than so much.
            gone: for each step, which part of the walk is behind.
        """
        decided, best = ask(here, inf), here
        least = decided.total if decided else 0
        for part in gone:
            if decided is None or not least:
                break
            heat = max(1.0, HEAT * least) * (1.0 - part)
            bound = decided.total - heat * log(1.0 - self._random.random())
            there = self.step(here, decided)
            found = ask(there, bound)
            if found is None or found.total > bound:
                continue
            here, decided = there, found
            if found.total < least:
                best, least = there, found.total
        return best

    def _one_of(self, count: int) -> int:
        return int(self._random.integers(count))

    def mended(self, guess: SiteGuess, row: int, sign: int) -> SiteGuess:
        """A guess under which a job stands elsewhere, or that gives age another weight.

        Args:
            guess: that is wrong about the job.
            row: of the job.
            sign: 1 to put it forward, -1 to put it back.
        """
        jobs, chance, weights = self._jobs, self._random.random(), guess.priority.fit.weights.copy()
        if chance < 0.5 and weights[FAIR_SHARE] > 0.0:
            user = int(jobs.user[row])
            place = len(self._accounts) + user
            if self._random.random() < 0.4:
                place = self._accounts.index(jobs.users[user][0])
            return self._moved(guess, place, sign * (1, 1, 2, 3)[self._one_of(4)])
        step, ranges = sign * self._stride(guess), self._ranges(guess)
        if chance < 0.75:
            group, last = int(jobs.group[row]), len(weights) - len(jobs.groups) + 1
            place, others = int(jobs.qos[row]), slice(FIRST_QUALITY, last)
            if np.any(weights[last:]) and self._random.random() < 0.3:
                place, others = group, slice(last, None)
            if place:
                weights[others.start + place - 1] += step
            else:
                weights[others] -= step
        elif chance < 0.9:
            small = jobs.devices[row] <= self._middle
            weights[SIZE] += (-step if small else step) / ranges[SIZE]
        else:
            turned = step if self._random.random() < 0.5 else -step
            weights[AGE] = max(0.0, weights[AGE] + turned / ranges[AGE])
        return with_weights(guess, weights)

    def _reweighed(self, guess: SiteGuess) -> Numbers:
        """Weights of which one is another."""
        weights = guess.priority.fit.weights.copy()
        place, chance = self._one_of(len(weights)), self._random.random()
        if chance < 0.1:
            weights[place] = 0.0
        elif chance < 0.5:
            weights[place] *= np.exp(0.5 * self._random.normal())
        else:
            turned = self._stride(guess) * (1 if self._random.random() < 0.5 else -1)
            weights[place] += turned / self._ranges(guess)[place]
        weights[[AGE, FAIR_SHARE]] = np.maximum(0.0, weights[[AGE, FAIR_SHARE]])
        return weights

    def _rounded(self, weights: Numbers) -> Numbers:
        """Weights as an administrator may have written them: one digit, or that and a half."""
        there = np.flatnonzero(weights)
        if not len(there):
            return weights
        one = weights[there[self._one_of(len(there))]]
        scaled = weights * (ROUND[self._one_of(len(ROUND))] / abs(one))
        grid = 10.0 ** np.floor(np.log10(np.where(scaled, np.abs(scaled), 1.0)))
        grid *= 1.0 if self._random.random() < 0.5 else 0.5
        found: Numbers = np.round(scaled / grid) * grid
        return found

    def _forgetting(self, guess: SiteGuess) -> SiteGuess:
        """Usage is forgotten sooner or later, or age counts for longer."""
        point = guess.priority.point
        if not guess.priority.fit.weights[FAIR_SHARE] > 0.0 or self._random.random() < 0.4:
            return _with_point(guess, point._replace(longest=AGES[self._one_of(len(AGES))]))
        place = min(
            range(len(HALF_LIVES)), key=lambda each: abs(HALF_LIVES[each] - point.half_life)
        )
        moved = place + (-2, -1, 1, 2)[self._one_of(4)]
        half_life = HALF_LIVES[min(max(moved, 0), len(HALF_LIVES) - 1)]
        return _with_point(guess, point._replace(half_life=half_life))

    def _shared(self, guess: SiteGuess) -> SiteGuess:
        """Somebody has a larger or a smaller share."""
        place = self._one_of(len(self._accounts) + len(self._jobs.users))
        return self._moved(guess, place, (-3, -2, -1, 1, 2, 3)[self._one_of(6)])

    def _moved(self, guess: SiteGuess, place: int, by: int) -> SiteGuess:
        """A share is another, and may be told in terms of a sibling's."""
        beside = self._random.permutation(siblings(self._jobs, place)).tolist()
        beside = beside if self._random.random() < 0.5 else []
        return _with_point(guess, guess.priority.point.moved(place, by, beside))

    def _stride(self, guess: SiteGuess) -> float:
        """By how much a priority may be moved: some share of the largest effect of a factor."""
        effects = np.abs(guess.priority.fit.weights * self._ranges(guess))
        largest = float(effects.max()) or 1.0
        power = float(self._random.uniform(FINEST, COARSEST))
        return largest * float(np.power(10.0, power))

    def _ranges(self, guess: SiteGuess) -> Numbers:
        """How far each factor differs among jobs, roughly."""
        jobs, devices = self._jobs, guess.nodes * guess.per_node
        sizes = np.ceil(jobs.devices / guess.per_node) / guess.nodes + jobs.devices / devices
        found = np.ones(len(guess.priority.fit.weights))
        found[AGE] = min(1.0, max(self._waits, 300.0) / guess.priority.point.longest)
        found[SIZE] = float(np.ptp(sizes)) / 2.0 or 1.0
        return found


def passing(guess: SiteGuess, interval: float | None) -> Iterator[Sequence[SiteGuess]]:
    """Guesses by which jobs pass otherwise, one thing at a time.

    Args:
        guess: of which each differs.
        interval: of what starts jobs while nothing happens; None where nothing does.
    """
    fills = guess.backfill
    if fills is None:
        steps = [interval or AT_ONCE, AT_ONCE]
        yield [
            replace(guess, backfill=BackfillRules(interval=step, reserves=each))
            for step in steps
            for each in (0, 1)
        ]
        return
    yield [replace(guess, backfill=replace(fills, reserves=each)) for each in RESERVES]
    yield [replace(guess, backfill=replace(fills, depth=each)) for each in DEPTHS]
    yield [replace(guess, backfill=replace(fills, window=each)) for each in WINDOWS]
    yield [replace(guess, backfill=replace(fills, resolution=each)) for each in RESOLUTIONS]
    yield [replace(guess, backfill=replace(fills, per_user=each)) for each in PER_USER]
    if interval is None or interval in PERIODS:
        yield [replace(guess, backfill=None)]


def with_weights(guess: SiteGuess, weights: Numbers) -> SiteGuess:
    """The same with other weights of its factors."""
    fit = guess.priority.fit._replace(weights=weights)
    return replace(guess, priority=guess.priority._replace(fit=fit))


def _with_point(guess: SiteGuess, point: SharePoint) -> SiteGuess:
    return replace(guess, priority=guess.priority._replace(point=point))
