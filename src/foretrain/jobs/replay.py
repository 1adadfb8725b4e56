"""Replay: a log simulated under its own policy, before anybody asks it what if.

Where neither the policy nor the number of devices is known, each policy is tried with as many
devices as make it wait like the log. The jobs of the first half of the waiting decide, those of
the second half judge: there the settings that were found must tell the waiting that they have not
seen. The waiting is halved and not the jobs, for a log may be idle for weeks.

A replay goes its own way after the first job that it starts otherwise, so that how far it is from a
log says little of how near its rules are. `wrong_decisions` puts every decision to the rules as the
log found it: those run that ran, those wait that waited. Whom the rules would start, and the log
did not, is early; whom the log started, and the rules would not, is missed. Rules of which every
decision is the log's replay the log.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import accumulate
from math import ceil, inf, lcm
from statistics import fmean, median
from typing import NamedTuple

from foretrain.cluster.mixed import Fleet, fleet
from foretrain.errors import InputError
from foretrain.jobs.active import (
    Active,
)
from foretrain.jobs.admission import Eligibility, Opening
from foretrain.jobs.limits import Limits
from foretrain.jobs.nodes import NodePool, packed
from foretrain.jobs.run import check, run
from foretrain.jobs.simulation import Dispatcher, Simulation
from foretrain.jobs.slurm import SlurmDispatcher
from foretrain.jobs.slurm_queue import Pending
from foretrain.jobs.start_orders import started, ticks
from foretrain.measured.job import Log, Trace
from foretrain.measured.queue_study import Conditions
from foretrain.measured.site import SiteRules

POLICIES = ("fifo", "easy", "sjf", "srtf", "las")
"""Policies that are tried where the log's own is not known."""

NEAR = 2
"""Nodes more and fewer that are tried too, for waiting need not fall with every node."""

FEWEST = 2
"""Jobs whose begin must be known: one that decides and one that judges."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A log beside its simulation.

    Attributes:
        policy: that was simulated.
        devices: of the cluster.
        gap: mean difference of a job's simulated waiting from its logged one, in the first half
            of the waiting, over the mean of all logged ones: what settings are chosen by;
            infinite where only the log has no waiting.
        mean: mean seconds of simulated waiting in the first half.
        logged: median seconds of waiting in the second half, of the jobs that waited in the log.
        simulated: of the same jobs in the simulation.
    """

    policy: str
    devices: int
    gap: float
    mean: float
    logged: float
    simulated: float

    @property
    def error(self) -> float:
        """Relative error of the simulated median; infinite where only the log's is 0."""
        if self.logged == self.simulated:
            return 0.0
        return abs(self.simulated / self.logged - 1.0) if self.logged else inf


@dataclass(frozen=True, slots=True)
class _Told:
    """What a log tells of waiting.

    Attributes:
        trace: all jobs of the log.
        places: in the trace, of the jobs whose begin is known.
        waits: seconds that each of those waited.
        half: how many of those are in the first half of the waiting.
        conditions: rules of the site.
    """

    trace: Trace
    places: tuple[int, ...]
    waits: tuple[float, ...]
    half: int
    conditions: Conditions

    @property
    def judges(self) -> list[int]:
        """Which of the waits judge: those above 0 in the second half, or all where none is."""
        later = range(self.half, len(self.waits))
        return [place for place in later if self.waits[place] > 0] or list(later)


def replay(
    log: Log,
    *,
    policies: Sequence[str] = POLICIES,
    shared: Fleet | None = None,
    per_node: int = 1,
    conditions: Conditions | None = None,
) -> tuple[Replay, ...]:
    """The log under each policy, the one that fits best first.

    Args:
        log: of which at least two jobs' begin is known.
        policies: names of policies; one if it is known.
        shared: the devices of the cluster; None to find how many fit best.
        per_node: devices of a node: numbers that are tried are multiples of it.
        conditions: rules of the site; None for none.

    Raises:
        InputError: where the log does not tell when jobs began; or none ever waited, and it is
            asked how many devices fit best.
    """
    told = _told(log, conditions)
    if shared is None and not any(told.waits):
        raise InputError(
            f"{log.trace.name}: no job ever waited, so every large cluster fits. Say how many"
            " devices it has."
        )
    if shared is not None:
        found = [_attempt(told, policy=policy, shared=shared) for policy in policies]
    else:
        # On as many equal devices as fit best.
        alike = tuple(replace(job, kinds=()) for job in told.trace.jobs)
        any_kind = replace(told, trace=replace(told.trace, jobs=alike))
        least = ceil(max(job.devices for job in alike) / per_node)

        @cache
        def attempt(policy: str, nodes: int) -> Replay:
            return _attempt(any_kind, policy=policy, shared=fleet(nodes * per_node))

        waiting = fmean(told.waits[: told.half])
        found = [
            fitting(partial(attempt, policy), least=least, waiting=waiting) for policy in policies
        ]
    return tuple(sorted(found, key=lambda each: each.gap))


