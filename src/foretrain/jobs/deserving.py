"""Queues that deserve parts of a cluster: Volcano's proportion, and KAI's fair share.

A queue may start jobs as far as they leave it within what it deserves; the queue that has least of
it is first, and in it who came first. Nobody is stopped: reclaiming is off, as it is by default in
Volcano.

Source: volcano, pkg/scheduler/plugins/proportion/proportion.go; KAI-Scheduler, its queue order.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Mapping, Sequence

from foretrain.cluster.mixed import Fleet
from foretrain.errors import InputError
from foretrain.jobs.active import Active
from foretrain.jobs.simulation import Simulation
from foretrain.measured.quota import QuotaQueue

Division = Callable[[Sequence[QuotaQueue], Mapping[str, float], float], Mapping[str, float]]
"""What each queue deserves, from what its jobs ask for and how many devices there are."""

ROUNDING = 1e-9
"""Devices by which what a queue deserves may miss a whole number."""


class DeservingDispatcher:
    """Starts jobs of queues within what these deserve, worked out anew at every decision."""

    def __init__(self, queues: Sequence[QuotaQueue], fleet: Fleet, *, divide: Division) -> None:
        """Nobody waits or runs.

        Args:
            queues: with weights; none for one queue.
            fleet: that they share.
            divide: what each deserves.
        """
        self._queues = queues or (QuotaQueue(name="", devices=float(fleet.devices)),)
        self._devices = float(fleet.devices)
        self._divide = divide
        self._lines: dict[str, list[tuple[int, Active]]] = {each.name: [] for each in self._queues}
        self._held = dict.fromkeys(self._lines, 0.0)

    def arrive(self, active: Active, simulation: Simulation) -> None:
        """A job has come, or comes again after a failure."""
        insort(self._lines[self._name(active)], (active.rank, active))

    def leave(self, active: Active, simulation: Simulation) -> None:
        """A job has ended."""
        self._held[self._name(active)] -= active.job.devices

    def decide(self, simulation: Simulation) -> None:
        """Start the first jobs of the queues that have least of what they deserve."""
        asked = {
            name: self._held[name] + sum(active.job.devices for _, active in line)
            for name, line in self._lines.items()
        }
        there = self._devices - sum(simulation.pool.down.values())
        deserved = self._divide(self._queues, asked, there)
        # A job that cannot start is passed, in its queue too: nothing is reserved.
        open_lines = {name: list(line) for name, line in self._lines.items() if line}
        while open_lines:
            name = min(open_lines, key=lambda each: (self._share(each, deserved), each))
            rank, active = open_lines[name].pop(0)
            count = active.job.devices
            within = self._held[name] + count <= deserved[name] + ROUNDING
            if within and simulation.start(active, count, active.job.kinds):
                self._lines[name].remove((rank, active))
                self._held[name] += count
            if not open_lines[name]:
                del open_lines[name]

    def _share(self, name: str, deserved: Mapping[str, float]) -> float:
        return self._held[name] / deserved[name] if deserved[name] else 0.0

    def _name(self, active: Active) -> str:
        group = active.job.group
        if len(self._lines) == 1 and "" in self._lines:
            return ""
        if group not in self._lines:
            raise InputError(
                f"job {active.job.name} was submitted to queue '{group}', which the site has not."
                f" Known: {', '.join(self._lines)}. Add it to site.queues."
            )
        return group
