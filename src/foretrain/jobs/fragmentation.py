"""Fragmentation: free devices that nobody who waits can use, and jobs that span nodes."""

from __future__ import annotations

from math import ceil

from foretrain.jobs.active import Active
from foretrain.jobs.nodes import NodePool, Room
from foretrain.jobs.simulation import Dispatcher, Simulation


class Fragmentation:
    """Notes, after each decision of a dispatcher, how badly free and held devices lie.

    Attributes:
        free: device-seconds that nobody held while jobs waited.
        stranded: of these, on nodes with fewer free devices than any job needs that waits.
        held: device-seconds that jobs held.
        spanning: of these, by jobs on more nodes than they need.
    """

    def __init__(self, dispatcher: Dispatcher, pool: NodePool) -> None:
        self.free = self.stranded = self.held = self.spanning = 0.0
        self._dispatcher = dispatcher
        self._pool = pool
        self._there: dict[int, Active] = {}
        self._since = 0.0
        self._rates = (0.0, 0.0, 0.0, 0.0)

    @property
    def stranded_share(self) -> float:
        """Share of free devices that no job that waits can use, over time."""
        return self.stranded / self.free if self.free else 0.0

    @property
    def spanning_share(self) -> float:
        """Share of held devices that belong to a job on more nodes than it needs, over time."""
        return self.spanning / self.held if self.held else 0.0

    def arrive(self, active: Active, simulation: Simulation) -> None:
        """A job has come."""
        self._there[active.rank] = active
        self._dispatcher.arrive(active, simulation)

    def leave(self, active: Active, simulation: Simulation) -> None:
        """A job has ended."""
        del self._there[active.rank]
        self._dispatcher.leave(active, simulation)

    def decide(self, simulation: Simulation) -> None:
        """Let the dispatcher decide, and note what comes of it."""
        lasted, self._since = simulation.now - self._since, simulation.now
        sums = (self.free, self.stranded, self.held, self.spanning)
        self.free, self.stranded, self.held, self.spanning = (
            total + rate * lasted for total, rate in zip(sums, self._rates, strict=True)
        )
        self._dispatcher.decide(simulation)
        needs = [each.job.devices for each in self._there.values() if each.held is None]
        held = [each.held for each in self._there.values() if each.held is not None]
        sizes = {room.group.kind: room.group.devices for room in self._pool.rooms}
        self._rates = (
            self._pool.free(()) if needs else 0.0,
            sum(stranded(room, min(needs)) for room in self._pool.rooms) if needs else 0.0,
            sum(each.devices for each in held),
            sum(
                each.devices for each in held if each.nodes > ceil(each.devices / sizes[each.kind])
            ),
        )


def stranded(room: Room, need: int) -> int:
    """Free devices on nodes with fewer than a job needs, or than a node has if it needs more."""
    least = min(need, room.group.devices)
    return sum(free * len(nodes) for free, nodes in enumerate(room.by_free[:least]))
