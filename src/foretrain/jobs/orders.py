"""Orders: what the starts of a log tell of the priorities behind them.

Whoever starts while another waits that could have started in its place had the higher priority.
Which others could, depends on how the site passes jobs: under the main loop all that wait in the
same partition, in a cycle of backfilling only those that need no more devices for no longer. Each
such pair bounds the weights of a multifactor priority, and a logistic regression on differences of
factors finds weights that break the fewest.

Source: bradley1952, rank analysis of paired comparisons; the factors are those of `fair_tree.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foretrain.jobs.fair_tree import decay_of
from foretrain.measured.job import Job

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]

RIDGE = 1e-5
"""Weight of a squared coefficient beside a mean loss: where orders can all be kept, it bounds."""

TIE = 2.0
"""Logits by which who came first stands before who is its equal."""

STEPS = 25
"""Of Newton's method; a start from a near fit needs three."""


class StartPairs(NamedTuple):
    """Pairs of jobs of which one started while the other waited.

    Attributes:
        first: places of those that started. [pair]
        second: of those that waited. [pair]
        when: the first started, seconds since the trace began. [pair]
        weight: of each, 1 for all pairs of a start together. [pair]
    """

    first: Places
    second: Places
    when: Numbers
    weight: Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """Jobs of a log whose start is known, as columns.

    Attributes:
        arrival: seconds since the trace began. [job]
        begun: likewise. [job]
        ended: likewise. [job]
        devices: that each holds. [job]
        limit: seconds allowed to each. [job]
        user: place of its user among `users`. [job]
        qos: place of its quality among `qualities`. [job]
        group: place of its partition among `groups`. [job]
        users: account and name of each.
        qualities: names.
        groups: names.
    """

    arrival: Numbers
    begun: Numbers
    ended: Numbers
    devices: Numbers
    limit: Numbers
    user: Places
    qos: Places
    group: Places
    users: tuple[tuple[str, str], ...]
    qualities: tuple[str, ...]
    groups: tuple[str, ...]


def started(jobs: Sequence[Job], begun: Mapping[str, float]) -> Started:
    """The jobs of a log whose start is known.

    Args:
        jobs: of the log.
        begun: when each started, by its name.
    """
    known = [job for job in jobs if job.name in begun]
    users = sorted({(job.account, job.user) for job in known})
    qualities = sorted({job.qos for job in known})
    groups = sorted({job.group for job in known})
    starts = np.array([begun[job.name] for job in known])
    ran = np.array([job.ends_after for job in known])
    return Started(
        arrival=np.array([job.arrival for job in known]),
        begun=starts,
        ended=starts + ran,
        devices=np.array([float(job.devices) for job in known]),
        limit=np.array([job.ends_after if job.estimate is None else job.estimate for job in known]),
        user=np.array([users.index((job.account, job.user)) for job in known]),
        qos=np.array([qualities.index(job.qos) for job in known]),
        group=np.array([groups.index(job.group) for job in known]),
        users=tuple(users),
        qualities=tuple(qualities),
        groups=tuple(groups),
    )


MOST_PAIRS = 60_000


MOST_OTHERS = 24


