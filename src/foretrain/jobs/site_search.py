"""The search for a site behind a log: guesses, each asked for the decisions that the log made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain, pairwise
from math import ceil, inf, log
from typing import Final

import numpy as np
from numpy.random import Generator, default_rng

from foretrain.cluster.mixed import Fleet
from foretrain.errors import InputError
from foretrain.jobs.priority_evidence import (
    Explanation,
    OrderEvidence,
    PrintedEvidence,
    PriorityEvidence,
    explanations,
)
from foretrain.jobs.replay import WrongDecisions, wrong_decisions
from foretrain.jobs.run import run
from foretrain.jobs.site_guess import AT_ONCE, PERIODS, Nearby, SiteGuess, passing, usual
from foretrain.jobs.start_orders import (
    PERIOD,
    Flags,
    KeptByLimit,
    Numbers,
    Started,
    StartTicks,
    limits_kept,
    most_held,
    start_pairs,
    started,
)
from foretrain.measured.job import Log
from foretrain.measured.limit import PartyLimit
from foretrain.measured.queue_study import Conditions
from foretrain.measured.site import BackfillRules

SIZES: Final = (1, 2, 4, 8)
"""Devices of a node that are tried where a log does not tell on how many nodes jobs lay."""

RESERVES: Final = (0, 1, 3)
"""Slots of a partition that are tried first."""

POOL: Final = 6
"""Explanations of each way to pass that are asked under every other way too."""

LIMITS: Final = 3
"""Decisions that a limit must put right to be believed."""

MOST_RUNS: Final = 480
"""Simulations of a log of `USUAL` jobs, one decision at a time or as a whole."""

FEWEST_RUNS: Final = 120
"""The same of a log of many jobs."""

USUAL: Final = 400
CLOCK: Final = 30.0
"""Seconds that the phase of the priorities' period is tried at where nothing ticks."""

HEAT: Final = 0.03
"""Share of the wrong decisions by which a step may be worse at first."""

PROPOSED: Final = 20
"""Guesses that are proposed for one that is simulated, at most: others are known to be worse."""

TURNS: Final = 2
"""Times that a search is heated again from the best guess that it has."""

REPLAYED: Final = 16
"""Guesses with the fewest wrong decisions that are replayed as a whole."""

MIDDLE: Final = 0.2
"""Weight of the median in how far a replay is from a log."""


