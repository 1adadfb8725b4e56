"""Failures of nodes: jobs lose their devices and the work since their last checkpoint."""

from __future__ import annotations

from functools import partial
from math import ceil, expm1, fsum

from numpy.random import Generator

from foretrain.cluster.fleet import Fleet, NodeFailures
from foretrain.errors import InputError
from foretrain.jobs.active import Active
from foretrain.jobs.hazard import pace
from foretrain.jobs.nodes import NodePool
from foretrain.jobs.simulation import Dispatcher, Simulation
from foretrain.measured.job import Job, Trace

MANY = 1e6
"""Failures from which on a simulation is refused: they would take more than a minute."""

LARGEST = 50.0
"""Of failures between two checkpoints: beyond it, their exponential would only overflow."""


def check(trace: Trace, fleet: Fleet, failing: NodeFailures) -> None:
    """Refuse jobs that would hardly ever end.

    Raises:
        InputError: where the nodes of jobs fail too often between two of their checkpoints.
    """
    largest = max(each.devices for each in fleet.nodes)
    found = [(_expected(job, failing, largest), job) for job in trace.jobs]
    total = fsum(failures for failures, _ in found)
    if total > MANY:
        most, worst = max(found, key=lambda each: each[0])
        raise InputError(
            f"the simulation would never end: {total:.2g} failures of nodes are to be expected,"
            f" {most:.2g} of them in job {worst.name} ({worst.devices} devices). Write checkpoints"
            " more often, or let nodes fail less often."
        )


def _expected(job: Job, failing: NodeFailures, largest: int) -> float:
    """Failures that a job meets: until it gets from one checkpoint to the next, exp(x) - 1."""
    seconds = job.ends_after / pace(job)
    between = min(failing.checkpoint, seconds)
    each = ceil(job.devices / largest) * between / failing.between
    return expm1(min(each, LARGEST)) * seconds / between


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
        self._down.add(node)
        self.count += 1
        for active in tuple(self._there.values()):
            held = active.held
            if held is None or all(place != node for place, _ in held.places):
                continue
            # It falls back to what it saved last.
            undone = max(0.0, simulation.now - active.since) % self._failing.checkpoint
            self.lost += undone * held.devices
            kept = active.done_at(simulation.now) - undone * active.rate
            simulation.stop(active, done=max(0.0, kept))
            active.left = None
            self._dispatcher.leave(active, simulation)
            self._dispatcher.arrive(active, simulation)
        self._pool.close(node)
        simulation.at(
            simulation.now + self._failing.repair, partial(self._repair, node, simulation)
        )

    def _repair(self, node: int, simulation: Simulation) -> None:
        self._pool.open(node)
        self._down.remove(node)
        if self._there:
            self._expect(node, simulation)
