"""Capacity over time: nodes that fail, that are known to be out, and that come and leave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from math import exp, fsum, inf, log1p, sqrt
from typing import TYPE_CHECKING

from foretrain.cluster.mixed import Autoscaling, NodeFailures, Outage
from foretrain.jobs.active import Active
from foretrain.jobs.nodes import NodePool, nodes_of
from foretrain.jobs.outcomes import ROUNDING, Outcomes
from foretrain.jobs.simulation import Dispatcher, Simulation
from foretrain.measured.job import Trace

if TYPE_CHECKING:
    from numpy.random import Generator


def lose_node(
    active: Active, dispatcher: Dispatcher, simulation: Simulation, *, checkpoint: float
) -> float:
    """A job loses a node: to the policy it leaves, and comes again with the work it has saved.

    Args:
        active: the job, which runs.
        dispatcher: that is told.
        simulation: that it runs in.
        checkpoint: seconds of work after which it has saved its state; 0 where all is saved.

    Returns:
        Device-seconds of work that must be done again.
    """
    held = active.held
    assert held is not None, f"{active.job.name} holds nothing"
    worked = max(0.0, simulation.now - active.since)
    undone = worked % checkpoint if checkpoint else 0.0
    kept = active.done_at(simulation.now) - undone * active.rate
    simulation.stop(active, done=max(0.0, kept), forced=True)
    active.left = None
    dispatcher.leave(active, simulation)
    dispatcher.arrive(active, simulation)
    return undone * held.devices


class Failures:
    """Lets nodes fail under a dispatcher, from the first arrival to the last end.

    To the policy a job whose node fails leaves, and comes again with the work that it has saved.

    Attributes:
        count: failures so far.
        lost: device-seconds of work that had to be done again.
    """

    def __init__(
        self, dispatcher: Dispatcher, pool: NodePool, *, failing: NodeFailures, random: Generator
    ) -> None:
        self.count = 0
        self.lost = 0.0
        self._dispatcher = dispatcher
        self._pool = pool
        self._failing = failing
        self._random = random
        self._there: dict[int, Active] = {}
        self._events: dict[int, int] = {}
        self._down: set[int] = set()

    def arrive(self, active: Active, simulation: Simulation) -> None:
        """A job has come; with the first one, nodes begin to fail."""
        if not self._there:
            for node in sorted(set(range(self._pool.count)) - self._down):
                self._expect(node, simulation)
        self._there[active.rank] = active
        self._dispatcher.arrive(active, simulation)

    def leave(self, active: Active, simulation: Simulation) -> None:
        """A job has ended; while none is there, failures do not matter and are not drawn."""
        del self._there[active.rank]
        self._dispatcher.leave(active, simulation)
        if not self._there:
            for event in self._events.values():
                simulation.cancel(event)
            self._events.clear()

    def decide(self, simulation: Simulation) -> None:
        """Let the dispatcher decide."""
        self._dispatcher.decide(simulation)

    def _expect(self, node: int, simulation: Simulation) -> None:
        lasts = float(self._random.exponential(self._failing.between))
        self._events[node] = simulation.at(
            simulation.now + lasts, partial(self._fail, node, simulation)
        )

    def _fail(self, node: int, simulation: Simulation) -> None:
        """A node fails; so do the jobs on it."""
        del self._events[node]
        if not self._pool.there(node):
            self._expect(node, simulation)  # it has left, and does not fail
            return
        self._down.add(node)
        self.count += 1
        for active in tuple(self._there.values()):
            held = active.held
            if held is None or all(place != node for place, _ in held.places):
                continue
            self.lost += lose_node(
                active, self._dispatcher, simulation, checkpoint=self._failing.checkpoint
            )
        self._pool.close(node)
        simulation.at(
            simulation.now + self._failing.repair, partial(self._repair, node, simulation)
        )

    def _repair(self, node: int, simulation: Simulation) -> None:
        self._pool.open(node)
        self._down.remove(node)
        if self._there:
            self._expect(node, simulation)


class Outages:
    """The stage that takes nodes out and puts them back, at times that are known.

    Attributes:
        lost: device-seconds of work that had to be done again.
    """

    def __init__(
        self, dispatcher: Dispatcher, pool: NodePool, *, outages: Sequence[Outage]
    ) -> None:
        """All nodes are there."""
        self.lost = 0.0
        self._dispatcher = dispatcher
        self._pool = pool
        self._outages = tuple(outages)
        self._there: dict[int, Active] = {}
        self._out: Counter[int] = Counter()
        self._begun = False

    def arrive(self, active: Active, simulation: Simulation) -> None:
        """A job has come; the first one finds nodes out that are."""
        if not self._begun:
            self._begun = True
            for each in self._outages:
                self._expect(each, simulation)
        self._there[active.rank] = active
        self._dispatcher.arrive(active, simulation)

    def leave(self, active: Active, simulation: Simulation) -> None:
        """A job has ended."""
        del self._there[active.rank]
        self._dispatcher.leave(active, simulation)

    def decide(self, simulation: Simulation) -> None:
        """Let the dispatcher decide."""
        self._dispatcher.decide(simulation)

    def _expect(self, outage: Outage, simulation: Simulation) -> None:
        now = simulation.now
        if outage.end <= now:
            return
        nodes = {
            node
            for first, last in outage.nodes
            for node in range(first, min(last, self._pool.count - 1) + 1)
        }
        for when, action in (
            (outage.start - outage.notice, self._drain),
            (outage.start, partial(self._end_jobs, outage)),
            (outage.end, self._open),
        ):
            if when <= now:
                action(nodes, simulation)
            elif when < inf:
                simulation.at(when, partial(action, nodes, simulation))

    def _drain(self, nodes: set[int], simulation: Simulation) -> None:
        for node in sorted(nodes):
            if not self._out[node]:
                self._pool.drain(node)
            self._out[node] += 1

    def _end_jobs(self, outage: Outage, nodes: set[int], simulation: Simulation) -> None:
        """Whoever is still on the nodes loses them."""
        if outage.lets_end:
            return
        for active in tuple(self._there.values()):
            held = active.held
            if held is not None and any(node in nodes for node, _ in held.places):
                self.lost += lose_node(
                    active, self._dispatcher, simulation, checkpoint=outage.checkpoint
                )

    def _open(self, nodes: set[int], simulation: Simulation) -> None:
        for node in sorted(nodes):
            self._out[node] -= 1
            if not self._out[node]:
                self._pool.open(node)


class Autoscaler:
    """The stage that asks for nodes when jobs wait for them, and lets idle ones go.

    It asks for as many as the jobs that wait would fit on, the first to come first, beside what is
    free and on its way; for none of a job that would not fit on all, or is kept by a limit.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        pool: NodePool,
        *,
        scaling: Autoscaling,
        random: Generator | None,
    ) -> None:
        """All nodes are there."""
        self._dispatcher, self._pool = dispatcher, pool
        self._scaling, self._random = scaling, random
        self._jobs: dict[int, Active] = {}
        self._absent, self._coming = set[int](), set[int]()
        self._idle, self._bits = dict[int, float](), [0 for _ in pool.rooms]
        self._seen: tuple[float, int] | None = None
        self._happened = 0
        self._scanning = self._leaving = False
        self._rented = {room.group.kind: room.group.count for room in pool.rooms}
        self._rent = dict.fromkeys(self._rented, 0.0)
        self._came, self._since = -inf, 0.0
        self._until = dict(self._rent)

    def begin(self, trace: Trace) -> None:
        """Only those nodes are there that always are; all, where a log begins with jobs."""
        self._since = trace.jobs[0].arrival
        for room in self._pool.rooms if not trace.opened else ():
            for node in range(room.first + self._scaling.least, room.first + room.group.count):
                self._lets_go(node)

    def rented(self, outcomes: Outcomes) -> Mapping[str, float]:
        """Device-seconds of each kind that were rented until the last job left."""
        rented, held = fsum(self._until.values()), fsum(outcomes.attained)
        assert rented >= held * (1.0 - ROUNDING), "more was held than was there"
        return self._until

    def arrive(self, active: Active, simulation: Simulation) -> None:
        """A job has come, or comes again after a failure."""
        self._happened += 1
        self._jobs[active.rank] = active
        self._dispatcher.arrive(active, simulation)

    def leave(self, active: Active, simulation: Simulation) -> None:
        """A job has ended."""
        self._happened += 1
        del self._jobs[active.rank]
        if not self._jobs:
            self._pay(simulation.now)
            self._until = dict(self._rent)
        self._dispatcher.leave(active, simulation)

    def decide(self, simulation: Simulation) -> None:
        """Let the dispatcher decide; then see who waits, and who is idle."""
        self._dispatcher.decide(simulation)
        # Somebody looks again who waits once this has changed.
        seen, may_come = (self._pool.free(()), self._happened), self._absent - self._coming
        changed = not self._scanning and seen != self._seen and may_come
        if changed and any(active.held is None for active in self._jobs.values()):
            self._scanning = True
            simulation.at(simulation.now + self._scaling.scan, partial(self._scan, simulation))
        self._note_idle(simulation.now)
        kinds = set() if self._leaving or self._coming else self._more_than_least()
        idle = [since for node, since in self._idle.items() if kinds and self._kind(node) in kinds]
        if idle:
            self._leaving = True
            simulation.at(self._earliest(min(idle)), partial(self._let_go, simulation))

    def _scan(self, simulation: Simulation) -> None:
        """Ask for the nodes that jobs wait for."""
        self._scanning, self._seen = False, (self._pool.free(()), self._happened)
        self._pay(simulation.now)
        jobs = [active for _, active in sorted(self._jobs.items())]
        waiting = (each for each in simulation.limits.together(jobs) if each.held is None)
        for node in self._needed(waiting):
            self._coming.add(node)
            self._rented[self._kind(node)] += 1
            boots, most = self._boots(), self._scaling.give_up
            action = self._come if boots <= most else self._give_up
            simulation.at(simulation.now + min(boots, most), partial(action, node, simulation))

    def _needed(self, waiting: Iterable[Active]) -> Sequence[int]:
        """Nodes that are not there and on which jobs would fit that wait."""
        pool, spare = self._pool.copy(), sorted(self._absent - self._coming)
        for node in self._coming:
            pool.open(node)
        asked: list[int] = []
        hopeless: set[tuple[int, tuple[str, ...]]] = set()
        for active in waiting:
            devices, kinds = active.job.devices, active.job.kinds
            opened: list[int] = []
            able = [node for node in spare if not kinds or self._kind(node) in kinds]
            while able and (devices, kinds) not in hopeless and not pool.has(devices, kinds):
                opened.append(able.pop(0))
                pool.open(opened[-1])
            if pool.take(devices, kinds) is not None:
                asked += opened
                spare = [node for node in spare if node not in opened]
            else:
                hopeless.add((devices, kinds))
                for node in opened:
                    pool.close(node)
        return asked

    def _boots(self) -> float:
        """Seconds until a node that is asked for is there."""
        mean, varies = self._scaling.boot, self._scaling.varies
        if not varies:
            return mean
        assert self._random is not None, "boots that vary need a random generator"
        spread = sqrt(log1p(varies**2))
        return mean * exp(spread * float(self._random.standard_normal()) - 0.5 * spread**2)

    def _come(self, node: int, simulation: Simulation) -> None:
        self._coming.remove(node)
        self._absent.remove(node)
        self._came, self._happened = simulation.now, self._happened + 1
        self._pool.open(node)

    def _give_up(self, node: int, simulation: Simulation) -> None:
        self._came, self._happened = simulation.now, self._happened + 1
        self._pay(simulation.now)
        self._coming.remove(node)
        self._rented[self._kind(node)] -= 1

    def _note_idle(self, now: float) -> None:
        """Which nodes nobody uses, and since when."""
        for place, room in enumerate(self._pool.rooms):
            before, idle = self._bits[place], room.by_free[-1]
            self._bits[place] = idle
            for node in nodes_of(before & ~idle):
                del self._idle[node]
            for node in nodes_of(idle & ~before):
                self._idle[node] = now

    def _more_than_least(self) -> set[str]:
        """Kinds of which more nodes are there than always are."""
        there = Counter(self._rented)
        there.subtract(map(self._kind, self._coming))
        return {kind for kind, count in there.items() if count > self._scaling.least}

    def _earliest(self, since: float) -> float:
        """When a node may leave that is idle since a moment."""
        return max(since + self._scaling.idle, self._came + self._scaling.after_add)

    def _let_go(self, simulation: Simulation) -> None:
        """Idle nodes leave, the last first."""
        self._leaving = False
        self._pay(simulation.now)
        # Who waits for several nodes needs those that are there until the last has come.
        for node in sorted(self._idle, reverse=True) if not self._coming else ():
            over = self._earliest(self._idle[node]) <= simulation.now
            if over and self._kind(node) in self._more_than_least():
                self._lets_go(node)

    def _lets_go(self, node: int) -> None:
        self._happened += 1
        self._pool.close(node)
        self._absent.add(node)
        self._rented[self._kind(node)] -= 1

    def _pay(self, now: float) -> None:
        """Rent until now."""
        for room in self._pool.rooms:
            kind, lasted = room.group.kind, now - self._since
            self._rent[kind] += lasted * self._rented[kind] * room.group.devices
        self._since = now

    def _kind(self, node: int) -> str:
        return self._pool.home(node).group.kind
