"""Slurm's scheduler: two loops over one queue.

The main loop looks at the first jobs whenever something has happened: whoever does not fit keeps
all nodes of its partition from those behind it, but for jobs that a limit or a reservation of nodes
keeps from starting, which stand in nobody's way. Every interval a cycle of backfilling plans a slot
for each job and starts those whose slot is now.

Preemption: which jobs are stopped for one that finds no room.

Source: slurm, src/slurmctld/job_scheduler.c, src/plugins/select/cons_tres/job_test.c and the
documentation of preemption; re-implemented from the rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil

from foretrain.cluster.mixed import Fleet
from foretrain.jobs.active import Active
from foretrain.jobs.limits import Claim
from foretrain.jobs.nodes import NodePool
from foretrain.jobs.simulation import Simulation
from foretrain.jobs.slurm_horizon import Horizon, SwitchTree, under_switches
from foretrain.jobs.slurm_plan import Cycle, SlotMap
from foretrain.jobs.slurm_queue import Pending, Queue, Rulebook
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
    if rules.mode_of(victim.qos) is PreemptMode.OFF or not victim.active.job.preemptible:
        return False
    if rules.by is PreemptBy.TIER:
        return pending.partition.tier > victim.partition.tier
    return rules.by is PreemptBy.QOS and victim.qos.name in pending.qos.preempts


def victims(
    pending: Pending,
    candidates: Iterable[Pending],
    pool: NodePool,
    *,
    rules: PreemptRules,
    tree: SwitchTree | None = None,
) -> Sequence[Pending]:
    """Who is stopped so that a job finds room; nobody where that is no use.

    Args:
        pending: the job.
        candidates: running jobs that may be stopped now.
        pool: of all devices.
        rules: of the site.
        tree: of switches; None where all nodes are alike.

    Jobs of the lowest quality of service are stopped first, of those the ones on the fewest nodes,
    until the job fits. Then the one that decided goes first, the others by how many of the chosen
    nodes they hold, and it is tried again.
    """
    order = sorted(candidates, key=lambda each: _rank(each, rules))
    found, nodes = _until_it_fits(pending, order, pool, tree=tree)
    for _ in range(rules.reorders if found else 0):
        last, chosen = found[-1], nodes
        others = [each for each in order if each is not last]
        others.sort(key=lambda each: -len(_nodes(each) & chosen))
        order = [last, *others]
        again, nodes = _until_it_fits(pending, order, pool, tree=tree)
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
    pending: Pending, order: Sequence[Pending], pool: NodePool, *, tree: SwitchTree | None
) -> tuple[list[Pending], set[int]]:
    """The first jobs of an order that must go, and the nodes on which the other then lies."""
    trial, gone, job = pool.copy(), list[Pending](), pending.active.job
    for victim in order:
        assert victim.active.held is not None, "who is stopped runs"
        trial.give(victim.active.held)
        gone.append(victim)
        if trial.has(job.devices, job.kinds, among=pending.nodes):
            among = pending.nodes
            among = under_switches(tree, trial, pending, among=among) if tree else among
            held = trial.take(job.devices, job.kinds, among=among) if among else None
            if held is not None:
                return gone, {node for node, _ in held.places}
    return [], set()


def nodes_of_site(simulation: Simulation) -> NodePool:
    """The devices of a site."""
    assert isinstance(simulation.pool, NodePool), "a site's nodes are told apart"
    return simulation.pool


ROUNDING = 1e-9
"""Share of an interval by which a time may miss its grid."""


class SlurmDispatcher:
    """Starts jobs as Slurm does under a site's rules."""

    def __init__(self, site: SiteRules, fleet: Fleet) -> None:
        """Nobody waits or runs."""
        self._site = site
        self._rules = Rulebook(site, fleet)
        self._tree = SwitchTree(site.switches, self._rules.count) if site.switches else None
        self._horizon = Horizon(fleet)
        self._queue = Queue(self._rules)
        self._running: dict[int, Pending] = {}
        self._woken: set[float] = set()
        self._suspended: list[tuple[Pending, Claim]] = []

    def arrive(self, active: Active, simulation: Simulation) -> None:
        """A job has come, or comes again after it lost its node."""
        since = active.eligible if active.begun is None else simulation.now
        self._wait(active, simulation, since)

    def _wait(self, active: Active, simulation: Simulation, since: float) -> None:
        lane = simulation.limits.lane(active.job)
        self._queue.add(Pending(active, self._rules, submitted=since, lane=lane))

    def leave(self, active: Active, simulation: Simulation) -> None:
        """A job has ended, or lost its node."""
        self._gone(active.rank, simulation)

    def decide(self, simulation: Simulation) -> None:
        """The main loop, and a cycle of backfilling if one is due."""
        now, pool = simulation.now, nodes_of_site(simulation)
        self._woken.discard(now)
        if self._suspended:
            self._resume(simulation)
        preempts = self._site.preempt.by is not PreemptBy.NOBODY
        if not len(self._queue) or not (preempts or self._queue.fits(pool, simulation.limits)):
            return
        self._main(simulation)
        if not len(self._queue):
            return
        # Who finds room now is kept by the order or closed nodes: time may change that.
        if self._queue.fits(pool, simulation.limits):
            if self._site.backfill is not None:
                self._backfill(simulation, self._site.backfill)
            self._look_again(simulation)

    def before(self, active: Active, now: float) -> Sequence[Active]:
        """Jobs that wait before another for nodes that it could use.

        Args:
            active: that waits.
            now: seconds since the trace began.
        """
        found: list[Pending] = []
        for pending in self._queue.first(now):
            if pending.active is active:
                return [each.active for each in found if each.nodes & pending.nodes]
            found.append(pending)
        return []

    def shut_out(self, active: Active, simulation: Simulation) -> bool:
        """Whether a job would find room if no node were down or kept free.

        Args:
            active: that waits.
            simulation: at the moment that is asked about.
        """
        now, pool, job = simulation.now, nodes_of_site(simulation), active.job
        mine = next((each for each in self._queue.first(now) if each.active is active), None)
        if mine is None:
            return False
        there = mine.nodes & ~self._closed(now, now + mine.limit)
        if pool.has(job.devices, job.kinds, among=there):
            return False
        down = any(pool.down.values()) and pool.free(()) + sum(pool.down.values()) >= job.devices
        return down or pool.has(job.devices, job.kinds, among=mine.nodes)

    def _backfill(self, simulation: Simulation, rules: BackfillRules) -> None:
        """A cycle of backfilling, if one is due."""
        now = simulation.now
        due = ceil(now / rules.interval * (1.0 - ROUNDING)) * rules.interval
        if due > now:
            self._wake(due, simulation)
        elif self._fill(self._cycle(simulation, rules), simulation, rules):
            # Others have moved up among those that a cycle looks at.
            self._wake(due + rules.interval, simulation)

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
        now, taken, preempts = simulation.now, 0, self._site.preempt.by is not PreemptBy.NOBODY
        for pending in self._queue.first(now, self._site.depth + 1):
            left = pending.nodes & ~taken
            if not left:
                continue
            if not simulation.limits.open(pending.lane, pending.active.job.devices):
                continue
            open_nodes = left & ~self._closed(now, now + pending.limit)
            if self._start(pending, open_nodes, simulation) or (
                preempts and self._make_room(pending, open_nodes, simulation)
            ):
                continue
            if open_nodes == left:  # else a reservation of nodes keeps it
                taken |= pending.nodes
        if self._suspended:
            self._resume(simulation)  # whoever was suspended for one who then found no room

    def _closed(self, start: float, end: float) -> int:
        """Nodes that are kept free at some time between."""
        nodes = 0
        for each in self._site.closed:
            if each.start < end and each.end > start:
                nodes |= node_set(each.nodes, self._rules.count)
        return nodes

    def _start(self, pending: Pending, among: int, simulation: Simulation) -> bool:
        """Start a job on some nodes if it fits there."""
        job, pool = pending.active.job, nodes_of_site(simulation)
        if self._tree is not None:
            among = self._under_switches(self._tree, pending, among=among, simulation=simulation)
        take = pool.take_whole if pending.partition.exclusive else pool.take
        held = take(job.devices, job.kinds, among=among) if among else None
        if held is None:
            return False
        simulation.hold(pending.active, held)
        self._queue.remove(pending)
        self._begin(pending, simulation)
        return True

    def _begin(self, pending: Pending, simulation: Simulation) -> None:
        """A job holds devices from now on."""
        active, now = pending.active, simulation.now
        self._running[active.rank] = pending
        ends = now + pending.limit - (active.running - active.anew)
        self._horizon.hold(active.rank, active.held, ends)
        self._rules.usage.change(pending.user, self._rules.billing(pending), now)

    def _under_switches(
        self, tree: SwitchTree, pending: Pending, *, among: int, simulation: Simulation
    ) -> int:
        """The nodes on which switches let a job start now; 0 for none, or none that it takes."""
        pool, wish = nodes_of_site(simulation), pending.wish
        found = under_switches(tree, pool, pending, among=among)
        if found and wish and tree.spans(found) > wish.most and simulation.now < wish.until:
            self._wake(wish.until, simulation)
            return 0
        return found

    def _gone(self, rank: int, simulation: Simulation) -> None:
        """A job holds nothing any more."""
        pending = self._running.pop(rank)
        self._horizon.leave(rank)
        self._rules.usage.change(pending.user, -self._rules.billing(pending), simulation.now)

    def _make_room(self, pending: Pending, among: int, simulation: Simulation) -> bool:
        """Start a job on what those keep whom it preempts, or stop others for it."""
        rules, pool = self._site.preempt, nodes_of_site(simulation)
        for victim, claim in self._suspended:
            if may_preempt(pending, victim, rules):
                claim.lend(pool)
        found = self._start(pending, among, simulation) or self._preempt(pending, among, simulation)
        for _, claim in self._suspended[::-1]:
            claim.keep(pool)
        return found

    def _resume(self, simulation: Simulation) -> None:
        """Let who was suspended last go on first, where it can; others keep what is free."""
        pool, now = nodes_of_site(simulation), simulation.now
        for each in self._suspended:
            each[1].lend(pool)
        for each in self._suspended[::-1]:
            pending, claim = each
            rank = pending.active.rank
            self._horizon.leave(rank)
            if claim.keep(pool):
                self._suspended.remove(each)
                simulation.resume(pending.active, claim.whole)
                self._begin(pending, simulation)
            else:
                ends = now + pending.limit - (pending.active.running - pending.active.anew)
                self._horizon.hold(rank, claim.kept, ends)

    def _preempt(self, pending: Pending, among: int, simulation: Simulation) -> bool:
        """Stop others for a job, and start it."""
        rules = self._site.preempt
        now, pool = simulation.now, nodes_of_site(simulation)
        may = [each for each in self._running.values() if may_preempt(pending, each, rules)]
        until = {each: each.active.charged + rules.exempt_of(each.qos) for each in may}
        ripe = [each for each in may if until[each] <= now]
        for each in may:
            if until[each] > now:
                self._wake(until[each], simulation)
        stopped = victims(pending, ripe, pool, rules=rules, tree=self._tree)
        for victim in stopped:
            mode, active = rules.mode_of(victim.qos), victim.active
            if mode is PreemptMode.CANCEL:
                simulation.kill(active)
                continue
            self._gone(active.rank, simulation)
            if mode is PreemptMode.SUSPEND and active.held is not None:
                self._suspended.append((victim, Claim(active.held)))
                self._horizon.hold(active.rank, None, now)
                simulation.stop(active, suspended=True)
            else:
                simulation.stop(active, done=0.0)
                self._wait(active, simulation, now)
        return bool(stopped) and self._start(pending, among, simulation)

    def _cycle(self, simulation: Simulation, backfill: BackfillRules) -> tuple[Cycle, SlotMap]:
        """A cycle before its first job."""
        self._horizon.see(nodes_of_site(simulation).rooms)
        now, closed = simulation.now, self._site.closed
        slots = SlotMap(self._horizon, closed, now=now, tree=self._tree)
        return Cycle(slots, backfill), slots

    def _fill(
        self, begun: tuple[Cycle, SlotMap], simulation: Simulation, backfill: BackfillRules
    ) -> bool:
        """Start those whose slot is now; whether any was.

        Nobody behind the last who may start is looked at: slots are for those behind them.
        """
        cycle, slots = begun
        found = False
        now, pool = simulation.now, nodes_of_site(simulation)
        line = self._queue.first(now, backfill.depth)
        roomy = self._queue.roomy(pool)
        fits = [pending.need in roomy for pending in line]
        hopeful = [place for place, each in enumerate(fits) if each]
        for place, pending in enumerate(line):
            while hopeful and not slots.may_start(line[hopeful[-1]]):
                hopeful.pop()
            if not hopeful or place > hopeful[-1]:
                break
            active = pending.active
            if not simulation.limits.open(pending.lane, active.job.devices):
                continue
            slot = cycle.look(pending, now, may_start=fits[place])
            if slot is None or slot.start > now:
                continue
            if self._start(pending, sum(1 << node for node in slot.nodes), simulation):
                found = True
                self._horizon.see(pool.rooms)
                slots.refresh()
            else:
                cycle.keep(pending, slot, now)
        return found

    def _look_again(self, simulation: Simulation) -> None:
        """Wake where time alone may let somebody start: other priorities, nodes that open."""
        now, weights = simulation.now, self._site.priority
        for each in self._site.closed:
            if now < each.end:
                self._wake(each.end, simulation)
        if weights.any:
            self._wake((now // weights.period + 1) * weights.period, simulation)

    def _wake(self, when: float, simulation: Simulation) -> None:
        if when not in self._woken:
            self._woken.add(when)
            simulation.wake(when)
