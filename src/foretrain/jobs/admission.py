"""Admission: how much work a cluster lets in at once."""

from __future__ import annotations

from foretrain.cluster.fleet import Fleet
from foretrain.errors import InputError
from foretrain.jobs.active import Active
from foretrain.jobs.pace import pace
from foretrain.jobs.simulation import Dispatcher, Simulation


class Admission:
    """Lets jobs in, in the order of arrival, while not too much work is outstanding.

    Who is not let in waits, and counts as waiting. A job is always let in where none is. The cap
    `most` is outstanding work in seconds of the whole fleet, as jobs mean it when they are let in.
    """

    def __init__(self, dispatcher: Dispatcher, fleet: Fleet, *, most: float) -> None:
        if not most > 0:
            raise InputError(f"admission needs a cap of work above 0 s, got {most}.")
        self._dispatcher = dispatcher
        self._fleet = fleet
        self._most = most * fleet.devices
        self._outside: dict[int, Active] = {}
        self._inside: dict[int, float] = {}

    def arrive(self, active: Active, simulation: Simulation) -> None:
        """A job has come; it may have to wait outside."""
        self._outside[active.rank] = active
        if active.begun is not None:
            self._outside = dict(sorted(self._outside.items()))
        self._admit(simulation)

    def leave(self, active: Active, simulation: Simulation) -> None:
        """A job has ended; others may come in."""
        del self._inside[active.rank]
        self._dispatcher.leave(active, simulation)
        self._admit(simulation)

    def decide(self, simulation: Simulation) -> None:
        """Let the dispatcher decide on those let in."""
        self._dispatcher.decide(simulation)

    def _admit(self, simulation: Simulation) -> None:
        while self._outside:
            rank, active = next(iter(self._outside.items()))
            job = active.job
            quick = pace(active, job.devices, fleet=self._fleet)
            work = job.devices * (job.work - active.done) / quick
            if self._inside and sum(self._inside.values()) + work > self._most:
                break
            self._inside[rank] = work
            self._dispatcher.arrive(self._outside.pop(rank), simulation)
