"""Inferred rules: the site behind a log, where nobody has told its configuration.

What a log shows of itself is read off: how many devices partitions held, when cycles of
backfilling came. Priorities are those that explain who started before whom. What is left open is
tried: the log is replayed under each candidate, and whichever waits as the log did is taken, and
then mended in small steps for as long as that helps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from math import ceil, inf
from typing import Final

import numpy as np

from foretrain.cluster.mixed import Fleet, Nodes
from foretrain.errors import InputError
from foretrain.jobs.priority_evidence import (
    AGE,
    FAIR_SHARE,
    FIRST_QUALITY,
    SIZE,
    Explanation,
    LogFactors,
    OrderEvidence,
    PrintedEvidence,
    PriorityEvidence,
    explanations,
)
from foretrain.jobs.run import run
from foretrain.jobs.start_orders import (
    PERIOD,
    SHARES,
    KeptByLimit,
    Numbers,
    Started,
    StartTicks,
    busiest,
    most_held,
    shared_most,
    start_pairs,
    started,
    ticks,
)
from foretrain.measured.job import Log
from foretrain.measured.limit import Party, PartyLimit
from foretrain.measured.queue_study import Conditions
from foretrain.measured.site import BackfillRules, Partition, PriorityWeights, Qos, SiteRules

LARGEST: Final = 100_000.0
"""Of the weights, where a log tells only their ratios."""

SIZES: Final = (1, 2, 4, 8)
"""Devices of a node that are tried where a log does not tell on how many nodes jobs lay."""

RESERVES: Final = (0, 1, 3)
"""Slots of a partition that are tried first."""

DEPTHS: Final = (500, 100, 50, 20, 10)
STEPS: Final = (0.5, 0.8, 1.25, 2.0)
"""By which a weight or a half-life is multiplied to see whether the replay comes nearer."""

MOST_RUNS: Final = 140
"""Replays of a log; those of the candidates count."""

MOST_TRIED: Final = 9
"""Explanations of one way to pass that are replayed, those first that leave fewest orders open."""

SAME: Final = 0.01
"""Distance from the log within which nothing else is tried."""

STRICT: Final = 0.03
"""Broken orders below which nobody is taken to pass; above ten times as many it is not tried."""

MIDDLE: Final = 0.2
"""Weight of the median in how far a replay is from a log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteGuess:
    """What a site is taken to be.

    Attributes:
        priority: of jobs.
        parts: nodes of each partition; empty where all share the fleet.
        nodes: of the fleet.
        per_node: devices of a node.
        backfill: how jobs pass; None where nobody does.
        limit: of parties; None without one.
    """

    priority: Explanation
    parts: Mapping[str, int]
    nodes: int
    per_node: int
    backfill: BackfillRules | None = None
    limit: PartyLimit | None = None

    @property
    def fleet(self) -> Fleet:
        """Its nodes."""
        return Fleet(nodes=(Nodes(count=self.nodes, devices=self.per_node),))

    def rules(self, jobs: Started, *, printed: bool) -> SiteRules:
        """Its rules, in Slurm's terms.

        Args:
            jobs: whose users and qualities it has.
            printed: whether weights are those of priorities that the log prints.
        """
        point, fit = self.priority
        ends = accumulate(self.parts.values(), initial=0)
        points = np.array([0.0, *fit.weights[FIRST_QUALITY:]])
        points = points - points.min()
        size, most = float(fit.weights[SIZE]), float(points.max())
        largest = max(fit.weights[AGE], fit.weights[FAIR_SHARE], abs(size), most)
        scale = 1.0 if printed or not largest > 0.0 else LARGEST / float(largest)
        return SiteRules(
            partitions=tuple(
                Partition(name=name, nodes=((first, end - 1),))
                for name, (first, end) in zip(self.parts, pairwise(ends), strict=True)
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
                qos=most * scale,
                longest_age=point.longest,
                half_life=point.half_life,
            ),
            backfill=self.backfill,
            limits=(self.limit,) if self.limit else (),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class InferredSite:
    """A site whose rules its log told.

    Attributes:
        log: on the site's clock: its time 0 is a moment at which priorities are worked out.
        fleet: the nodes.
        rules: of it.
        apart: mean difference of a job's replayed waiting from its logged one, over the mean.
        broken: share of the orders of starts that the priority does not explain.
        pairs: how many orders there are; priorities that were printed where `printed`.
        printed: whether the log prints priorities.
        runs: replays that were made.
        held: devices at once, the most.
        ticks: what starts jobs while nothing happens.
    """

    log: Log
    fleet: Fleet
    rules: SiteRules
    apart: float
    broken: float
    pairs: int
    printed: bool
    runs: int
    held: int
    ticks: StartTicks


def inferred(
    log: Log, fleet: Fleet | None = None, *, tell: Callable[[int, int], None] | None = None
) -> InferredSite:
    """The rules that a log follows.

    Args:
        log: of which the begin of jobs is known.
        fleet: what it ran on; None for as many devices as were held at once.
        tell: told how many replays are done, and how many there may be.

    Raises:
        InputError: where no job of the log ever waited, which tells of no rule.
    """
    if fleet and len(fleet.nodes) > 1:
        raise InputError("site.infer reads rules of nodes of one kind; give [fleet] one.")
    if not any(log.begun.get(job.name, 0.0) > job.arrival for job in log.trace.jobs):
        raise InputError(
            f"{log.trace.name}: no job whose begin is known ever waited, and who does not wait"
            " follows every rule. State the rules in [site] in place of infer."
        )
    seen = ticks(started(log.trace.jobs, log.begun, log.priorities))
    clock = log.later(-seen.phase % PERIOD)
    search = _SiteSearch(busiest(clock), seen, fleet, tell or (lambda _done, _most: None))
    best = search.best()
    return InferredSite(
        log=clock,
        fleet=fleet or best.fleet,
        rules=best.rules(search.jobs, printed=search.printed),
        apart=search.apart(best),
        broken=best.priority.fit.broken,
        pairs=search.pairs,
        printed=search.printed,
        runs=search.runs,
        held=most_held(search.jobs, np.ones(len(search.jobs.begun), dtype=bool)),
        ticks=seen,
    )


@dataclass(slots=True)
class _SiteSearch:
    """Guesses of a site, each replayed once.

    Attributes:
        log: on the site's clock.
        seen: what starts jobs while nothing happens.
        told: the fleet, where it is known.
        tell: told of replays.
        jobs: of the log.
        printed: whether priorities are known.
        pairs: of jobs that were compared.
        runs: replays so far.
    """

    log: Log
    seen: StartTicks
    told: Fleet | None
    tell: Callable[[int, int], None]
    jobs: Started = field(init=False)
    printed: bool = field(init=False)
    pairs: int = 0
    runs: int = 0
    _known: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.jobs = started(self.log.trace.jobs, self.log.begun, self.log.priorities)
        told = self.jobs.priority[np.isfinite(self.jobs.priority)]
        self.printed = len(told) > 0.5 * len(self.jobs.begun) and bool(np.ptp(told))

    def best(self) -> SiteGuess:
        """The guess whose replay is nearest to the log."""
        bare = self._bare()
        found = [*self._with(bare, None)]
        most = shared_most(self.jobs, self.jobs.user)
        if most is not None and min(map(self.apart, found)) > SAME:
            limit = PartyLimit(each=Party.USER, devices=most)
            found += self._with(replace(bare, limit=limit), KeptByLimit(self.jobs.user, most))
        return self._mended(min(found, key=self.apart))

    def apart(self, guess: SiteGuess) -> float:
        """How far a replay is from the log: of waiting job by job, and of its median."""
        key = repr(guess)
        if key not in self._known:
            waits = self._replayed(guess)
            self._known[key] = inf if waits is None else self._distance(waits)
        return self._known[key]

    def _replayed(self, guess: SiteGuess) -> Numbers | None:
        asked = Conditions(site=guess.rules(self.jobs, printed=self.printed))
        self.runs += 1
        self.tell(self.runs, MOST_RUNS)
        try:
            outcomes = run(self.log.trace, self.told or guess.fleet, "slurm", conditions=asked)
        except InputError:
            return None  # some job finds no room on such nodes, or under such a limit
        known = [job.name in self.log.begun for job in self.log.trace.jobs]
        found: Numbers = np.array(outcomes.begun)[known] - self.jobs.arrival
        return found

    def _distance(self, waits: Numbers) -> float:
        logged = self.jobs.begun - self.jobs.arrival
        middle, usual = float(np.median(logged)), float(logged.mean())
        off = abs(float(np.median(waits)) - middle) / (middle or usual)
        return float(np.abs(waits - logged).mean()) / usual + MIDDLE * min(1.0, off)

    def _bare(self) -> SiteGuess:
        """Partitions and nodes as they were held; the priority is still to be found."""
        jobs, per_node = self.jobs, self._per_node()
        held = {
            name: ceil(most_held(jobs, jobs.group == place) / per_node)
            for place, name in enumerate(jobs.groups)
        }
        whole = ceil(most_held(jobs, np.ones(len(jobs.begun), dtype=bool)) / per_node)
        nodes = self.told.nodes[0].count if self.told else max(whole, 1)
        # Partitions that together never held more than one of them alone share their nodes.
        apart = len(held) > 1 and max(held.values()) < whole
        if apart and not self.told:
            nodes = sum(held.values())
        apart = apart and sum(held.values()) <= nodes
        if apart:  # what nobody held belongs to the largest
            held[max(held, key=held.__getitem__)] += nodes - sum(held.values())
        nothing, parts = Explanation.nothing(jobs), held if apart else {}
        return SiteGuess(priority=nothing, parts=parts, nodes=nodes, per_node=per_node)

    def _per_node(self) -> int:
        if self.told:
            return self.told.nodes[0].devices
        sizes = {job.name: job.devices for job in self.log.trace.jobs}
        return max((ceil(sizes[name] / nodes) for name, nodes in self.log.nodes.items()), default=1)

    def _with(self, bare: SiteGuess, kept: KeptByLimit | None) -> Iterator[SiteGuess]:
        """Guesses of how jobs pass, and of the priorities that explain it then."""
        interval = self.seen.interval
        none = self._explained(bare, np.ones(len(self.jobs.begun), dtype=bool), kept)
        broken = min(each.fit.broken for each in none)
        if interval is None or interval >= PERIOD:
            if broken < 10.0 * STRICT:
                yield from self._tried([bare], none)
            if broken < STRICT:
                return
        fills = [BackfillRules(interval=interval or 30.0, reserves=each) for each in RESERVES]
        passing = [replace(bare, backfill=each) for each in fills]
        yield from self._tried(passing, self._explained(bare, self.seen.main, kept))

    def _tried(
        self, ways: Sequence[SiteGuess], explained: Sequence[Explanation]
    ) -> Iterator[SiteGuess]:
        """The way to pass, and the size of nodes, that fit the first explanation; then others."""
        first, *others = explained
        sized = [other for way in ways for other in self._resized(replace(way, priority=first))]
        best = min(sized, key=self.apart)
        yield best
        yield from (replace(best, priority=each) for each in others)

    def _explained(
        self, bare: SiteGuess, strict: np.ndarray, kept: KeptByLimit | None
    ) -> Sequence[Explanation]:
        factors = LogFactors(period=PERIOD, nodes=bare.nodes, per_node=bare.per_node)
        evidence: PriorityEvidence
        if self.printed:
            evidence = PrintedEvidence(self.jobs, factors)
            self.pairs = int(np.isfinite(self.jobs.priority).sum())
        else:
            pairs = start_pairs(self.jobs, strict, kept)
            if not len(pairs.first):
                return [bare.priority]
            evidence = OrderEvidence(self.jobs, pairs, factors)
            self.pairs = max(self.pairs, len(pairs.first))
        found = explanations(evidence, self.jobs)
        return sorted(found, key=lambda each: each.fit.broken)[:MOST_TRIED]

    def _resized(self, guess: SiteGuess) -> Iterator[SiteGuess]:
        """The same devices in nodes of each size, where nobody tells it."""
        if self.told or self.log.nodes:
            yield guess
            return
        for size in SIZES:
            parts = {name: nodes // size for name, nodes in guess.parts.items()}
            even = all(nodes % size == 0 for nodes in (guess.nodes, *guess.parts.values()))
            if even:
                yield replace(guess, per_node=size, nodes=guess.nodes // size, parts=parts)

    def _mended(self, best: SiteGuess) -> SiteGuess:
        """The guess after small steps, each of which brings its replay nearer."""
        while True:
            before = self.apart(best)
            for steps in (_fills, _weights, _times):
                for other in steps(best):
                    if self.apart(best) < SAME or self.runs >= MOST_RUNS:
                        return best
                    best = min(best, other, key=self.apart)
            if not self.apart(best) < before:
                return best


def _fills(guess: SiteGuess) -> Iterator[SiteGuess]:
    if guess.backfill is not None:
        for depth in DEPTHS:
            yield replace(guess, backfill=replace(guess.backfill, depth=depth))
        for reserves in (2, 5, 10):
            yield replace(guess, backfill=replace(guess.backfill, reserves=reserves))


def _weights(guess: SiteGuess) -> Iterator[SiteGuess]:
    fit = guess.priority.fit
    for place in np.flatnonzero(fit.weights).tolist():
        for step in STEPS:
            weights = fit.weights.copy()
            weights[place] *= step
            other = guess.priority._replace(fit=fit._replace(weights=weights))
            yield replace(guess, priority=other)


def _times(guess: SiteGuess) -> Iterator[SiteGuess]:
    point, fit = guess.priority
    if fit.weights[FAIR_SHARE] <= 0.0:
        return
    for step in STEPS:
        there = point._replace(half_life=step * point.half_life)
        yield replace(guess, priority=guess.priority._replace(point=there))
    count = len(point.accounts)
    for each in range(count + len(point.users)):
        for by in (-2, 2):
            places = [*point.accounts, *point.users]
            places[each] = min(max(places[each] + by, 0), len(SHARES) - 1)
            there = point._replace(accounts=tuple(places[:count]), users=tuple(places[count:]))
            yield replace(guess, priority=guess.priority._replace(point=there))
