"""EASY backfilling: who came first has a reservation, others may pass if they do not touch it."""

from __future__ import annotations

from bisect import bisect_left
from math import inf

from foretrain.jobs.active import Active
from foretrain.jobs.hazard import pace
from foretrain.jobs.simulation import Simulation


class EasyDispatcher:
    """EASY backfilling: a later job may start if the first that waits is not delayed.

    The first job that does not fit gets a reservation: the moment when, by what users said, jobs
    that run will have given enough devices back. Another may start if it ends before or leaves
    enough devices at that moment. Without an estimate a job is taken to do all of its work; one
    that runs longer than was said counts as about to end.

    Source: lifka1995; mualem2001, section 2.
    """

    def __init__(self) -> None:
        self._waiting: dict[int, Active] = {}
        self._running: dict[int, Active] = {}

    def arrive(self, active: Active, simulation: Simulation) -> None:
        """A job has come: it waits, before all that came after it even if it comes again."""
        self._waiting[active.rank] = active
        if active.begun is not None:
            self._waiting = dict(sorted(self._waiting.items()))

    def leave(self, active: Active, simulation: Simulation) -> None:
        """A job has ended."""
        del self._running[active.rank]

    def decide(self, simulation: Simulation) -> None:
        """Start jobs in the order of arrival, then those that may pass the first that waits."""
        for head in tuple(self._waiting.values()):
            if not self._start(head, simulation):
                self._backfill(head, simulation)
                break

    def _backfill(self, head: Active, simulation: Simulation) -> None:
        """Start later jobs that do not delay the first."""
        pool, need = simulation.pool, (head.job.devices, head.job.kinds)
        # The reservation: when the first can start, and what will have been given back by then.
        running = sorted(self._running.values(), key=lambda job: (_ends(job, simulation), job.rank))
        freed = [active.held for active in running if active.held is not None]
        enough = bisect_left(
            range(len(freed)), True, key=lambda place: pool.fits(*need, freed[: place + 1])
        )
        moment = inf
        if enough < len(freed):
            moment, freed = _ends(running[enough], simulation), freed[: enough + 1]
        for active in tuple(self._waiting.values())[1:]:
            if not pool.free(()):
                break
            soon = leaves = simulation.now + _said(active) <= moment
            if not soon and (held := pool.take(active.job.devices, active.job.kinds)) is not None:
                # It runs on: would the first still start in time beside it?
                leaves = pool.fits(*need, freed)
                pool.give(held)
            if leaves and self._start(active, simulation) and soon and active.held is not None:
                freed.append(active.held)

    def _start(self, active: Active, simulation: Simulation) -> bool:
        started = simulation.start(active, active.job.devices, active.job.kinds)
        if started:
            self._running[active.rank] = self._waiting.pop(active.rank)
        return started


def _ends(active: Active, simulation: Simulation) -> float:
    """When a running job ends, by what was said of it."""
    assert active.begun is not None, f"{active.job.name} runs"
    return max(simulation.now, active.begun + _said(active))


def _said(active: Active) -> float:
    """Seconds that a job takes on the devices that it asks for, as its user or its work says."""
    job = active.job
    return job.start + job.work / pace(job) if job.estimate is None else job.estimate
