"""Priorities that explain a log: weights, shares and half-lives that nobody has told.

Each pair of jobs of which one started before the other bounds the weights of a multifactor
priority, and a logistic regression on differences of factors finds weights that break the fewest.
Where a log prints priorities, a linear regression on them finds the weights themselves.

Shares, half-life and the age from which on jobs grow no older are not linear: they are annealed.

Source: bradley1952, rank analysis of paired comparisons; the factors are those of `fair_tree.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.random import Generator, default_rng

from foretrain.jobs.start_orders import (
    SHARES,
    Numbers,
    SharePoint,
    Started,
    StartPairs,
    UserRanks,
)

HOUR: Final = 3_600.0
DAY: Final = 86_400.0

RIDGE: Final = 1e-5
"""Weight of a squared coefficient beside a mean loss: where all orders can be kept, it bounds."""

TIE: Final = 2.0
"""Logits by which who came first stands before who is its equal."""

STEPS: Final = 25
"""Of Newton's method; from a near fit it takes three."""

CONVERGED: Final = 1e-5
"""Loss below whose change a fit is taken."""

SAMPLE: Final = 1_500
"""Pairs with which shares are looked for; the last step looks at all of them."""

AGES: Final = (6 * HOUR, DAY, 3 * DAY, 7 * DAY, 14 * DAY, 30 * DAY)
"""Ages from which on jobs may grow no older that are tried."""

HALF_LIVES: Final = (
    *(hours * HOUR for hours in (1, 2, 3, 4, 6, 8, 12, 18)),
    *(days * DAY for days in (1, 1.5, 2, 3, 4, 5, 7, 10, 14, 21, 30)),
)
"""Half-lives of usage that are tried: administrators write round ones."""

BEGINNINGS: Final = (HOUR, 6 * HOUR, DAY, 3 * DAY, 7 * DAY, 14 * DAY, 30 * DAY)
"""Those from which a search begins."""

ENOUGH: Final = 0.002
"""Share of broken orders below which nobody looks for shares."""

ENDS: Final = 2
"""Of the searches, how many are gone on with to the end."""

AGE, FAIR_SHARE, SIZE, FIRST_QUALITY = range(4)
"""Places of weights; qualities after the first follow."""


class FittedWeights(NamedTuple):
    """Weights of factors.

    Attributes:
        weights: of each factor. [factor]
        loss: that was made small.
        broken: share of the evidence that the weights do not explain.
    """

    weights: Numbers
    loss: float
    broken: float


class PriorityEvidence(Protocol):
    """What a log tells of priorities."""

    def fit(
        self, point: SharePoint, *, near: Numbers | None = None, without: tuple[int, ...] = ()
    ) -> FittedWeights:
        """The weights that explain it best.

        Args:
            point: what is not linear.
            near: weights from which to begin.
            without: places of weights that are 0.
        """
        ...

    def sample(self, random: Generator) -> PriorityEvidence:
        """A part of it that is quicker to look at."""
        ...


class OrderEvidence:
    """Who started before whom."""

    def __init__(self, jobs: Started, pairs: StartPairs, factors: LogFactors) -> None:
        """Evidence of pairs.

        Args:
            jobs: that started.
            pairs: of them.
            factors: how a job's size and the period are told.
        """
        self._jobs, self._pairs, self._factors = jobs, pairs, factors
        when = jobs.begun[pairs.first]
        self._ranks = UserRanks(jobs, factors.period, when)
        self._users = jobs.user[pairs.first], jobs.user[pairs.second]
        self._ages = [factors.age(jobs.arrival[each], when) for each in pairs[:2]]
        fixed = factors.fixed(jobs)
        self._fixed = fixed[pairs.first] - fixed[pairs.second]
        self._tie = np.where(pairs.first < pairs.second, TIE, -TIE)

    def fit(
        self, point: SharePoint, *, near: Numbers | None = None, without: tuple[int, ...] = ()
    ) -> FittedWeights:
        """Weights by which the first of each pair stands before the second."""
        first, second = (np.minimum(1.0, age / point.longest) for age in self._ages)
        mine, other = self._ranks.of(self._users, point)
        columns = np.column_stack([first - second, mine - other, self._fixed])
        columns[:, list(without)] = 0.0
        scale = np.abs(columns).max(axis=0)
        scale[scale == 0.0] = 1.0
        found = logistic(
            columns / scale,
            self._pairs.weight,
            tie=self._tie,
            near=None if near is None else near * scale,
        )
        wrong = tuple(each for each in (AGE, FAIR_SHARE) if found.weights[each] < 0.0)
        if wrong:
            return self.fit(point, without=(*without, *wrong))
        return found._replace(weights=found.weights / scale)

    def sample(self, random: Generator) -> OrderEvidence:
        """Some of the pairs."""
        count = len(self._pairs.first)
        if count <= SAMPLE:
            return self
        some = random.choice(count, SAMPLE, replace=False)
        pairs = StartPairs(
            self._pairs.first[some], self._pairs.second[some], self._pairs.weight[some]
        )
        return OrderEvidence(self._jobs, pairs, self._factors)