def clock(log: Log, shared: Fleet, conditions: Conditions) -> float:
    """How much later a log begins than its site's clock is at a multiple of its periods.

    Args:
        log: of jobs some of which started while nobody came or ended, as cycles of backfilling do.
        shared: the devices of the cluster.
        conditions: rules of the site.

    Returns:
        Seconds; 0 where nothing tells it. Cycles tell it up to their interval; where priorities
        are worked out anew, which of them is decided by the first half of the waiting.
    """
    jobs = started(log.trace.jobs, log.begun, log.priorities) if replayable(log) else None
    seen = ticks(jobs, since=log.trace.opened) if jobs else None
    if seen is None or seen.interval is None:
        return 0.0
    site, fills = conditions.site, conditions.site.backfill
    steps = [site.priority.period] if site.priority.any else []
    steps += [fills.interval] if fills else []
    # Cycles and periods come again together after the least common multiple of both.
    period = float(lcm(*(max(1, round(each)) for each in steps or [seen.interval])))
    first = -seen.phase % seen.interval
    found = [first + place * seen.interval for place in range(max(1, int(period / seen.interval)))]
    if len(log.trace.jobs) > MOST_TRIED:
        return -seen.phase % period
    # A few starts may have come by chance when cycles seem to: the log's own clock is tried too.
    found.insert(0, 0.0)

    def gap(later: float) -> float:
        [tried] = replay(log.later(later), policies=["slurm"], shared=shared, conditions=conditions)
        return tried.gap

    return min(found, key=gap)


MOST_TRIED = 5_000
"""Jobs of a log up to which every moment is tried at which priorities may be worked out."""


def replayable(log: Log) -> bool:
    """Whether a log tells of enough jobs when they began."""
    return len(log.begun.keys() - log.trace.found.keys()) >= FEWEST


def _told(log: Log, conditions: Conditions | None) -> _Told:
    """What a log tells of waiting, halved where half of it is over."""
    if not replayable(log):
        raise InputError(
            f"{log.trace.name}: does not tell when jobs began, and so nothing of their waiting. A"
            " replay needs a log with the begin of two jobs or more."
        )
    jobs = log.trace.jobs
    # Who ran when the log began is where it was, whatever the policy: it tells nothing.
    places = tuple(
        place
        for place, job in enumerate(jobs)
        if job.name in log.begun and job.name not in log.trace.found
    )
    waits = tuple(log.begun[jobs[place].name] - jobs[place].arrival for place in places)
    so_far = tuple(accumulate(waits))
    half = (
        1 + sum(waited < so_far[-1] / 2.0 for waited in so_far) if any(waits) else len(waits) // 2
    )
    return _Told(log.trace, places, waits, min(half, len(waits) - 1), conditions or Conditions())


def _attempt(told: _Told, *, policy: str, shared: Fleet) -> Replay:
    """The log under one policy on some devices."""
    begun = run(told.trace, shared, policy, conditions=told.conditions).begun
    found = [begun[place] - told.trace.jobs[place].arrival for place in told.places]
    pairs = zip(found[: told.half], told.waits[: told.half], strict=True)
    apart, usual = fmean(abs(a - b) for a, b in pairs), fmean(told.waits)
    return Replay(
        policy=policy,
        devices=shared.devices,
        gap=apart / usual if usual else inf if apart else 0.0,
        mean=fmean(found[: told.half]),
        logged=median(told.waits[place] for place in told.judges),
        simulated=median(found[place] for place in told.judges),
    )


def fitting(attempt: Callable[[int], Replay], *, least: int, waiting: float) -> Replay:
    """The number of nodes that fits best.

    The more nodes, the less waiting: nodes are doubled until jobs wait less than in the log, and
    halved in on from there.

    Args:
        attempt: the log on some nodes.
        least: nodes, below which not all jobs can run.
        waiting: mean seconds in the first half of the log's waiting.
    """
    low = high = least
    while attempt(high).mean > waiting:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if attempt(middle).mean > waiting else (low, middle)
    near = range(max(least, low - NEAR), high + NEAR + 1)
    return min((attempt(nodes) for nodes in near), key=lambda each: each.gap)


class WrongDecisions(NamedTuple):
    """Jobs of a log about which rules decide otherwise.

    Attributes:
        early: ranks of those that they would have started before the log did.
        missed: of those that they would not have started when the log did.
    """

    early: frozenset[int]
    missed: frozenset[int]

    @property
    def total(self) -> int:
        """How many decisions are wrong, a job's early start counted once."""
        return len(self.early) + len(self.missed)


