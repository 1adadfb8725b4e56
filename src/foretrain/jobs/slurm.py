"""Slurm's scheduler: two loops over one queue.

The main loop looks at the first jobs whenever something has happened: whoever does not fit keeps
all nodes of its partition from those behind it, but for jobs that a limit or a reservation of nodes
keeps from starting, which stand in nobody's way. Every interval a cycle of backfilling plans a slot
for each job and starts those whose slot is now.

Source: slurm, src/slurmctld/job_scheduler.c; re-implemented from the rules as its documentation and
code tell them.

Slurm's preemption: which jobs are stopped for one that finds no room.

Source: slurm, src/plugins/select/cons_tres/job_test.c and the documentation of preemption;
re-implemented from the rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil

from foretrain.cluster.mixed import Fleet
from foretrain.jobs.active import Active, Lane
from foretrain.jobs.nodes import NodePool
from foretrain.jobs.simulation import Simulation
from foretrain.jobs.slurm_plan import Cycle, RunningJob, SlotMap, set_of
from foretrain.jobs.slurm_queue import Pending, Queue, Rulebook, need_of
from foretrain.measured.site import (
    BackfillRules,
    PreemptBy,
    PreemptMode,
    PreemptRules,
    SiteRules,
    node_set,
)


def may_preempt(pending: Pending, victim: Pending, rules: PreemptRules) -> bool:
    """Whether a job may be stopped for another at all.

    Args:
        pending: the other.
        victim: the job.
        rules: of the site.
    """
    if mode_of(victim, rules) is PreemptMode.OFF or not victim.active.job.preemptible:
        return False
    if rules.by is PreemptBy.TIER:
        return pending.partition.tier > victim.partition.tier
    return rules.by is PreemptBy.QOS and victim.qos.name in pending.qos.preempts


def mode_of(victim: Pending, rules: PreemptRules) -> PreemptMode:
    """What becomes of a job that is preempted.

    Args:
        victim: the job.
        rules: of the site.
    """
    return rules.mode if victim.qos.mode is None else victim.qos.mode


def exempt_until(victim: Pending, rules: PreemptRules) -> float:
    """From when on a running job may be preempted.

    Args:
        victim: the job.
        rules: of the site.
    """
    exempt = rules.exempt if victim.qos.exempt is None else victim.qos.exempt
    return victim.active.charged + exempt


def victims(
    pending: Pending, candidates: Iterable[Pending], pool: NodePool, *, rules: PreemptRules
) -> Sequence[Pending]:
    """Who is stopped so that a job finds room; nobody where that is no use.

    Args:
        pending: the job.
        candidates: running jobs that may be stopped now.
        pool: of all devices.
        rules: of the site.

    Jobs of the lowest quality of service are stopped first, of those the ones on the fewest nodes,
    until the job fits. Then the one that decided goes first, the others by how many of the chosen
    nodes they hold, and it is tried again.
    """
    order = sorted(candidates, key=lambda each: _rank(each, rules))
    found, nodes = _until_it_fits(pending, order, pool)
    for _ in range(rules.reorders if found else 0):
        last, chosen = found[-1], nodes
        others = [each for each in order if each is not last]
        others.sort(key=lambda each: -len(_nodes(each) & chosen))
        order = [last, *others]
        again, nodes = _until_it_fits(pending, order, pool)
        found = again or found
    return [each for each in found if _nodes(each) & nodes]


def _rank(victim: Pending, rules: PreemptRules) -> tuple[float, float]:
    if rules.youngest_first:
        return (-victim.active.charged, 0.0)
    by_tier = rules.by is PreemptBy.TIER
    level = victim.partition.tier if by_tier else victim.qos.priority
    return (level, len(_nodes(victim)))


def _nodes(victim: Pending) -> set[int]:
    held = victim.active.held
    return {node for node, _ in held.places} if held else set()


def _until_it_fits(
    pending: Pending, order: Sequence[Pending], pool: NodePool
) -> tuple[list[Pending], set[int]]:
    """The first jobs of an order that must go, and the nodes on which the other then lies."""
    trial, gone = pool.copy(), list[Pending]()
    job = pending.active.job
    for victim in order:
        assert victim.active.held is not None, "who is stopped runs"
        trial.give(victim.active.held)
        gone.append(victim)
        if trial.has(job.devices, job.kinds, among=pending.nodes):
            held = trial.take(job.devices, job.kinds, among=pending.nodes)
            assert held is not None, "it was said to fit"
            return gone, {node for node, _ in held.places}
    return [], set()


ROUNDING = 1e-9
"""Share of an interval by which a time may miss its grid."""


class SlurmDispatcher:
    """Starts jobs as Slurm does under a site's rules."""

    def __init__(self, site: SiteRules, fleet: Fleet) -> None:
        """Nobody waits or runs."""
        self._site = site
        self._rules = Rulebook(site, fleet)
        self._sizes = {
            node: group.devices
            for node, group in enumerate(group for group in fleet.nodes for _ in range(group.count))
        }
        self._queue = Queue(self._rules)
        self._running: dict[int, Pending] = {}
        self._woken: set[float] = set()

    def arrive(self, active: Active, simulation: Simulation) -> None:
        """A job has come, or comes again after it lost its node."""
        self._queue.add(Pending(active, self._rules, submitted=simulation.now))

    def leave(self, active: Active, simulation: Simulation) -> None:
        """A job has ended, or lost its node."""
        self._gone(active.rank, simulation)

    def decide(self, simulation: Simulation) -> None:
        """The main loop, and a cycle of backfilling if one is due."""
        now, pool = simulation.now, simulation.pool
        self._woken.discard(now)
        assert isinstance(pool, NodePool), "a site's nodes are told apart"
        preempts = self._site.preempt.by is not PreemptBy.NOBODY
        if not len(self._queue) or not (preempts or self._queue.fits(pool)):
            return
        self._main(simulation)
        if not len(self._queue):
            return
        # Who finds room now is kept by the order, a limit or closed nodes: time may change that.
        if self._queue.fits(pool):
            if self._site.backfill is not None:
                self._backfill(simulation, self._site.backfill)
            self._look_again(simulation)

    def _backfill(self, simulation: Simulation, rules: BackfillRules) -> None:
        """A cycle of backfilling, if one is due."""
        now = simulation.now
        due = ceil(now / rules.interval * (1.0 - ROUNDING)) * rules.interval
        if due > now:
            self._wake(due, simulation)
        else:
            self._fill(self._cycle(simulation, rules), simulation, rules)

    def plan(self, simulation: Simulation) -> Mapping[int, float]:
        """When each job that waits is planned to start, by its rank, as `squeue --start` tells.

        Args:
            simulation: at the moment that is asked about.
        """
        backfill = self._site.backfill or BackfillRules()
        now, (cycle, _) = simulation.now, self._cycle(simulation, backfill)
        for pending in self._queue.first(now, backfill.depth):
            slot = cycle.look(pending, now)
            if slot and slot.start <= now:
                cycle.keep(pending, slot, now)
        return cycle.planned

    def _main(self, simulation: Simulation) -> None:
        """Start the first jobs as long as each finds room."""
        now, taken = simulation.now, 0
        barred: set[Lane] = set()
        for pending in self._queue.first(now, self._site.depth + 1):
            left = pending.nodes & ~taken
            if not left:
                continue
            lane = simulation.limits.lane(pending.active.job)
            if lane in barred:
                continue
            if not simulation.limits.allow(pending.active, pending.active.job.devices):
                barred.add(lane)
                continue
            open_nodes = left & ~self._closed(now, now + pending.limit)
            if self._start(pending, open_nodes, simulation):
                continue
            if self._preempt(pending, open_nodes, simulation):
                continue
            if open_nodes == left:  # else a reservation of nodes keeps it
                taken |= pending.nodes

    def _closed(self, start: float, end: float) -> int:
        """Nodes that are kept free at some time between."""
        nodes = 0
        for each in self._site.closed:
            if each.start < end and each.end > start:
                nodes |= node_set(each.nodes, self._rules.count)
        return nodes

    def _start(self, pending: Pending, among: int, simulation: Simulation) -> bool:
        """Start a job on some nodes if it fits there."""
        job, pool = pending.active.job, simulation.pool
        assert isinstance(pool, NodePool), "a site's nodes are told apart"
        if pending.partition.exclusive:
            held = pool.take_whole(job.devices, job.kinds, among=among)
        else:
            held = pool.take(job.devices, job.kinds, among=among)
        if held is None:
            return False
        simulation.hold(pending.active, held)
        self._queue.remove(pending)
        self._running[pending.active.rank] = pending
        self._rules.usage.change(pending.user, self._rules.billing(pending), simulation.now)
        return True

    def _gone(self, rank: int, simulation: Simulation) -> Pending:
        """A job holds nothing any more."""
        pending = self._running.pop(rank)
        self._rules.usage.change(pending.user, -self._rules.billing(pending), simulation.now)
        return pending

    def _preempt(self, pending: Pending, among: int, simulation: Simulation) -> bool:
        """Stop others for a job, and start it."""
        rules = self._site.preempt
        if rules.by is PreemptBy.NOBODY:
            return False
        now, pool = simulation.now, simulation.pool
        assert isinstance(pool, NodePool), "a site's nodes are told apart"
        may = [each for each in self._running.values() if may_preempt(pending, each, rules)]
        ripe = [each for each in may if exempt_until(each, rules) <= now]
        for each in may:
            if exempt_until(each, rules) > now:
                self._wake(exempt_until(each, rules), simulation)
        stopped = victims(pending, ripe, pool, rules=rules)
        for victim in stopped:
            if mode_of(victim, rules) is PreemptMode.CANCEL:
                simulation.kill(victim.active)
            else:
                self._gone(victim.active.rank, simulation)
                simulation.stop(victim.active, done=0.0)
                self._queue.add(Pending(victim.active, self._rules, submitted=now))
        return bool(stopped) and self._start(pending, among, simulation)

    def _cycle(self, simulation: Simulation, backfill: BackfillRules) -> tuple[Cycle, SlotMap]:
        """A cycle before its first job."""
        pool, now = simulation.pool, simulation.now
        assert isinstance(pool, NodePool), "a site's nodes are told apart"
        free = {node: left for room in pool.rooms for node, left in room.free.items()}
        running = (
            # Who is beyond its limit is about to end.
            RunningJob(max(each.active.charged + each.limit, now + 1.0), each.active)
            for each in self._running.values()
        )
        slots = SlotMap(free, self._sizes, running)
        return Cycle(slots, backfill, closed=self._site.closed), slots

    def _fill(
        self, begun: tuple[Cycle, SlotMap], simulation: Simulation, backfill: BackfillRules
    ) -> None:
        """Start those whose slot is now.

        Nobody behind the last who finds room is looked at: slots are for those behind them.
        """
        cycle, slots = begun
        now, pool = simulation.now, simulation.pool
        assert isinstance(pool, NodePool), "a site's nodes are told apart"
        line = self._queue.first(now, backfill.depth)
        roomy = self._queue.roomy(pool)
        fits = [need_of(pending) in roomy for pending in line]
        last = max((place for place, each in enumerate(fits) if each), default=-1)
        for pending, may_start in zip(line[: last + 1], fits, strict=False):
            active = pending.active
            if not simulation.limits.allow(active, active.job.devices):
                continue
            slot = cycle.look(pending, now, may_start=may_start)
            if slot is None or slot.start > now:
                continue
            if self._start(pending, set_of(slot.nodes), simulation):
                slots.start(active, now + pending.limit)
            else:
                cycle.keep(pending, slot, now)

    def _look_again(self, simulation: Simulation) -> None:
        """Wake where time alone may let somebody start: other priorities, nodes that open."""
        now, weights = simulation.now, self._site.priority
        for when in self._moments(now):
            self._wake(when, simulation)
        if weights.any:
            self._wake((now // weights.period + 1) * weights.period, simulation)

    def _moments(self, now: float) -> Iterator[float]:
        return (each.end for each in self._site.closed if each.start <= now < each.end)

    def _wake(self, when: float, simulation: Simulation) -> None:
        if when not in self._woken:
            self._woken.add(when)
            simulation.wake(when)