def logistic(
    differences: Numbers, weight: Numbers, *, tie: Numbers, near: Numbers | None = None
) -> FittedWeights:
    """Weights by which the first of each pair stands before the second.

    Args:
        differences: of factors, of the first of each pair from the second. [pair, factor]
        weight: of each pair. [pair]
        tie: logits for the first of each pair, whatever the weights. [pair]
        near: weights from which to begin.
    """
    count = differences.shape[1]
    found = np.zeros(count) if near is None else near
    share = weight / weight.sum()

    def loss(weights: Numbers) -> float:
        misses = share @ np.logaddexp(0.0, -(differences @ weights + tie))
        return float(misses + 0.5 * RIDGE * weights @ weights)

    now = loss(found)
    for _ in range(STEPS):
        odds = 1.0 / (1.0 + np.exp(np.clip(differences @ found + tie, -500.0, 500.0)))
        slope = RIDGE * found - differences.T @ (share * odds)
        curve = (differences * (share * odds * (1.0 - odds))[:, None]).T @ differences
        step = np.linalg.solve(curve + RIDGE * np.eye(count), slope)
        length = 1.0
        while length > 1e-3 and loss(found - length * step) > now:
            length *= 0.5
        found = found - length * step
        before, now = now, loss(found)
        if before - now < CONVERGED:
            break
    broken = float(share @ (differences @ found + CONVERGED * tie <= 0.0))
    return FittedWeights(found, now, broken)


class PrintedEvidence:
    """Priorities that a log prints: those of the period in which each job started."""

    def __init__(self, jobs: Started, factors: LogFactors) -> None:
        """Evidence of priorities.

        Args:
            jobs: of which some have a priority.
            factors: how a job's size and the period are told.
        """
        told = np.flatnonzero(np.isfinite(jobs.priority))
        self._printed = jobs.priority[told]
        self._ranks = UserRanks(jobs, factors.period, jobs.begun[told])
        self._user = jobs.user[told]
        self._age = factors.age(jobs.arrival[told], jobs.begun[told])
        self._fixed = factors.fixed(jobs)[told]

    def fit(
        self, point: SharePoint, *, near: Numbers | None = None, without: tuple[int, ...] = ()
    ) -> FittedWeights:
        """Weights with which priorities are least off, in squares; `near` is of no use."""
        age = np.minimum(1.0, self._age / point.longest)
        [rank] = self._ranks.of([self._user], point)
        columns = np.column_stack([age, rank, self._fixed, np.ones(len(age))])
        columns[:, list(without)] = 0.0
        # A priority is cut to a whole number: half a point below what it is, on average.
        found = np.linalg.lstsq(columns, self._printed + 0.5, rcond=None)[0]
        wrong = tuple(each for each in (AGE, FAIR_SHARE) if found[each] < -1.0)
        if wrong:
            return self.fit(point, without=(*without, *wrong))
        off = np.abs(columns @ found - self._printed - 0.5)
        loss = float(np.sqrt((off**2).mean()) / (self._printed.std() or 1.0))
        return FittedWeights(found[:-1], loss, float((off > 1.0).mean()))

    def sample(self, random: Generator) -> PrintedEvidence:
        """All of it, which is quick enough."""
        del random
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFactors:
    """How factors of a priority are told.

    Attributes:
        period: seconds after which priorities are worked out again.
        nodes: of the cluster.
        per_node: devices of a node.
    """

    period: float
    nodes: int
    per_node: int

    def age(self, arrival: Numbers, when: Numbers) -> Numbers:
        """Seconds that jobs have waited, as of the last period. [job]"""
        looked = np.floor(when / self.period) * self.period
        found: Numbers = np.maximum(arrival, looked) - arrival
        return found

    def fixed(self, jobs: Started) -> Numbers:
        """Size, and whether it is of each quality after the first. [job, factor]"""
        devices = self.nodes * self.per_node
        size = (np.ceil(jobs.devices / self.per_node) / self.nodes + jobs.devices / devices) / 2.0
        kinds = [jobs.qos == place for place in range(1, len(jobs.qualities))]
        return np.column_stack([size, *kinds]).astype(float)


