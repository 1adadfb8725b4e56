"""Fragmentation: free devices that nobody who waits can use, and jobs that span nodes."""

from __future__ import annotations

from collections import Counter
from math import ceil

from foretrain.jobs.active import Active, HeldDevices
from foretrain.jobs.nodes import NodePool, NodeRoom


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
            least = min(need for need, jobs in self._needs.items() if jobs > 0)
            self.free += self._pool.free(()) * lasted
            self.stranded += sum(stranded(room, least) for room in self._pool.rooms) * lasted

    def _is_spread(self, held: HeldDevices) -> bool:
        return held.nodes > ceil(held.devices / self._sizes[held.kind])


def stranded(room: NodeRoom, need: int) -> int:
    """Free devices on nodes with fewer than a job needs, or than a node has if it needs more."""
    least = min(need, room.group.devices)
    return sum(free * alike.bit_count() for free, alike in enumerate(room.by_free[:least]))
