"""The search for a site behind a log: guesses, each asked for the decisions that the log made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain, pairwise, takewhile
from math import ceil, inf
from typing import Final

import numpy as np
from numpy.random import Generator, default_rng

from foretrain.cluster.mixed import Fleet
from foretrain.errors import InputError
from foretrain.jobs.priority_evidence import (
    ENOUGH,
    Explanation,
    OrderEvidence,
    PrintedEvidence,
    beginnings,
    explanations,
    with_shares,
)
from foretrain.jobs.replay import WrongDecisions, wrong_decisions
from foretrain.jobs.site_guess import AT_ONCE, PERIODS, Nearby, SiteGuess, passing
from foretrain.jobs.start_orders import (
    PERIOD,
    Flags,
    KeptByLimit,
    Started,
    StartTicks,
    limits_kept,
    most_held,
    start_pairs,
    started,
)
from foretrain.measured.job import Log
from foretrain.measured.site import BackfillRules

SIZES: Final = (1, 2, 4, 8)
"""Devices of a node that are tried where a log does not tell on how many nodes jobs lay."""

RESERVES: Final = (0, 1, 3)
"""Slots of a partition that are tried first."""

POOL: Final = 6
"""Explanations of each way to pass that are asked under every other way too."""

EXPLAINED: Final = 2
"""Explanations that break no order with which nobody looks for more."""

HOPELESS: Final = 0.2
"""Broken orders over jobs beyond which, after two walks, a way to pass is not the site's."""

LIMITS: Final = 3
"""Decisions that a limit must put right to be believed."""

MOST_RUNS: Final = 960
"""Simulations of a log of `USUAL` jobs, one decision at a time or as a whole."""

FEWEST_RUNS: Final = 240
"""The same of a log of many jobs."""

ROUNDS: Final = 6
"""Into which simulations are divided: each begins where the fewest decisions are wrong."""

ORDERED: Final = 4_000
"""Steps of a walk that looks at the orders of `USUAL` jobs alone."""

USUAL: Final = 400
CLOCK: Final = 30.0
"""Seconds that the phase of the priorities' period is tried at where nothing ticks."""

