"""What becomes of nodes: devices that lie stranded, and nodes that fail or go.

Fragmentation: free devices that nobody who waits can use, and jobs that span nodes.

Capacity over time: nodes that are known to be drained, to fail together, or to come later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from math import ceil, inf

from foretrain.cluster.mixed import Outage
from foretrain.jobs.active import Active, HeldDevices
from foretrain.jobs.nodes import NodePool, NodeRoom
from foretrain.jobs.simulation import Dispatcher, Simulation


class Fragmentation:
    """An observer that notes how badly free and held devices lie.

    Attributes:
        free: device-seconds that nobody held while jobs waited.
        stranded: of these, on nodes with fewer free devices than any job needs that waits.
        held: device-seconds that jobs held.
        spanning: of these, by jobs on more nodes than they need.

    It looks once for every instant, at what that left behind, and counts what changes in it.
    """

    def __init__(self, pool: NodePool) -> None:
        self.free = self.stranded = self.held = self.spanning = 0.0
        self._pool = pool
        self._sizes = {room.group.kind: room.group.devices for room in pool.rooms}
        self._needs: Counter[int] = Counter()
        self._waiting = 0
        self._holds = self._spans = 0.0
        self._since = 0.0

    @property
    def stranded_share(self) -> float:
        """Share of free devices that no job that waits can use, over time."""
        return self.stranded / self.free if self.free else 0.0

    @property
    def spanning_share(self) -> float:
        """Share of held devices that belong to a job on more nodes than it needs, over time."""
        return self.spanning / self.held if self.held else 0.0

    def come(self, now: float, active: Active) -> None:
        """A job has come, and waits."""
        if now > self._since:
            self._look(now)
        self._waiting += 1
        self._needs[active.job.devices] += 1

    def hold(self, now: float, active: Active) -> None:
        """A job has got devices."""
        if now > self._since:
            self._look(now)
        held = active.held
        assert held is not None, "who holds devices holds some"
        self._waiting -= 1
        self._needs[active.job.devices] -= 1
        self._holds += held.devices
        self._spans += held.devices * self._is_spread(held)

    def give(self, now: float, active: Active) -> None:
        """A job is about to give its devices back, and may wait again."""
        if now > self._since:
            self._look(now)
        held = active.held
        assert held is not None, "who gives devices back has some"
        self._waiting += 1
        self._needs[active.job.devices] += 1
        self._holds -= held.devices
        self._spans -= held.devices * self._is_spread(held)

    def end(self, now: float, active: Active) -> None:
        """A job has ended, and waits for nothing."""
        self._waiting -= 1
        self._needs[active.job.devices] -= 1

    def _look(self, now: float) -> None:
        """Before the first change of an instant: what has been since the last one."""
        lasted, self._since = now - self._since, now
        self.held += self._holds * lasted
        self.spanning += self._spans * lasted
        if self._waiting:
            self.free += self._pool.free(()) * lasted
            # A job of one device can use any of them.
            if not self._needs.get(1):
                least = min(need for need, jobs in self._needs.items() if jobs > 0)
                self.stranded += sum(stranded(room, least) for room in self._pool.rooms) * lasted

    def _is_spread(self, held: HeldDevices) -> bool:
        return held.nodes > ceil(held.devices / self._sizes[held.kind])


def stranded(room: NodeRoom, need: int) -> int:
    """Free devices on nodes with fewer than a job needs, or than a node has if it needs more."""
    least = min(need, room.group.devices)
    return sum(free * alike.bit_count() for free, alike in enumerate(room.by_free[:least]))


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
