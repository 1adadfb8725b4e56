"""Ordered dispatch: the policies that are one number per job, the lowest first.

At every instant the jobs that run are those that a walk down the order would pack: a job runs if
the devices that jobs before it leave are enough. With interruption that holds of all jobs; without
it, of those that wait. Waiting jobs of equal needs stand in one heap, of which only the first can
start next, and only the last of the running can be interrupted for it; so a decision costs as
much as it changes, however many jobs wait.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush
from math import inf, isclose

from foretrain.jobs.active import Active, Held
from foretrain.jobs.pool import Pool
from foretrain.jobs.simulation import Simulation
from foretrain.measured.job import Job

Need = tuple[int, tuple[str, ...]]
"""Devices and kinds: jobs of equal needs start in their order."""

Place = tuple[float, int, Active]
"""Key, rank and job: what jobs are sorted by."""

ROUNDING = 1e-9
"""Share of a key by which floats may miss it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A policy that is one number per job.

    Attributes:
        key: the number of a job at a time in seconds; of two jobs the lower runs first, of equal
            ones the first to arrive. While a job waits its key stays.
        preempts: whether a job interrupts those after it.
        skips: whether a job may pass one before it that does not fit.
        falls: whether the key of a running job falls by one every second, as what is left of it
            does; otherwise it stays but where `lasts` says that it changes.
        lasts: seconds that a job may run from a time on until its key changes.
    """

    key: Callable[[Active, float], float]
    preempts: bool = False
    skips: bool = False
    falls: bool = False
    lasts: Callable[[Active, float], float] | None = None


class OrderedDispatcher:
    """Starts and interrupts jobs in an order."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._waiting: dict[Need, list[Place]] = {}
        self._running: list[Place] = []
        self._places: dict[int, Place] = {}
        self._changes: dict[int, int] = {}
        self._looked: set[Need] = set()
        self._free = 0.0

    def arrive(self, active: Active, simulation: Simulation) -> None:
        """A job has come: it waits."""
        self._wait(active, simulation.now)

    def leave(self, active: Active, simulation: Simulation) -> None:
        """A job has ended: everybody may start."""
        if self._order.preempts:
            self._drop(active, simulation)
        self._looked.clear()

    def decide(self, simulation: Simulation) -> None:
        """Start every job that the jobs before it leave devices for, the first one first."""
        looked, pool = self._looked, simulation.pool
        if pool.free(()) > self._free:
            looked.clear()
        while True:
            heads = [(heap[0], need) for need, heap in self._waiting.items() if need not in looked]
            if not heads:
                break
            head, need = min(heads)
            if not self._start(head, simulation):
                if not self._order.skips:
                    break
                looked.add(need)
        self._free = pool.free(())

    def _start(self, head: Place, simulation: Simulation) -> bool:
        """Start the first job of a heap, if need be in place of jobs after it."""
        active = head[2]
        job = active.job
        if simulation.start(active, job.devices, job.kinds):
            self._unqueue(active)
        elif not self._make_room(head, simulation):
            return False
        if self._order.preempts:
            self._run(active, simulation)
        return True

    def _make_room(self, head: Place, simulation: Simulation) -> bool:
        """Start a job in place of jobs after it, if that is allowed and some use."""
        active = head[2]
        victims = self._victims(head, simulation) if self._order.preempts else ()
        if not victims:
            return False
        self._unqueue(active)
        for victim in victims:
            self._interrupt(victim, simulation)
        started = simulation.start(active, active.job.devices, active.job.kinds)
        assert started, f"{active.job.name} was said to fit"
        return True

    def _victims(self, head: Place, simulation: Simulation) -> Sequence[Active]:
        """Running jobs after one that must stop for it: the last ones; none if that is no use."""
        key, rank, active = head
        job, pool = active.job, simulation.pool
        # Added as for running jobs, so that equal keys stay equal and ranks decide.
        first = (key + simulation.now if self._order.falls else key, rank)
        victims: list[Active] = []
        freed: list[Held] = []
        lacking = job.devices - pool.free(job.kinds)
        for later, place, running in reversed(self._running):
            if (later, place) < first:
                break
            held = running.held
            assert held is not None
            if not running.job.preemptible or (job.kinds and held.kind not in job.kinds):
                continue
            victims.append(running)
            freed.append(held)
            lacking -= held.devices
            if lacking <= 0 and pool.fits(job.devices, job.kinds, freed):
                return _needed(victims, job, spare=-lacking, pool=pool)
        return ()

    def _wait(self, active: Active, now: float, *, least: float = -inf) -> None:
        """Enter a job among the waiting, at its key or at the one that it had if that is higher."""
        job = active.job
        need = (job.devices, job.kinds)
        key = self._order.key(active, now)
        if key < least and not isclose(key, least, rel_tol=ROUNDING):
            key = least
        place = (key, active.rank, active)
        heap = self._waiting.setdefault(need, [])
        heappush(heap, place)
        if heap[0] is place:
            self._looked.discard(need)

    def _unqueue(self, active: Active) -> None:
        need = (active.job.devices, active.job.kinds)
        heap = self._waiting[need]
        heappop(heap)
        if not heap:
            del self._waiting[need]

    def _run(self, active: Active, simulation: Simulation) -> None:
        """Enter a job among the running, and wake when its key changes."""
        now = simulation.now
        key = self._order.key(active, now) + (now if self._order.falls else 0.0)
        place = (key, active.rank, active)
        insort(self._running, place)
        self._places[active.rank] = place
        lasts = self._order.lasts(active, now) if self._order.lasts else inf
        if now + lasts < active.until:
            action = partial(self._change, active, simulation)
            self._changes[active.rank] = simulation.at(now + lasts, action)

    def _change(self, active: Active, simulation: Simulation) -> None:
        """The key of a running job has changed: it goes to its new place."""
        self._changes.pop(active.rank)
        self._drop(active, simulation)
        self._run(active, simulation)
        self._looked.clear()

    def _interrupt(self, active: Active, simulation: Simulation) -> None:
        """Stop a job; its key does not fall by that, or two jobs would stop each other for ever."""
        now = simulation.now
        had = self._drop(active, simulation) - (now if self._order.falls else 0.0)
        simulation.stop(active)
        self._wait(active, now, least=had)
        self._looked.clear()

    def _drop(self, active: Active, simulation: Simulation) -> float:
        """Take a job from among the running; the key that it had there."""
        place = self._places.pop(active.rank)
        del self._running[bisect_left(self._running, place)]
        change = self._changes.pop(active.rank, None)
        if change is not None:
            simulation.cancel(change)
        return place[0]


def _needed(victims: list[Active], job: Job, *, spare: float, pool: Pool) -> Sequence[Active]:
    """Those that must stop: what is freed beyond the need is left to them, the first one first."""
    for victim in reversed(tuple(victims)):
        held = victim.held
        if held is not None and held.devices <= spare:
            others = [each for each in victims if each is not victim]
            freed = [each.held for each in others if each.held is not None]
            if pool.fits(job.devices, job.kinds, freed):
                victims, spare = others, spare - held.devices
    return victims