@dataclass(slots=True)
class SiteSearch:
    """Guesses of a site, each asked for the decisions of the log once.

    Attributes:
        log: on the site's clock, as far as its ticks tell it.
        seen: what starts jobs while nothing happens.
        told: the fleet, where it is known.
        tell: told of simulations.
        jobs: of the log.
        printed: whether priorities are known.
        most: simulations.
        pairs: of jobs that were compared.
        runs: simulations so far.
    """

    log: Log
    seen: StartTicks
    told: Fleet | None
    tell: Callable[[int, int], None]
    jobs: Started = field(init=False)
    printed: bool = field(init=False)
    most: int = field(init=False)
    _held: int = field(init=False)
    pairs: int = 0
    runs: int = 0
    _logs: dict[float, Log] = field(default_factory=dict)
    _wrong: dict[str, tuple[WrongDecisions, SiteGuess]] = field(default_factory=dict)
    _apart: dict[str, float] = field(default_factory=dict)
    _orders: dict[object, OrderEvidence | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.jobs = started(self.log.trace.jobs, self.log.begun, self.log.priorities)
        self._held = max(1, most_held(self.jobs, np.ones(len(self.jobs.begun), dtype=bool)))
        told = self.jobs.priority[np.isfinite(self.jobs.priority)]
        self.printed = len(told) > 0.5 * len(self.jobs.begun) and bool(np.ptp(told))
        self.most = min(
            MOST_RUNS, max(FEWEST_RUNS, MOST_RUNS * USUAL // max(1, len(self.jobs.begun)))
        )

    def best(self) -> SiteGuess:
        """The guess that makes the log's decisions, or whose replay is nearest to the log."""
        best, count = self._begun(self._bare())
        limits = self._limited(best, count)
        if limits:
            best, count = self._begun(replace(self._bare(), limits=limits), best)
        best, count = self._swept(best, count)
        random, left = default_rng(0), self.most - self.runs - REPLAYED
        for _ in range(TURNS):
            if count:
                best, count = self._annealed(best, left // TURNS, random)
            if count:
                best, count = self._swept(best, count)
        if not count:
            return self._usual(best)
        known = sorted(self._wrong.values(), key=lambda each: each[0].total)[:REPLAYED]
        return min((guess for _, guess in known), key=self.apart, default=best)

    def _begun(self, bare: SiteGuess, *others: SiteGuess) -> tuple[SiteGuess, float]:
        """The best of some ways to pass, each with the priorities that explain any of them."""
        guesses, found = [*others], list[Explanation]()
        likely, *layouts = self._layouts(bare)
        for laid in (likely, *(() if likely.parts else layouts)):
            for strict, fills in self._ways():
                told = self._explained(laid, strict)
                found += told[:POOL]
                for each in fills:
                    guesses += self._resized(replace(laid, priority=told[0], backfill=each))
        best, least = self._least(guesses)
        # What explains the orders of one way to pass may be what another one follows.
        ways = [each for _, fills in self._ways() for each in fills[:1]]
        tried = (replace(best, priority=each, backfill=way) for each in found for way in ways)
        return self._least([best, *tried]) if least else (best, least)

    def _ways(self) -> Iterator[tuple[Flags, Sequence[BackfillRules | None]]]:
        """How jobs may pass, and of which starts all that wait then come after."""
        interval, every = self.seen.interval, np.ones(len(self.jobs.begun), dtype=bool)
        steps = [interval] if interval else [30.0]
        # Priorities that are worked out anew start jobs in quiet times too.
        if interval is None or interval in PERIODS:
            yield every, (None,)
            steps.append(AT_ONCE)
        for step in steps:
            strict = ~every if step == AT_ONCE else self.seen.main
            yield strict, [BackfillRules(interval=step, reserves=each) for each in RESERVES]

    def _swept(self, best: SiteGuess, count: float) -> tuple[SiteGuess, float]:
        """The best guess after each thing beside the priority has been tried otherwise."""
        for place in range(len(self._otherwise(best))):
            options = self._otherwise(best)
            if count and place < len(options):
                best, count = self._least([best, *options[place]])
        return best, count

    def _otherwise(self, guess: SiteGuess) -> Sequence[Sequence[SiteGuess]]:
        """Guesses that differ in one thing beside the priority."""
        return [
            [replace(guess, late=each) for each in self._clocks(guess)],
            [replace(guess, period=each) for each in PERIODS],
            [*self._layouts(guess)],
            [*self._resized(guess)],
            *passing(guess, self.seen.interval),
        ]

    def _limited(self, best: SiteGuess, count: float) -> tuple[PartyLimit, ...]:
        """Limits of which each makes fewer decisions wrong."""
        for each in limits_kept(self.jobs, best.nodes * best.per_node):
            if count < LIMITS:
                break
            limited = replace(best, limits=(*best.limits, each))
            found = self.wrong(limited, count - LIMITS)
            if found is not None and found.total <= count - LIMITS:
                best, count = limited, found.total
        return best.limits

    def _usual(self, best: SiteGuess) -> SiteGuess:
        """The same without what decides nothing in the log: that is as usual, or has no weight."""
        for change in usual(best):
            there = change(best)
            found = self.wrong(there, 0.0)
            if found is not None and not found.total:
                best = there
        return best

    def wrong(self, guess: SiteGuess, most: float = inf) -> WrongDecisions | None:
        """Decisions of the log that a guess makes otherwise; None where they are too many.

        Args:
            guess: that is asked.
            most: wrong decisions beyond which nobody looks.
        """
        key = repr(guess)
        if key not in self._wrong:
            # A cycle that passes over jobs of busy users tells nothing of their priorities.
            telling = not (guess.backfill and guess.backfill.per_user)
            if most < inf and telling and self._broken_starts(guess) > most:
                return None
            self._count()
            rules = guess.rules(self.jobs, printed=self.printed)
            fleet = self.told or guess.fleet
            try:
                found = wrong_decisions(self._known_at(guess.late), fleet, rules, most=most)
            except InputError:
                return None  # some job finds no room on such nodes, or under such a limit
            if found is None:
                return None
            self._wrong[key] = found, guess
        return self._wrong[key][0]

    def _broken_starts(self, guess: SiteGuess) -> int:
        """Decisions of the log that a guess makes otherwise, at least: no simulation is needed."""
        orders, (point, fit) = self._orders_of(guess), guess.priority
        scale = guess.scale(printed=self.printed)
        return orders.broken_starts(point, scale * fit.weights) if orders else 0

    def _orders_of(self, guess: SiteGuess) -> OrderEvidence | None:
        """Who started before whom, as far as a guess says that it tells of priorities."""
        fills = guess.backfill
        ways = fills and fills.interval, guess.limits, guess.period, tuple(guess.parts.items())
        key = guess.late, guess.nodes, guess.per_node, *ways
        if key not in self._orders:
            known = self._known_at(guess.late)
            jobs = started(known.trace.jobs, known.begun, known.priorities)
            at_once = fills is not None and fills.interval == AT_ONCE
            strict = (self.seen.main | (fills is None)) & (not at_once)
            kept = [KeptByLimit.by(jobs, each) for each in guess.limits]
            pairs = start_pairs(jobs, strict, kept, covers=guess.covers)
            evidence = OrderEvidence(jobs, pairs, guess.factors) if len(pairs.first) else None
            self._orders[key] = evidence
        return self._orders[key]

    def _refit(self, guess: SiteGuess) -> SiteGuess:
        """The weights that explain the orders best, with what is not linear as it is."""
        orders = None if self.printed else self._orders_of(guess)
        if orders is None:
            return guess
        without = tuple(np.flatnonzero(guess.priority.fit.weights == 0.0).tolist())
        fit = orders.fit(guess.priority.point, without=without)
        return replace(guess, priority=guess.priority._replace(fit=fit))

    def _least(self, guesses: Sequence[SiteGuess]) -> tuple[SiteGuess, float]:
        """The guess with the fewest wrong decisions, and how many."""
        best, least = guesses[0], inf
        for guess in guesses:
            found = self.wrong(guess, least)
            if found is not None and found.total < least:
                best, least = guess, found.total
        return best, least

    def _annealed(self, best: SiteGuess, steps: int, random: Generator) -> tuple[SiteGuess, float]:
        """The guess with the fewest wrong decisions on a walk from one."""
        here, decided = best, self.wrong(best)
        if decided is None:
            return best, inf
        nearby = Nearby(self.jobs, random, otherwise=self._otherwise, refit=self._refit)
        least, first = decided.total, self.runs
        for _ in range(PROPOSED * steps):
            gone = (self.runs - first) / steps
            if gone >= 1.0:
                break
            heat = max(1.0, HEAT * least) * (1.0 - gone)
            most = decided.total - heat * log(1.0 - random.random())
            there = nearby.step(here, decided)
            found = self.wrong(there, most)
            if found is None or found.total > most:
                continue
            here, decided = there, found
            if found.total < least:
                best, least = there, found.total
            if not least:
                break
        return best, least

    def _clocks(self, guess: SiteGuess) -> Iterator[float]:
        """By how much the site's clock may be ahead of what the ticks tell."""
        step = min(self.seen.interval or CLOCK, PERIOD)
        return (turn * step for turn in range(ceil(guess.period / step)))

    def _known_at(self, late: float) -> Log:
        """The jobs whose begin is known, on a clock."""
        if late not in self._logs:
            known = [job for job in self.log.trace.jobs if job.name in self.log.begun]
            here = replace(self.log, trace=self.log.trace.only(known))
            self._logs[late] = here.later(late)
        return self._logs[late]

    def apart(self, guess: SiteGuess) -> float:
        """How far a replay is from the log: of waiting job by job, and of its median."""
        key = repr(guess)
        if key not in self._apart:
            waits = self._replayed(guess)
            self._apart[key] = inf if waits is None else self._distance(waits)
        return self._apart[key]

    def _count(self) -> None:
        self.runs += 1
        self.tell(self.runs, max(self.runs, self.most))

    def _replayed(self, guess: SiteGuess) -> Numbers | None:
        asked = Conditions(site=guess.rules(self.jobs, printed=self.printed))
        self._count()
        trace = self.log.trace.later(guess.late)
        try:
            outcomes = run(trace, self.told or guess.fleet, "slurm", conditions=asked)
        except InputError:
            return None  # some job finds no room on such nodes, or under such a limit
        known = [job.name in self.log.begun for job in self.log.trace.jobs]
        found: Numbers = np.array(outcomes.begun)[known] - self.jobs.arrival - guess.late
        return found

    def _distance(self, waits: Numbers) -> float:
        logged = self.jobs.begun - self.jobs.arrival
        middle, usual = float(np.median(logged)), float(logged.mean())
        off = abs(float(np.median(waits)) - middle) / (middle or usual)
        return float(np.abs(waits - logged).mean()) / usual + MIDDLE * min(1.0, off)

    def _bare(self) -> SiteGuess:
        """Nodes as they were held; the priority is still to be found."""
        per_node, nothing = self._per_node(), Explanation.nothing(self.jobs)
        nodes, groups = ceil(self._held / per_node), self.jobs.groups
        return SiteGuess(priority=nothing, parts={}, groups=groups, nodes=nodes, per_node=per_node)

    def _layouts(self, guess: SiteGuess) -> Iterator[SiteGuess]:
        """A guess with partitions on other nodes, the likeliest first."""
        jobs = self.jobs
        held = {
            name: ceil(most_held(jobs, jobs.group == place) / guess.per_node)
            for place, name in enumerate(jobs.groups)
        }
        largest, together = max(held, key=lambda name: held[name]), sum(held.values())
        nodes = self.told.nodes[0].count if self.told else ceil(self._held / guess.per_node)
        if len(held) > 1 and held[largest] < nodes and (together <= nodes or not self.told):
            apart, nodes_apart = dict(held), max(nodes, together)
            apart[largest] += nodes_apart - together  # what nobody held belongs to the largest
            ends = pairwise(accumulate(apart.values(), initial=0))
            parts = {name: (a, b - 1) for name, (a, b) in zip(apart, ends, strict=True)}
            yield replace(guess, nodes=nodes_apart, parts=parts)
        yield replace(guess, nodes=nodes, parts={})
        if len(held) > 1 and min(held.values()) < nodes:  # small ones at either end
            first = {name: (0, count - 1) for name, count in held.items()}
            last = {name: (nodes - count, nodes - 1) for name, count in held.items()}
            for parts in (first, last, {**last, largest: first[largest]}):
                yield replace(guess, nodes=nodes, parts=parts)

    def _per_node(self) -> int:
        if self.told:
            return self.told.nodes[0].devices
        sizes = {job.name: job.devices for job in self.log.trace.jobs}
        return max((ceil(sizes[name] / nodes) for name, nodes in self.log.nodes.items()), default=1)

    def _explained(self, bare: SiteGuess, strict: Flags) -> Sequence[Explanation]:
        """Priorities, the one that explains most of what a log tells first."""
        evidence: PriorityEvidence
        if self.printed:
            evidence = PrintedEvidence(self.jobs, bare.factors)
            self.pairs = int(np.isfinite(self.jobs.priority).sum())
        else:
            kept = [KeptByLimit.by(self.jobs, limit) for limit in bare.limits]
            pairs = start_pairs(self.jobs, strict, kept, covers=bare.covers)
            if not len(pairs.first):
                return [bare.priority]
            evidence = OrderEvidence(self.jobs, pairs, bare.factors)
            self.pairs = max(self.pairs, len(pairs.first))
        return sorted(explanations(evidence, self.jobs), key=lambda each: each.fit.broken)

    def _resized(self, guess: SiteGuess) -> Iterator[SiteGuess]:
        """The same devices in nodes of each size, where nobody tells it."""
        if self.told or self.log.nodes:
            yield guess
            return
        for size in SIZES:
            # Devices at which nodes of the fleet and of partitions begin and end.
            devices = guess.nodes * guess.per_node
            edges = {
                name: (first * guess.per_node, (last + 1) * guess.per_node)
                for name, (first, last) in guess.parts.items()
            }
            if all(edge % size == 0 for edge in (devices, *chain(*edges.values()))):
                parts = {name: (a // size, b // size - 1) for name, (a, b) in edges.items()}
                yield replace(guess, per_node=size, nodes=devices // size, parts=parts)
