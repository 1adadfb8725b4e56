"""Slurm written from its rules with none of our code, in whole seconds, on nodes of one device.

The main loop and cycles of backfilling over partitions that may share nodes, with tiers, factors,
limits, windows, resolutions and bounds on what a cycle looks at. Every second is looked at anew and
every plan is a list, so that it is slow and plain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from validation.rules import by_hand
from validation.rules.by_hand import Course, Request, Shares, Weights


class Part(NamedTuple):
    """A partition: its nodes by number, its tier, and its factor."""

    nodes: Sequence[int]
    tier: int
    factor: float


class Fill(NamedTuple):
    """Backfill: a cycle every interval, as slurm.conf has its options."""

    interval: int
    window: int
    resolution: int
    depth: int
    reserves: int
    per_user: int


class Most(NamedTuple):
    """A limit: of whom a job is counted (None: it is not), and how many devices and jobs."""

    of: Callable[[Request], str | None]
    devices: float
    jobs: float


Block = tuple[int, int, Sequence[int]]
"""From when to when nodes are kept for a job, and which."""


class Rules(NamedTuple):
    """What a site has beside the weights of `Weights`."""

    nodes: int
    parts: Mapping[str, Part]
    shares: Shares
    partition: float = 0.0
    small_first: bool = False
    tree: bool = True
    most_qos: int = 1
    fill: Fill | None = None
    limits: Sequence[Most] = ()
    depth: int = 100


def classic(shares: Shares, usage: Mapping[str, float]) -> Mapping[str, float]:
    """Two to the minus effective usage over share, in a tree of accounts and users."""
    whole, found = sum(usage.values()) or 1.0, {}
    for user, (account, mine) in shares.users.items():
        beside = [each for each, (other, _) in shares.users.items() if other == account]
        part = mine / sum(shares.users[each][1] for each in beside)
        top = shares.accounts[account] / sum(shares.accounts.values())
        used, above = usage[user] / whole, sum(usage[each] for each in beside) / whole
        found[user] = 2.0 ** (-(used + (above - used) * part) / (top * part))
    return found


@dataclass(kw_only=True)
class Slurm:
    """A run: who began when, on which nodes, and what users have used."""

    jobs: Sequence[Request]
    where: Sequence[str]
    weights: Weights
    rules: Rules
    begun: dict[int, int] = field(default_factory=dict)
    on: dict[int, Sequence[int]] = field(default_factory=dict)
    done: int = 0
    usage: dict[str, float] = field(init=False)
    factors: Mapping[str, float] = field(init=False)

    def __post_init__(self) -> None:
        self.usage = dict.fromkeys(self.rules.shares.users, 0.0)
        self.factors = self._factors()

    def course(self) -> Course:
        """When each job began, and when it ended."""
        now = min(job.arrival for job in self.jobs)
        while len(self.begun) < len(self.jobs):
            self._account(now)
            self._main(now)
            fill = self.rules.fill
            if fill and now % fill.interval == 0:
                self._cycle(now, fill)
            now = self._next(now)
        starts = [self.begun[i] for i in range(len(self.jobs))]
        return starts, [at + job.seconds for at, job in zip(starts, self.jobs, strict=True)]

    def _next(self, now: int) -> int:
        # A cycle at every second starts nobody between events: time alone only brings plans nearer.
        fill, quiet = self.rules.fill, now not in self.begun.values()
        every = [self.weights.period]
        every += [fill.interval] if fill and not (quiet and fill.interval == 1) else []
        moments = [(now // each + 1) * each for each in every]
        moments += [job.arrival for job in self.jobs if job.arrival > now]
        ends = (at + self.jobs[i].seconds for i, at in self.begun.items())
        return min([*moments, *(end for end in ends if end > now)])

    def _factors(self) -> Mapping[str, float]:
        rule = by_hand.fair_tree if self.rules.tree else classic
        return rule(self.rules.shares, self.usage)

    def _account(self, now: int) -> None:
        """Usage up to the last period: what was held in each, then decayed."""
        period, keep = self.weights.period, 1.0 - 0.693 / self.weights.half_life
        while (self.done + 1) * period <= now:
            start, end = self.done * period, (self.done + 1) * period
            for i, at in self.begun.items():
                inside = min(end, at + self.jobs[i].seconds) - max(start, at)
                self.usage[self.jobs[i].user] += max(0, inside) * self.jobs[i].devices
            self.usage = {user: used * keep**period for user, used in self.usage.items()}
            self.done += 1
            self.factors = self._factors()

    def _priority(self, i: int, now: int) -> int:
        job, weights, rules = self.jobs[i], self.weights, self.rules
        looked = max(job.arrival, now // weights.period * weights.period)
        size = job.devices / rules.nodes
        most = max(part.factor for part in rules.parts.values())
        return int(max(1.0, sum((
            weights.age * min(1.0, (looked - job.arrival) / weights.longest),
            weights.fairshare * self.factors[job.user],
            weights.size * (1.0 - size if rules.small_first else size),
            rules.partition * (rules.parts[self.where[i]].factor / most),
            weights.qos * (job.qos / rules.most_qos),
        ))))  # fmt: skip

    def _queue(self, now: int) -> list[int]:
        there = [i for i, job in enumerate(self.jobs) if job.arrival <= now and i not in self.begun]
        tiers = [self.rules.parts[name].tier for name in self.where]
        key = {i: (-tiers[i], -self._priority(i, now), self.jobs[i].arrival, i) for i in there}
        return sorted(there, key=key.__getitem__)

    def _running(self, now: int) -> list[int]:
        return [i for i, at in self.begun.items() if at + self.jobs[i].seconds > now]

    def _open(self, i: int, now: int) -> bool:
        for limit in self.rules.limits:
            mine = limit.of(self.jobs[i])
            beside = [j for j in self._running(now) if limit.of(self.jobs[j]) == mine]
            held = self.jobs[i].devices + sum(self.jobs[j].devices for j in beside)
            if mine is not None and (held > limit.devices or len(beside) + 1 > limit.jobs):
                return False
        return True

    def _start(self, i: int, now: int, nodes: Iterable[int]) -> None:
        self.begun[i], self.on[i] = now, sorted(nodes)[: self.jobs[i].devices]

    def _free(self, now: int) -> set[int]:
        return {*range(self.rules.nodes)} - {n for i in self._running(now) for n in self.on[i]}

    def _main(self, now: int) -> None:
        """Whoever does not fit keeps the nodes of its partition from those behind it."""
        taken = set[int]()
        for i in self._queue(now)[: self.rules.depth + 1]:
            mine = {*self.rules.parts[self.where[i]].nodes}
            if not mine - taken or not self._open(i, now):
                continue
            if len(self._free(now) & mine - taken) >= self.jobs[i].devices:
                self._start(i, now, self._free(now) & mine - taken)
            else:
                taken |= mine

    def _cycle(self, now: int, fill: Fill) -> None:
        """A slot for each, the first that its nodes have for all of its limit."""
        blocks: list[Block] = []
        looked, kept = Counter[str](), Counter[str]()
        for i in self._queue(now)[: fill.depth]:
            job, part = self.jobs[i], self.where[i]
            if not self._open(i, now):
                continue
            looked[job.user] += 1
            if fill.per_user and looked[job.user] > fill.per_user:
                continue
            start, nodes = self._earliest(i, now, blocks)
            if start == now:
                self._start(i, now, nodes)
            elif start <= now + fill.window and not 0 < fill.reserves <= kept[part]:
                kept[part] += 1
                grid = fill.resolution
                begin = start // grid * grid
                end = max(begin + grid, -(-(start + job.limit) // grid) * grid)
                blocks.append((begin, end, nodes[: job.devices]))

    def _earliest(self, i: int, now: int, blocks: Sequence[Block]) -> tuple[int, Sequence[int]]:
        """When a job has its nodes for all of its limit, and the first of these."""
        job, part = self.jobs[i], self.rules.parts[self.where[i]]
        ready = dict.fromkeys(range(self.rules.nodes), now)
        for j in self._running(now):
            end = max(now + 1, self.begun[j] + self.jobs[j].limit)
            ready.update(dict.fromkeys(self.on[j], end))
        moments = {now, *ready.values(), *(end for _, end, _ in blocks)}
        for start in sorted(each for each in moments if each >= now):
            busy = {
                node
                for begin, end, on in blocks
                for node in on
                if begin <= start + job.limit and end > start
            }
            nodes = sorted({node for node in part.nodes if ready[node] <= start} - busy)
            if len(nodes) >= job.devices:
                return start, nodes
        raise AssertionError("after all others there is room")