def pairs(jobs: Started, strict: NDArray[np.bool_], most: float = np.inf) -> StartPairs:
    """Pairs that tell of priorities.

    Args:
        jobs: that started.
        strict: whether at the start of each all that wait in its partition come after it;
            otherwise only those that need no more devices for no longer. [job]
    """
    found: list[tuple[int, Places]] = []
    order = np.argsort(jobs.begun, kind="stable")
    for place in order:
        when = jobs.begun[place]
        there = (jobs.arrival <= when) & (jobs.begun > when)
        waits = there & (jobs.group == jobs.group[place])
        if most < np.inf:
            runs = (jobs.begun < when) & (jobs.ended > when)
            held = np.bincount(jobs.user[runs], jobs.devices[runs], minlength=len(jobs.users))
            kept = jobs.user[there & (held[jobs.user] + jobs.devices > most)]
            waits &= ~np.isin(jobs.user, kept)
        if not strict[place]:
            waits &= (jobs.devices <= jobs.devices[place]) & (jobs.limit <= jobs.limit[place])
        others = np.flatnonzero(waits)
        if len(others) > MOST_OTHERS:
            others = others[np.linspace(0, len(others) - 1, MOST_OTHERS).astype(int)]
        if len(others):
            found.append((int(place), others))
    total = sum(len(others) for _, others in found)
    if total > MOST_PAIRS:
        found = found[:: -(-total // MOST_PAIRS)]
    if not found:
        none = np.zeros(0, dtype=int)
        return StartPairs(none, none, np.zeros(0), np.zeros(0))
    lengths = [len(others) for _, others in found]
    first = np.repeat([place for place, _ in found], lengths)
    return StartPairs(
        first,
        np.concatenate([others for _, others in found]),
        jobs.begun[first],
        np.repeat([1.0 / length for length in lengths], lengths),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGuess:
    """What a fair tree of two levels is taken to be.

    Attributes:
        accounts: shares of each account, by its name.
        users: of each user, by place.
        half_life: seconds in which usage is halved.
    """

    accounts: Mapping[str, float]
    users: tuple[float, ...]
    half_life: float


class Ranks:
    """Fair-share factors over a log, for any shares."""

    def __init__(self, jobs: Started, period: float, when: Numbers) -> None:
        """Device time of each user in each period, up to the last that is asked for.

        Args:
            jobs: that started.
            period: seconds.
            when: moments at which factors are wanted.
        """
        self._jobs = jobs
        self._period = period
        epochs = np.floor(when / period).astype(int)
        self._asked, self.place = np.unique(epochs, return_inverse=True)
        last = int(self._asked[-1]) if len(self._asked) else 0
        edges = np.arange(last + 1) * period
        self._held = np.zeros((last, len(jobs.users)))
        for user in range(len(jobs.users)):
            mine = jobs.user == user
            self._held[:, user] = np.diff(
                _held_until(edges, jobs.begun[mine], jobs.ended[mine], jobs.devices[mine])
            )
        self._known: dict[float, Numbers] = {}

    def usage(self, half_life: float) -> Numbers:
        """Decayed usage of each user at the moments. [epoch, user]"""
        known = self._known.get(half_life)
        if known is None:
            kept = decay_of(half_life) ** self._period
            wanted = set(self._asked.tolist())
            so_far, rows = np.zeros(self._held.shape[1]), []
            if 0 in wanted:
                rows.append(so_far)
            for epoch, held in enumerate(self._held, start=1):
                so_far = (so_far + held) * kept
                if epoch in wanted:
                    rows.append(so_far)
            known = np.array(rows)
            self._known[half_life] = known
        return known

    def factors(self, guess: ShareGuess) -> Numbers:
        """The fair-share factor of each user at each moment. [epoch, user]"""
        used = self.usage(guess.half_life)
        names = list(guess.accounts)
        owner = np.array([names.index(account) for account, _ in self._jobs.users])
        member = np.equal.outer(owner, np.arange(len(names))).astype(float)
        by_account = used @ member
        shares = np.array([guess.accounts[name] for name in names])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            top = shares / shares.sum() / (by_account / by_account.sum(axis=1, keepdims=True))
            own = np.array(guess.users)
            part = own / (own @ member)[owner]
            below = part / (used / by_account[:, owner])
        # Who has used nothing, in an account that has or has not, is never behind.
        top = np.where(by_account > 0, top, np.inf)[:, owner]
        below = np.where(used > 0, below, np.inf)
        ahead = (top[:, :, None] < top[:, None, :]) | (
            (top[:, :, None] == top[:, None, :]) & (below[:, :, None] < below[:, None, :])
        )
        count = len(self._jobs.users)
        return (count - ahead.sum(axis=2)) / count


def _held_until(edges: Numbers, begun: Numbers, ended: Numbers, devices: Numbers) -> Numbers:
    """Device time that jobs have held until some moments."""

    def passed(since: Numbers) -> Numbers:
        order = np.argsort(since)
        ascending, weights = since[order], devices[order]
        place = np.searchsorted(ascending, edges, side="right")
        count = np.concatenate([[0.0], np.cumsum(weights)])[place]
        moments = np.concatenate([[0.0], np.cumsum(weights * ascending)])[place]
        return count * edges - moments

    return passed(begun) - passed(ended)


class Fitted(NamedTuple):
    """Weights of factors that break few pairs.

    Attributes:
        weights: of each factor. [factor]
        loss: mean logistic loss.
        broken: share of the pairs that are in the other order.
    """

    weights: Numbers
    loss: float
    broken: float


def fitted(differences: Numbers, weight: Numbers, tie: Numbers, start: Numbers | None = None) -> Fitted:
    """Weights by which the first of each pair stands before the second.

    Args:
        differences: of factors, of the first of each pair from the second. [pair, factor]
        weight: of each pair. [pair]
        start: weights of a near fit.
    """
    count = differences.shape[1]
    found = np.zeros(count) if start is None else start.copy()
    share = weight / weight.sum()

    def loss(weights: Numbers) -> float:
        return float(
            share @ np.logaddexp(0.0, -(differences @ weights + tie))
            + 0.5 * RIDGE * weights @ weights
        )

    now = loss(found)
    for _ in range(STEPS):
        odds = 1.0 / (1.0 + np.exp(np.clip(differences @ found + tie, -500, 500)))
        slope = RIDGE * found - differences.T @ (share * odds)
        curve = (differences * (share * odds * (1.0 - odds))[:, None]).T @ differences
        step = np.linalg.solve(curve + RIDGE * np.eye(count), slope)
        length = 1.0
        while length > 1e-3 and loss(found - length * step) > now:
            length *= 0.5
        found = found - length * step
        before, now = now, loss(found)
        if before - now < 1e-6:
            break
    broken = float(share @ (differences @ found + 1e-9 * tie <= 0))
    return Fitted(found, now, broken)


HOUR, DAY = 3_600.0, 86_400.0
AGES = (6 * HOUR, DAY, 3 * DAY, 7 * DAY, 14 * DAY, 30 * DAY)
"""Ages from which on jobs may grow no older that are tried."""

HALF_LIVES = (HOUR, 6 * HOUR, DAY, 3 * DAY, 7 * DAY, 14 * DAY, 30 * DAY)
SHARE_STEPS = (0.25, 0.5, 2.0 / 3.0, 1.5, 2.0, 4.0)
"""By which a share is multiplied to see whether fewer pairs are broken."""

ENOUGH = 0.002

BETTER = 1e-3
"""Loss by which a change must mend a fit to be taken up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityGuess:
    """A multifactor priority that explains the orders of a log.

    Attributes:
        age: weight of a job's age over `longest_age`.
        fairshare: weight of its user's factor.
        size: weight of the share of the cluster that it asks for; below 0 for small jobs first.
        qualities: points of each quality, the lowest 0.
        longest_age: seconds.
        shares: of accounts and users.
        loss: of the fit.
        broken: share of the pairs that it does not explain.
    """

    age: float
    fairshare: float
    size: float
    qualities: tuple[float, ...]
    longest_age: float
    shares: ShareGuess
    loss: float
    broken: float


GRID = (1/8, 1/5, 1/4, 1/3, 2/5, 1/2, 2/3, 3/4, 1.0, 4/3, 3/2, 2.0, 5/2, 3.0, 4.0, 5.0, 8.0)


class _Point(NamedTuple):
    places: tuple[int, ...]
    half_life: float
    longest: float


class Learner:
    """Finds the priority behind the orders of a log."""

    def __init__(self, jobs: Started, found: StartPairs, *, devices: int, per_node: int, nodes: int, period: float) -> None:
        self._jobs = jobs
        self._pairs = found
        self._setting = {"devices": devices, "per_node": per_node, "nodes": nodes, "period": period}
        self._ranks = Ranks(jobs, period, found.when)
        first, second = found.first, found.second
        looked = np.floor(found.when / period) * period
        self._ages = [
            np.maximum(jobs.arrival[each], looked) - jobs.arrival[each] for each in (first, second)
        ]
        size = (np.ceil(jobs.devices / per_node) / nodes + jobs.devices / devices) / 2.0
        kinds = [
            (jobs.qos[first] == level).astype(float) - (jobs.qos[second] == level)
            for level in range(1, len(jobs.qualities))
        ]
        self._fixed = np.column_stack([size[first] - size[second], *kinds])
        sooner = (jobs.arrival[first], first) 
        order = np.lexsort((np.arange(len(jobs.arrival)), jobs.arrival))
        place = np.argsort(order)
        self._tie = np.where(place[first] < place[second], TIE, -TIE)

    def differences(self, longest: float, shares: ShareGuess) -> Numbers:
        first, second = (np.minimum(1.0, age / longest) for age in self._ages)
        factors = self._ranks.factors(shares)[self._ranks.place]
        rows = np.arange(len(factors))
        mine = factors[rows, self._jobs.user[self._pairs.first]]
        other = factors[rows, self._jobs.user[self._pairs.second]]
        return np.column_stack([first - second, mine - other, self._fixed])

    def fit(self, longest: float, shares: ShareGuess, start: Numbers | None = None, dropped=()) -> Fitted:
        columns = self.differences(longest, shares)
        columns[:, list(dropped)] = 0.0
        scale = np.abs(columns).max(axis=0)
        scale[scale == 0] = 1.0
        columns /= scale
        found = fitted(columns, self._pairs.weight, self._tie, None if start is None else start * scale)
        wrong = [place for place in (0, 1) if found.weights[place] < 0]
        if wrong:
            columns[:, wrong] = 0.0
            found = fitted(columns, self._pairs.weight, self._tie)
        return found._replace(weights=found.weights / scale)

    def learn(self) -> PriorityGuess:
        random = np.random.default_rng(0)
        jobs = self._jobs
        names = sorted({account for account, _ in jobs.users})
        count = len(names) + len(jobs.users)
        first = (GRID.index(1.0),) * count
        plain = min(
            ((self.fit(age, self._guess(_Point(first, 7 * DAY, age)), dropped=(1,)), age) for age in AGES),
            key=lambda each: each[0].broken,
        )
        point = _Point(first, 7 * DAY, plain[1])
        found = [self._told(fit, point) for fit in self._sparser(plain[0], point, (1,))]
        if plain[0].broken < ENOUGH or len(jobs.users) < 2:
            return found
        quick = self._sample(random)
        tries = [quick._anneal(_Point(first, half_life, 7 * DAY), 150, random) for half_life in HALF_LIVES]
        tries.sort(key=lambda each: each[0].loss)
        tries = [quick._anneal(point, 500, random, heat=0.02) for _, point in tries[:3]]
        tries.sort(key=lambda each: each[0].loss)
        tries = [quick._anneal(point, 700, random, heat=0.003) for _, point in tries[:2]]
        for _, point in tries:
            best, point = self._anneal(point, 100, random, heat=0.0005)
            found += [self._told(fit, point) for fit in self._sparser(best, point, ())]
        return found

    def _told(self, best, point):
        w = best.weights
        levels = np.array([0.0, *w[3:]])
        return PriorityGuess(
            age=max(0.0, w[0]), fairshare=max(0.0, w[1]), size=w[2],
            qualities=tuple(levels - levels.min()), longest_age=point.longest, shares=self._guess(point),
            loss=best.loss, broken=best.broken,
        )

    def _sparser(self, best, point, dropped):
        """The fit, and others in which one factor after the other has no weight."""
        yield best
        while True:
            options = [
                (self.fit(point.longest, self._guess(point), dropped=(*dropped, place)), place)
                for place in range(len(best.weights))
                if place not in dropped and best.weights[place]
            ]
            if not options:
                return
            best, place = min(options, key=lambda each: each[0].broken)
            dropped = (*dropped, place)
            yield best

    def _sample(self, random):
        found = self._pairs
        if len(found.first) > 1500:
            pick = random.choice(len(found.first), 1500, replace=False)
            found = StartPairs(*(column[pick] for column in found))
        return Learner(self._jobs, found, **self._setting)

    def _guess(self, point):
        names = sorted({account for account, _ in self._jobs.users})
        count = len(names)
        return ShareGuess(
            accounts={name: GRID[place] for name, place in zip(names, point.places)},
            users=tuple(GRID[place] for place in point.places[count:]),
            half_life=point.half_life,
        )

    def _anneal(self, point, tries, random, heat=0.05):
        now = best = self.fit(point.longest, self._guess(point))
        here = found = point
        for turn in range(tries):
            warmth = heat * (1.0 - turn / tries) ** 2 + 1e-5
            other = self._moved(here, random)
            fit = self.fit(other.longest, self._guess(other), now.weights)
            if fit.loss < now.loss or random.random() < np.exp((now.loss - fit.loss) / warmth):
                now, here = fit, other
                if fit.loss < best.loss:
                    best, found = fit, other
        return best, found

    def _moved(self, point, random):
        if random.random() < 0.1:
            return point._replace(longest=AGES[int(random.integers(len(AGES)))])
        if random.random() < 0.05:
            return point._replace(half_life=point.half_life * random.choice((0.7, 1.4)))
        places = list(point.places)
        for _ in range(1 if random.random() < 0.7 else 2):
            place = int(random.integers(len(places)))
            places[place] = int(np.clip(places[place] + random.choice((-3, -2, -1, 1, 2, 3)), 0, len(GRID) - 1))
        return point._replace(places=tuple(places))