PROPOSED: Final = 20
"""Guesses that are proposed for one that is simulated, at most: others are known to be worse."""


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
    _random: Generator = field(default_factory=lambda: default_rng(0))
    _found: list[Explanation] = field(default_factory=list)
    _orders: dict[object, OrderEvidence | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.jobs = started(self.log.trace.jobs, self.log.begun, self.log.priorities)
        self._held = max(1, most_held(self.jobs, np.ones(len(self.jobs.begun), dtype=bool)))
        told = self.jobs.priority[np.isfinite(self.jobs.priority)]
        self.printed = len(told) > 0.5 * len(self.jobs.begun) and bool(np.ptp(told))
        self.most = min(
            MOST_RUNS, max(FEWEST_RUNS, MOST_RUNS * USUAL // max(1, len(self.jobs.begun)))
        )

    def best(self) -> tuple[SiteGuess, float]:
        """The guess with the fewest wrong decisions, and how many: with none it is the log's."""
        best, count = self._begun(self._bare())
        limits = self._limited(best, count)[0].limits
        if limits:
            best, count = self._begun(replace(self._bare(), limits=limits), best)
        best, count = self._swept(best, count)
        steps = max(1, (self.most - self.runs) // ROUNDS)
        while count and self.runs < self.most:
            best, count = self._round(best, steps)
        return best, count

    def nearest(self, count: int) -> Sequence[SiteGuess]:
        """Guesses with the fewest wrong decisions, so many at most."""
        known = sorted(self._wrong.values(), key=lambda each: each[0].total)
        return [guess for _, guess in known[:count]]

    def _round(self, best: SiteGuess, steps: int) -> tuple[SiteGuess, float]:
        """Walks from the best guess, and from where orders lead to from it and from elsewhere."""
        count = self._least([best])[1]
        others = [self._found[self._random.integers(len(self._found))]] if self._found else []
        starts = [best, *(replace(best, priority=each) for each in others)]
        here, _ = self._least([self._ordered(each) for each in starts])
        for each in (best, here):
            if count:
                best, count = self._least([best, self._annealed(each, steps // 2)])
        if count:
            best, count = self._swept(best, count)
        return self._limited(best, count)

    def _begun(self, bare: SiteGuess, *others: SiteGuess) -> tuple[SiteGuess, float]:
        """The best of some ways to pass, each with the priorities that explain any of them."""
        guesses, found = [*others], list[Explanation]()
        likely, *layouts = self._layouts(bare)
        for laid in (likely, *(() if likely.parts else layouts)):
            for strict, fills in self._ways():
                told = self._explained(replace(laid, backfill=fills[0]), strict)
                found += told[:POOL]
                self._found += told[:POOL]
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
            [guess.without(each) for each in guess.limits],
            *passing(guess, self.seen.interval),
        ]

    def _limited(self, best: SiteGuess, count: float) -> tuple[SiteGuess, float]:
        """The same with limits of which each makes fewer decisions wrong."""
        for each in limits_kept(self.jobs, best.nodes * best.per_node):
            if count < LIMITS:
                break
            limited = replace(best, limits=(*best.limits, each))
            found = None if each in best.limits else self.wrong(limited, count - LIMITS)
            if found is not None and found.total <= count - LIMITS:
                best, count = limited, found.total
        return best, count

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
            if most < inf and telling and len(self.broken(guess).missed) > most:
                return None
            self.count()
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

    def broken(self, guess: SiteGuess, *, ties: bool = False) -> WrongDecisions:
        """Starts that a guess makes otherwise, at least: no simulation is needed.

        Args:
            guess: that is asked.
            ties: whether a later job that started before its equal counts.
        """
        orders, (point, fit) = self._orders_of(guess), guess.priority
        scale = guess.scale(printed=self.printed)
        nothing = WrongDecisions(frozenset(), frozenset())
        return orders.broken_starts(point, scale * fit.weights, ties=ties) if orders else nothing

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

    def _annealed(self, here: SiteGuess, steps: int) -> SiteGuess:
        """The guess with the fewest wrong decisions on a walk of so many simulations."""
        first = self.runs
        nearby = Nearby(self.jobs, self._random, otherwise=self._otherwise, refit=self._refit)
        gone = ((self.runs - first) / steps for _ in range(PROPOSED * steps))
        return nearby.walked(here, self.wrong, takewhile(lambda part: part < 1.0, gone))

    def _ordered(self, here: SiteGuess) -> SiteGuess:
        """The guess that breaks the fewest orders on a walk: its priorities alone change."""
        steps = max(1, ORDERED * USUAL // max(USUAL, len(self.jobs.begun)))
        nearby = Nearby(
            self.jobs, self._random, otherwise=lambda each: [[each]], refit=lambda each: each
        )
        gone = np.linspace(0.0, 1.0, steps, endpoint=False).tolist()
        return nearby.walked(here, lambda there, _: self.broken(there, ties=True), gone)

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

    def count(self) -> None:
        """One more simulation is made."""
        self.runs += 1
        self.tell(self.runs, max(self.runs, self.most))

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
        if self.printed:
            printed = PrintedEvidence(self.jobs, bare.factors)
            self.pairs = int(np.isfinite(self.jobs.priority).sum())
            told = [*explanations(printed, self.jobs)]
            if min(each.fit.broken for each in told) >= ENOUGH and self.jobs.users[1:]:
                told += with_shares(printed, self.jobs)
            return sorted(told, key=lambda each: each.fit.broken)
        kept = [KeptByLimit.by(self.jobs, limit) for limit in bare.limits]
        pairs = start_pairs(self.jobs, strict, kept, covers=bare.covers)
        if not len(pairs.first):
            return [bare.priority]
        orders = OrderEvidence(self.jobs, pairs, bare.factors)
        self.pairs = max(self.pairs, len(pairs.first))
        # What explains more orders explains the fewer ones of another way to pass too.
        return self._walks(bare, [*explanations(orders, self.jobs), *self._found], orders)

    def _walks(
        self, bare: SiteGuess, known: Sequence[Explanation], orders: OrderEvidence
    ) -> Sequence[Explanation]:
        """Priorities of which the first break few orders: known ones, or where walks lead to."""

        def broken(each: Explanation) -> int:
            return self.broken(replace(bare, priority=each), ties=True).total

        found = sorted(known, key=broken)
        begins = beginnings(orders, self.jobs) if self.jobs.users[1:] else ()
        for turn, each in enumerate((found[0], *begins)):
            left = sorted(broken(one) for one in found)
            if not any(left[:EXPLAINED]) or (
                turn >= EXPLAINED and left[0] > HOPELESS * len(self.jobs.begun)
            ):
                break
            found.append(self._ordered(replace(bare, priority=each)).priority)
        return sorted(found, key=broken)

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
