"""Rules that a log follows, where nobody has told them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import ceil, inf
from statistics import fmean, median

import numpy as np

from foretrain.cluster.mixed import Fleet, Nodes
from foretrain.errors import InputError
from foretrain.jobs.orders import (
    DAY,
    Learner,
    PriorityGuess,
    ShareGuess,
    Started,
    pairs,
    started,
)
from foretrain.jobs.run import run
from foretrain.measured.job import Log
from foretrain.measured.limit import Party, PartyLimit
from foretrain.measured.queue_study import Conditions
from foretrain.measured.site import (
    Association,
    BackfillRules,
    Partition,
    PriorityWeights,
    Qos,
    SiteRules,
)

PERIOD = 300.0
LARGEST = 1e5


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteGuess:
    """What a site is taken to be.

    Attributes:
        priority: of jobs.
        parts: devices of each partition; empty where all share the fleet.
        per_node: devices of a node.
        devices: of all nodes.
        backfill: how jobs pass.
        most: devices that a user may hold at once.
    """

    priority: PriorityGuess
    parts: Mapping[str, int]
    per_node: int
    devices: int
    backfill: BackfillRules | None
    most: float


def fleet_of(guess: SiteGuess) -> Fleet:
    return Fleet(nodes=(Nodes(count=ceil(guess.devices / guess.per_node), devices=guess.per_node),))


def rules_of(guess: SiteGuess, jobs: Started) -> SiteRules:
    told = guess.priority
    points = (told.age, told.fairshare, abs(told.size), max(told.qualities, default=0.0))
    scale = LARGEST / (max(points) or 1.0)
    partitions, first = [], 0
    for name, devices in guess.parts.items():
        nodes = devices // guess.per_node
        partitions.append(Partition(name=name, nodes=((first, first + nodes - 1),)))
        first += nodes
    shares = [Association(name=name, shares=each) for name, each in told.shares.accounts.items() if name]
    shares += [
        Association(name=name, parent=account, shares=each, is_user=True)
        for (account, name), each in zip(jobs.users, told.shares.users, strict=True)
    ]
    return SiteRules(
        partitions=tuple(partitions),
        qualities=tuple(
            Qos(name=name, priority=each)
            for name, each in zip(jobs.qualities, told.qualities, strict=True)
            if name
        ),
        associations=tuple(shares),
        priority=PriorityWeights(
            age=scale * told.age,
            fairshare=scale * told.fairshare,
            size=scale * abs(told.size),
            small_first=told.size < 0,
            qos=scale * max(told.qualities, default=0.0),
            longest_age=told.longest_age,
            half_life=told.shares.half_life,
        ),
        backfill=guess.backfill,
        limits=(PartyLimit(each=Party.USER, devices=guess.most),) if guess.most < inf else (),
    )


def peak(jobs: Started, mine) -> float:
    """The most devices that some jobs held at once."""
    moments = np.concatenate([jobs.ended[mine], jobs.begun[mine]])
    changes = np.concatenate([-jobs.devices[mine], jobs.devices[mine]])
    order = np.lexsort((changes, moments))
    return float(np.cumsum(changes[order]).max())


INTERVALS = (600.0, 300.0, 120.0, 60.0, 30.0, 15.0, 10.0)


def cycles(jobs: Started) -> tuple[float | None, np.ndarray]:
    """Interval of what starts jobs while nothing happens, and whether each job started otherwise."""
    events = np.unique(np.concatenate([jobs.arrival, jobs.ended]))
    quiet = ~np.isin(jobs.begun, events)
    if not quiet.any():
        return None, np.ones(len(jobs.begun), dtype=bool)
    for interval in INTERVALS:
        phases = np.round(jobs.begun[quiet] % interval)
        values, counts = np.unique(phases, return_counts=True)
        if counts.max() >= 0.9 * quiet.sum():
            phase = values[counts.argmax()]
            return interval, ~quiet & (jobs.begun % interval != phase)
    return None, ~quiet


class Inference:
    def __init__(self, log: Log, *, per_node: int | None = None, tell=None) -> None:
        self.log = log
        self.jobs = started(log.trace.jobs, log.begun)
        self.places = [p for p, job in enumerate(log.trace.jobs) if job.name in log.begun]
        self.waits = self.jobs.begun - self.jobs.arrival
        self.runs = 0
        self._known = {}
        self.per_node = per_node

    def waits_of(self, guess: SiteGuess):
        conditions = Conditions(site=rules_of(guess, self.jobs))
        try:
            begun = run(self.log.trace, fleet_of(guess), "slurm", conditions=conditions).begun
        except InputError:
            return None
        self.runs += 1
        return np.array(begun)[self.places] - self.jobs.arrival

    def gap(self, guess: SiteGuess) -> float:
        key = repr(guess)
        if key not in self._known:
            found = self.waits_of(guess)
            self._known[key] = inf if found is None else self.apart(found)
        return self._known[key]

    def apart(self, found) -> float:
        logged = float(np.median(self.waits))
        middle = abs(float(np.median(found)) / logged - 1.0) if logged else 0.0
        return float(np.abs(found - self.waits).mean() / self.waits.mean()) + 0.2 * min(1.0, middle)

    def parts(self) -> tuple[Mapping[str, int], int, int]:
        jobs = self.jobs
        per_node = self.per_node or 1
        peaks = {
            name: int(peak(jobs, jobs.group == place)) for place, name in enumerate(jobs.groups)
        }
        whole = int(peak(jobs, np.ones(len(jobs.begun), dtype=bool)))
        def up(devices): return ceil(devices / per_node) * per_node
        if len(peaks) > 1 and max(peaks.values()) < whole:
            parts = {name: up(each) for name, each in peaks.items()}
            return parts, per_node, sum(parts.values())
        return {}, per_node, up(whole)

    def infer(self) -> SiteGuess:
        jobs = self.jobs
        parts, per_node, devices = self.parts()
        interval, main = cycles(jobs)
        held = [peak(jobs, jobs.user == place) for place in range(len(jobs.users))]
        caps = [inf]
        top = max(held)
        if top < max(parts.values(), default=devices) and sum(each == top for each in held) > 1:
            caps.append(top)
        guesses, least = [], 1.0
        for cap in caps:
            for fills in (False, True):
                if not fills and interval is not None and interval < PERIOD:
                    continue
                if fills and least < 0.03:
                    continue
                strict = main if fills else np.ones(len(main), dtype=bool)
                found = pairs(jobs, strict, cap)
                learner = Learner(jobs, found, devices=devices, per_node=per_node, nodes=ceil(devices / per_node), period=PERIOD)
                learned = learner.learn()
                if not fills:
                    least = min(least, *(each.broken for each in learned))
                    if least > 0.3: continue
                learned.sort(key=lambda each: each.broken)
                for priority in learned[:6]:
                    base = SiteGuess(priority=priority, parts=parts, per_node=per_node, devices=devices, backfill=None, most=cap)
                    if not fills:
                        guesses.append(base)
                        continue
                    for reserves in (0, 1, 3):
                        guesses.append(replace(base, backfill=BackfillRules(interval=interval or 30.0, reserves=reserves)))
        guesses.sort(key=self.gap)
        self.first = [(self.gap(g), g.backfill and g.backfill.reserves, g.most, g.priority.broken) for g in guesses[:3]]
        return self.polish(guesses[0])

    def polish(self, best: SiteGuess, most: int = 80) -> SiteGuess:
        for _ in range(4):
            before = self.gap(best)
            for other in self.moves(best):
                pass
            names = MOVES
            for move in names:
                for other in move(best):
                    if self.gap(best) == 0.0 or self.runs > most:
                        return best
                    if self.gap(other) < self.gap(best) - 1e-4:
                        best = other
            if before - self.gap(best) < 1e-3:
                break
        return best

    def moves(self, best):
        return ()


def weights_of(best):
    p = best.priority
    for name in ("age", "fairshare", "size"):
        for step in (0.0, 0.5, 0.8, 1.25, 2.0):
            yield replace(best, priority=replace(p, **{name: step * getattr(p, name)}))
    for place in range(len(p.qualities)):
        for step in (0.0, 0.5, 0.8, 1.25, 2.0):
            q = list(p.qualities); q[place] *= step
            yield replace(best, priority=replace(p, qualities=tuple(q)))

def fills_of(best):
    if best.backfill is None:
        return
    for depth in (10, 20, 50, 100, 500):
        yield replace(best, backfill=replace(best.backfill, depth=depth))
    for reserves in (0, 1, 2, 3, 5, 10):
        yield replace(best, backfill=replace(best.backfill, reserves=reserves))

def shares_of(best):
    p = best.priority
    s = p.shares
    if not p.fairshare: return
    for step in (0.5, 0.7, 1.4, 2.0):
        yield replace(best, priority=replace(p, shares=replace(s, half_life=step*s.half_life)))
    for name in s.accounts:
        for step in (0.5, 0.8, 1.25, 2.0):
            yield replace(best, priority=replace(p, shares=replace(s, accounts={**s.accounts, name: step*s.accounts[name]})))
    for place in range(len(s.users)):
        for step in (0.5, 0.8, 1.25, 2.0):
            u = list(s.users); u[place] *= step
            yield replace(best, priority=replace(p, shares=replace(s, users=tuple(u))))

MOVES = (fills_of, weights_of, shares_of)
