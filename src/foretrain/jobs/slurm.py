"""Slurm's scheduler: two loops over one queue.

The main loop looks at the first jobs whenever something has happened: whoever does not fit keeps
all nodes of its partition from those behind it, but for jobs that a limit or a reservation of nodes
keeps from starting, which stand in nobody's way. Every interval a cycle of backfilling plans a slot
for each job and starts those whose slot is now.

Source: slurm, src/slurmctld/job_scheduler.c; re-implemented from the rules as its documentation and
code tell them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil

from foretrain.cluster.mixed import Fleet
from foretrain.jobs.active import Active
from foretrain.jobs.limits import Lane
from foretrain.jobs.nodes import NodePool
from foretrain.jobs.simulation import Simulation
from foretrain.jobs.slurm_plan import Cycle, RunningJob, SlotMap, set_of
from foretrain.jobs.slurm_preempt import exempt_until, may_preempt, mode_of, victims
from foretrain.jobs.slurm_queue import Pending, Queue, Rulebook
from foretrain.measured.site import BackfillRules, PreemptBy, PreemptMode, SiteRules, node_set

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
        """Start those whose slot is now."""
        cycle, slots = begun
        now = simulation.now
        for pending in self._queue.first(now, backfill.depth):
            active = pending.active
            if not simulation.limits.allow(active, active.job.devices):
                continue
            slot = cycle.look(pending, now)
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
