"""Capacity over time: nodes that are known to be drained, to fail together, or to come later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from math import inf

from foretrain.cluster.mixed import Outage
from foretrain.jobs.active import Active
from foretrain.jobs.nodes import NodePool
from foretrain.jobs.simulation import Dispatcher, Simulation


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
