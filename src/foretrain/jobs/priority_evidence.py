"""Priorities that explain a log: weights, shares and half-lives that nobody has told.

Each pair of jobs of which one started before the other bounds the weights of a multifactor
priority, and a logistic regression on differences of factors finds weights that break the fewest.
Where a log prints priorities, a linear regression on them finds the weights themselves.

Shares, half-life and the age from which on jobs grow no older are not linear: each in turn takes
the value that leaves the least loss.

Source: bradley1952, rank analysis of paired comparisons; the factors are those of `fair_tree.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

import numpy as np

from foretrain.jobs.replay import WrongDecisions
from foretrain.jobs.start_orders import Numbers, Started, StartPairs
from foretrain.jobs.user_ranks import SHARES, SharePoint, UserRanks

HOUR, DAY = 3_600.0, 86_400.0

RIDGE: Final = 1e-5
"""Weight of a squared coefficient beside a mean loss: where all orders can be kept, it bounds."""

TIE: Final = 2.0
"""Logits by which who came first stands before who is its equal."""

STEPS: Final = 25
"""Of Newton's method; from a near fit it takes three."""

CONVERGED: Final = 1e-5
"""Loss below whose change a fit is taken."""

TURNS: Final = 4
"""Through all coordinates of a point."""

GAIN: Final = 1e-4
"""Loss below whose change nobody goes on."""

AGES: Final = (6 * HOUR, DAY, 3 * DAY, 7 * DAY, 14 * DAY, 30 * DAY)
"""Ages from which on jobs may grow no older that are tried."""

HALF_LIVES: Final = (
    *(hours * HOUR for hours in (1, 2, 3, 4, 6, 8, 12, 18)),
    *(days * DAY for days in (1, 1.5, 2, 3, 4, 5, 7, 10, 14, 21, 30)),
)
"""Half-lives of usage that are tried: administrators write round ones."""

BEGINNINGS: Final = (HOUR, DAY, 7 * DAY)
"""Half-lives from which shares are looked for."""

CLASSIC: Final = (DAY,)
"""Half-lives from which the classic factor is begun with, which is smooth in them."""

ENOUGH: Final = 0.002
"""Share of broken orders below which nobody looks for shares."""

ENDS: Final = 2
"""Of the searches, how many are gone on with to the end."""

AGE, FAIR_SHARE, SIZE, FIRST_QUALITY = range(4)
"""Places of weights; qualities after the first follow, then partitions after the first."""


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
        columns = self._columns(point)
        columns[:, list(without)] = 0.0
        scale = np.abs(columns).max(axis=0)
        scale[scale == 0.0] = 1.0
        found = logistic(
            columns / scale,
            self._pairs.weight,
            tie=self._tie,
            near=None if near is None else near * scale * np.any(columns, axis=0),
        )
        wrong = tuple(each for each in (AGE, FAIR_SHARE) if found.weights[each] < 0.0)
        if wrong:
            return self.fit(point, near=near, without=(*without, *wrong))
        return found._replace(weights=found.weights / scale)

    def broken_starts(
        self, point: SharePoint, weights: Numbers, *, ties: bool = False
    ) -> WrongDecisions:
        """Jobs that started though some other that waited stood before them by a point or more.

        Args:
            point: what is not linear.
            weights: of each factor, in points of a priority.
            ties: whether it is counted too that a later job started before its equal.

        Without ties, so many decisions at least are missed; who waited may have been early.
        """
        least = -np.sign(self._tie) if ties else -1.0
        behind = self._columns(point) @ weights < least
        first, second = (set(each[behind].tolist()) for each in self._pairs[:2])
        return WrongDecisions(frozenset(second), frozenset(first))

    def _columns(self, point: SharePoint) -> Numbers:
        """Factors of the first of each pair less those of the second. [pair, factor]"""
        first, second = (np.minimum(1.0, age / point.longest) for age in self._ages)
        mine, other = self._ranks.of(self._users, point)
        found: Numbers = np.column_stack([first - second, mine - other, self._fixed])
        return found


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
        """Size, and whether it is of each quality and partition after the first. [job, factor]"""
        devices = self.nodes * self.per_node
        size = (np.ceil(jobs.devices / self.per_node) / self.nodes + jobs.devices / devices) / 2.0
        kinds = [jobs.qos == place for place in range(1, len(jobs.qualities))]
        kinds += [jobs.group == place for place in range(1, len(jobs.groups))]
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
        weights = np.zeros(FIRST_QUALITY + len(jobs.qualities) - 1 + len(jobs.groups) - 1)
        return cls(equal(jobs), FittedWeights(weights, 0.0, 0.0))