class _TooManyWrongError(Exception):
    """Nobody asks how many more there are."""


class _EarlyError(Exception):
    """The rules would start a job that waited on: what they would do next, the log cannot tell."""


def wrong_decisions(
    log: Log, fleet: Fleet, rules: SiteRules, *, most: float
) -> WrongDecisions | None:
    """Jobs of a log about which rules decide otherwise than it; None where these are too many.

    Args:
        log: on the site's clock; the begin of all of its jobs is known.
        fleet: of the site.
        rules: of it.
        most: wrong decisions beyond which nobody looks.

    Raises:
        InputError: where some job can never run on such nodes or under such rules.
    """
    trace = log.trace
    check(trace, fleet, rules.limits)
    begun = {rank: log.begun[job.name] for rank, job in enumerate(trace.jobs)}
    forced = _ForcedDispatcher(rules, fleet, begun, most=most)
    dispatcher: Dispatcher = forced
    if any(job.after or job.rung for job in trace.jobs):
        dispatcher = Eligibility(dispatcher, trace)
    if trace.opened or any(job.eligible is not None for job in trace.jobs):
        dispatcher = Opening(dispatcher, trace)
    limits = Limits(rules.limits)
    try:
        Simulation(trace, NodePool(fleet, packed), dispatcher, limits=limits).run()
    except _TooManyWrongError:
        return None
    return WrongDecisions(frozenset(forced.early), frozenset(forced.missed))


class _ForcedDispatcher(SlurmDispatcher):
    """Asks Slurm's rules who starts, and starts those whom the log started.

    Attributes:
        early: jobs that the rules would have started before.
        missed: jobs that they would not have started then.
    """

    def __init__(
        self, site: SiteRules, fleet: Fleet, begun: Mapping[int, float], *, most: float
    ) -> None:
        """Nobody has been asked.

        Args:
            site: the rules.
            fleet: the nodes.
            begun: when each job started, by its rank.
            most: wrong decisions beyond which nobody looks.
        """
        super().__init__(site, fleet)
        self.early = set[int]()
        self.missed = set[int]()
        self._begun = begun
        self._most = most
        self._due: defaultdict[float, list[Active]] = defaultdict(list)
        self._late: list[Active] = []
        self._starts: dict[int, float] = {}

    def arrive(self, active: Active, simulation: Simulation) -> None:
        """A job has come: it starts when it did."""
        super().arrive(active, simulation)
        start = max(self._begun[active.rank], simulation.now)
        self._starts[active.rank] = start
        self._due[start].append(active)
        if start > simulation.now:
            simulation.wake(start)

    def decide(self, simulation: Simulation) -> None:
        """Ask, and do as the log did."""
        now, pool = simulation.now, simulation.pool
        assert isinstance(pool, NodePool), "a site's nodes are told apart"
        try:
            super().decide(simulation)
        except _EarlyError:
            self._go_on(simulation)
        due = [each for each in (*self._late, *self._due.pop(now, ())) if each.held is None]
        waits = {each.active.rank: each for each in self._queue.first(now)} if due else {}
        self.missed.update(active.rank for active in due)
        self._late = [each for each in due if not self._force(waits[each.rank], simulation)]
        if len(self.early) + len(self.missed) > self._most:
            raise _TooManyWrongError
        if due and len(self._queue) and self._queue.fits(pool, simulation.limits):
            self._look_again(simulation)

    def _go_on(self, simulation: Simulation) -> None:
        """A decision broke off: cycles of backfilling and periods come all the same."""
        rules, now = self._site.backfill, simulation.now
        if rules is not None and now % rules.interval:
            self._wake((now // rules.interval + 1) * rules.interval, simulation)
        self._look_again(simulation)

    def _force(self, pending: Pending, simulation: Simulation) -> bool:
        """Start a job as the log did; False where rules of other nodes leave no room for it."""
        return super()._start(pending, pending.nodes, simulation)

    def _start(self, pending: Pending, among: int, simulation: Simulation) -> bool:
        """Start a job that the log starts now; break off where it does not."""
        active, pool = pending.active, simulation.pool
        if self._starts[active.rank] == simulation.now:
            return super()._start(pending, among, simulation)
        assert isinstance(pool, NodePool), "a site's nodes are told apart"
        if not pool.has(active.job.devices, active.job.kinds, among=among):
            return False
        if self._starts[active.rank] < simulation.now:  # it is late, and finds room at last
            return super()._start(pending, among, simulation)
        self.early.add(active.rank)
        raise _EarlyError