class Explanation(NamedTuple):
    """A priority that explains what a log tells.

    Attributes:
        point: what is not linear in it.
        fit: what is.
    """

    point: SharePoint
    fit: FittedWeights

    @classmethod
    def nothing(cls, jobs: Started) -> Explanation:
        """No priority at all: who came first is first.

        Args:
            jobs: of the log.
        """
        weights = np.zeros(FIRST_QUALITY + len(jobs.qualities) - 1)
        return cls(_equal(jobs), FittedWeights(weights, 0.0, 0.0))


def _equal(jobs: Started) -> SharePoint:
    """Everybody with one share."""
    equal = SHARES.index(1.0)
    accounts = len({account for account, _ in jobs.users})
    return SharePoint((equal,) * accounts, (equal,) * len(jobs.users), 7 * DAY, 7 * DAY)


def explanations(evidence: PriorityEvidence, jobs: Started) -> Sequence[Explanation]:
    """Priorities that explain a log: without shares, and with shares if these explain more.

    Args:
        evidence: of the log.
        jobs: of it.

    Each is followed by others of which one factor after the other has no weight.
    """
    random = default_rng(0)
    start = _equal(jobs)
    without = (FAIR_SHARE,)
    points = [start._replace(longest=age) for age in AGES]
    plain = min(points, key=lambda point: evidence.fit(point, without=without).broken)
    found = [*_sparser(evidence, plain, without)]
    if min(each.fit.broken for each in found) < ENOUGH or len(jobs.users) == 1:
        return found
    quick = evidence.sample(random)
    tries = [
        annealed(quick, start._replace(half_life=half_life), random, tries=150, heat=0.05)
        for half_life in BEGINNINGS
    ]
    for more, heat, left in ((500, 0.03, 5), (700, 0.005, 3)):
        tries = sorted(tries, key=lambda each: each.fit.loss)[:left]
        tries = [annealed(quick, each.point, random, tries=more, heat=heat) for each in tries]
    for each in sorted(tries, key=lambda each: each.fit.loss)[:ENDS]:
        best = annealed(quick, each.point, random, tries=700, heat=0.002, times=True)
        best = annealed(evidence, best.point, random, tries=200, heat=0.0005, times=True)
        found += _sparser(evidence, best.point, ())
        if min(each.fit.broken for each in found) < ENOUGH:
            break
    return found


def _sparser(
    evidence: PriorityEvidence, point: SharePoint, without: tuple[int, ...]
) -> Iterator[Explanation]:
    """A fit, and others in which one factor after the other has no weight."""
    best = evidence.fit(point, without=without)
    yield Explanation(point, best)
    while left := [each for each in np.flatnonzero(best.weights).tolist() if each not in without]:
        options = [(each, evidence.fit(point, without=(*without, each))) for each in left]
        place, best = min(options, key=lambda each: each[1].broken)
        without = (*without, place)
        yield Explanation(point, best)


def annealed(
    evidence: PriorityEvidence,
    point: SharePoint,
    random: Generator,
    *,
    tries: int,
    heat: float,
    times: bool = False,
) -> Explanation:
    """Shares and longest age, and half-life too if asked for, that explain more.

    Args:
        evidence: of the log.
        point: where to begin.
        random: of the tries.
        tries: how many.
        heat: loss that is put up with at first.
        times: whether the half-life may change.
    """
    here = best = Explanation(point, evidence.fit(point))
    for turn in range(tries):
        warmth = heat * (1.0 - turn / tries) ** 2 + CONVERGED
        there = _moved(here.point, random, times=times)
        other = Explanation(there, evidence.fit(there, near=here.fit.weights))
        if random.random() < np.exp(min(0.0, (here.fit.loss - other.fit.loss) / warmth)):
            here = other
            best = min(best, here, key=lambda each: each.fit.loss)
    return best


def _moved(point: SharePoint, random: Generator, *, times: bool) -> SharePoint:
    """A point nearby."""
    chance = random.random()
    if chance < 0.1:
        return point._replace(longest=AGES[int(random.integers(len(AGES)))])
    if times and chance < 0.3:
        moved = HALF_LIVES.index(point.half_life) + (-1, 1)[int(random.integers(2))]
        return point._replace(half_life=HALF_LIVES[min(max(moved, 0), len(HALF_LIVES) - 1)])
    places = [*point.accounts, *point.users]
    for _ in range(1 if random.random() < 0.7 else 2):
        place = int(random.integers(len(places)))
        moved = places[place] + (-3, -2, -1, 1, 2, 3)[int(random.integers(6))]
        places[place] = min(max(moved, 0), len(SHARES) - 1)
    count = len(point.accounts)
    return point._replace(accounts=tuple(places[:count]), users=tuple(places[count:]))