def equal(jobs: Started) -> SharePoint:
    """Everybody with one share."""
    equal = SHARES.index(1.0)
    accounts = len({account for account, _ in jobs.users})
    return SharePoint((equal,) * accounts, (equal,) * len(jobs.users), 7 * DAY, 7 * DAY)


def explanations(evidence: PriorityEvidence, jobs: Started) -> Sequence[Explanation]:
    """Priorities without shares that explain a log.

    Args:
        evidence: of the log.
        jobs: of it.

    After each come others of which one factor after the other has no weight.
    """
    without = (FAIR_SHARE,)
    points = [equal(jobs)._replace(longest=age) for age in AGES]
    plains = [Explanation(point, evidence.fit(point, without=without)) for point in points]
    plain = min(plains, key=lambda each: each.fit.broken)
    # From which age on jobs grow no older many orders leave open.
    near = [each for each in plains if each.fit.broken <= plain.fit.broken + ENOUGH]
    return [*_sparser(evidence, plain.point, without), *near]


def beginnings(evidence: PriorityEvidence, jobs: Started) -> Sequence[Explanation]:
    """Priorities with equal shares and several half-lives, to look for shares from.

    Args:
        evidence: of the log.
        jobs: of it.
    """
    points = [equal(jobs)._replace(half_life=each) for each in BEGINNINGS]
    points += [equal(jobs)._replace(half_life=each, classic=True) for each in CLASSIC]
    return [Explanation(point, evidence.fit(point)) for point in points]


def with_shares(evidence: PriorityEvidence, jobs: Started) -> Sequence[Explanation]:
    """Priorities with shares that explain what a log prints.

    Args:
        evidence: of the log.
        jobs: of it.
    """
    found = list[Explanation]()
    tries = [descended(evidence, each.point) for each in beginnings(evidence, jobs)]
    for each in sorted(tries, key=lambda each: each.fit.loss)[:ENDS]:
        best = descended(evidence, each.point, times=True)
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


def descended(
    evidence: PriorityEvidence,
    point: SharePoint,
    *,
    times: bool = False,
    turns: int = TURNS,
) -> Explanation:
    """Shares and longest age, and half-life too if asked for, that explain more.

    One after the other takes the value that leaves the least loss, until none has a better one.
    Only from near the site's own half-life are there shares that break hardly any order.

    Args:
        evidence: of the log.
        point: where to begin.
        times: whether the half-life may change.
        turns: through all of them, at most.
    """
    best = Explanation(point, evidence.fit(point))
    for _ in range(turns):
        before = best.fit.loss
        for place in range(0 if times else 1, 2 + len(point.accounts) + len(point.users)):
            for there in _others(best.point, place):
                fit = evidence.fit(there, near=best.fit.weights)
                if fit.loss < best.fit.loss:
                    best = Explanation(there, fit)
        if best.fit.loss > before - GAIN:
            break
    return best


def _others(point: SharePoint, place: int) -> Iterator[SharePoint]:
    """Points that differ in one coordinate alone: half-life, longest age, then each share."""
    if place == 0:
        yield from (point._replace(half_life=each) for each in HALF_LIVES)
    elif place == 1:
        yield from (point._replace(longest=each) for each in AGES)
    else:
        count, shares = len(point.accounts), [*point.accounts, *point.users]
        for shares[place - 2] in range(len(SHARES)):
            accounts, users = tuple(shares[:count]), tuple(shares[count:])
            yield point._replace(accounts=accounts, users=users)
