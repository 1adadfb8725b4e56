"""Ordered dispatch: the policies that are one number per job, the lowest first.

At every instant the jobs that run are those that a walk down the order would pack: a job runs if
the devices that jobs before it leave are enough. With interruption that holds of all jobs; without
it, of those that wait. The order is that of the keys as the instant finds them, before anybody is
interrupted; of equal keys, who runs comes before who waits, so nobody is stopped for an equal.

Waiting jobs of equal needs stand in one heap, of which only the first can start next, and only the
last of the running can be interrupted for it; so a decision costs as much as it changes, however
many jobs wait.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import islice
from math import inf, isclose
from operator import attrgetter, itemgetter

from foretrain.jobs.active import Active, HeldDevices, Pool
from foretrain.jobs.limits import Lane, Limits
from foretrain.jobs.simulation import Simulation
from foretrain.measured.job import Job

Need = tuple[int, tuple[str, ...], Lane]
"""Devices, kinds and limits: jobs of equal needs start in their order."""

Turn = tuple[int, int]
"""Whether a job waits, and its place among those of equal key that do as it does."""

Place = tuple[float, Turn, Active]
"""Key, turn and job: what jobs are sorted by."""

Heaps = dict[Need, list[Place]]
"""Jobs that wait, by what they need."""

NOBODY_PASSES: Need = (0, (), ())
"""Stands among what was looked for in vain where the first in line keeps all from starting."""

JOB: Callable[[Place], Active] = itemgetter(2)
HELD: Callable[[Active], HeldDevices] = attrgetter("held")
MAY_STOP: Callable[[Active], bool] = attrgetter("job.preemptible")

ROUNDING = 1e-9
"""Share of a key by which floats may miss it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordering:
    """A policy that is one number per job.

    Attributes:
        key: the number of a job at a time in seconds; of two jobs the lower runs first. While a
            job waits its key stays.
        preempts: whether a job interrupts those after it.
        skips: whether a job may pass one before it that does not fit.
        falls: whether the key of a running job falls by one every second, as what is left of it
            does; otherwise it stays but where `lasts` says that it changes.
        lasts: seconds that a job may run from a time on until its key changes.
        queues: whether jobs of one key stand in a queue: those that run by when they started, then
            those that were stopped, then those that came or whose key changed, the first one
            first. Otherwise those that run and those that wait stand by their arrival.
    """

    key: Callable[[Active, float], float]
    preempts: bool = False
    skips: bool = False
    falls: bool = False
    lasts: Callable[[Active, float], float] | None = None
    queues: bool = False


class OrderedDispatcher:
    """Starts and interrupts jobs in an order.

    Whom a limit keeps from starting stands in nobody's way, and nobody is stopped for it.
    """

    def __init__(self, order: Ordering) -> None:
        self._order = order
        self._limits = Limits(())
        self._waiting: Heaps = {}
        self._stopped: Heaps = {}
        self._running: list[Place] = []
        self._held: list[HeldDevices] = []  # by those that run, in their order
        self._fixed = 0
        self._places: dict[int, Place] = {}
        self._changes: dict[int, int] = {}
        self._fallen: list[Active] = []
        self._looked: set[Need] = set()
        self._released = 0
        self._free = 0.0
        self._turns = 0

    def arrive(self, active: Active, simulation: Simulation) -> None:
        """A job has come, or comes again after a failure: it waits."""
        self._limits = simulation.limits
        again = active.begun is not None
        self._wait(active, self._turn(active, waits=True, first=again), now=simulation.now)

    def leave(self, active: Active, simulation: Simulation) -> None:
        """A job has ended: everybody may start."""
        if self._order.preempts:
            self._drop(active, simulation)
        self._looked.clear()

    def decide(self, simulation: Simulation) -> None:
        """Start every job that the jobs before it leave devices for, the first one first."""
        # Jobs whose keys have changed go to their new places. In a queue that is the last one, also
        # behind those that wait, who may have their devices now; whoever is left those goes on.
        if self._fallen:
            for _, _, active in self._drop_fallen(simulation):
                self._run(active, self._turn(active, waits=self._order.queues), simulation)
        if self._waiting:
            self._serve(simulation)
        # The instant is over: who was stopped waits, at the key that a waiting job has. That is not
        # below the one that it had, or two jobs would stop each other for ever.
        if self._stopped:
            stopped = sorted(place for heap in self._stopped.values() for place in heap)
            for key, turn, active in reversed(stopped):
                place = turn if turn[0] else self._turn(active, waits=True, first=True)
                self._wait(active, place, now=simulation.now, least=key)
            self._stopped.clear()
        if self._fallen:
            for _, _, active in self._drop_fallen(simulation):
                self._run(active, self._turn(active), simulation)
            self._fallen.clear()
        self._free = simulation.pool.free(())

    def _serve(self, simulation: Simulation) -> None:
        """Start those that wait, as long as the first of them may start."""
        looked, released = self._looked, self._limits.released
        if simulation.pool.free(()) > self._free or released != self._released:
            looked.clear()
        self._released = released
        if NOBODY_PASSES in looked:
            return
        while head := self._first(looked):
            if self._start(head, simulation):
                continue
            if not self._order.skips and self._allowed(head[2]):
                looked.add(NOBODY_PASSES)
                break
            looked.add(self._need(head))

    def _first(self, looked: set[Need]) -> Place | None:
        """The first of those that wait and need something else than was looked for in vain."""
        if len(self._waiting) < 2 and not looked and not self._stopped:
            return next(iter(self._waiting.values()))[0] if self._waiting else None
        heads = [heap[0] for need, heap in self._waiting.items() if need not in looked]
        if self._stopped:
            heads += [heap[0] for need, heap in self._stopped.items() if need not in looked]
        return min(heads) if heads else None

    def _start(self, head: Place, simulation: Simulation) -> bool:
        """Start the first job of a heap, if need be in place of jobs after it."""
        active = head[2]
        job = active.job
        if simulation.start(active, job.devices, job.kinds):
            self._unqueue(head)
        else:
            may = self._order.preempts and self._allowed(active)
            victims = self._victims(head, simulation) if may else ()
            if not victims:
                return False
            self._unqueue(head)
            for victim in victims:
                # In this instant it is still in the order where it was when that began.
                key, turn, _ = self._drop(victim, simulation)
                simulation.stop(victim)
                now = simulation.now if self._order.falls else 0.0
                self._queue(self._stopped, (key - now, turn, victim))
                self._looked.clear()
            started = simulation.start(active, job.devices, job.kinds)
            assert started, f"{job.name} was said to fit"
        if self._order.preempts:
            # Who was stopped in this instant has its place back: behind it nobody may stop it.
            stopped = not head[1][0]
            self._run(active, head[1] if stopped else self._turn(active), simulation)
        return True

    def _victims(self, head: Place, simulation: Simulation) -> Sequence[Active]:
        """Running jobs after one that must stop for it: the last ones; none if that is no use."""
        key, turn, active = head
        job, pool = active.job, simulation.pool
        # Added as for running jobs, so that equal keys stay equal and turns decide.
        first = (key + simulation.now if self._order.falls else key, turn)
        after = len(self._running) - bisect_left(self._running, first)
        # Most starts look at them in vain, so no step of the walk is Python's.
        plain = not job.kinds and not self._fixed
        held = islice(reversed(self._held), after)
        count = pool.enough(
            job.devices,
            job.kinds,
            held if plain else map(HELD, self._behind(after, job.kinds)),
        )
        return _spared([*islice(self._behind(after, job.kinds), count)], job, pool) if count else ()

    def _behind(self, after: int, kinds: tuple[str, ...]) -> Iterator[Active]:
        """Those of so many last jobs that may be stopped, the last one first."""
        behind = filter(MAY_STOP, map(JOB, islice(reversed(self._running), after)))
        return filter(lambda active: HELD(active).kind in kinds, behind) if kinds else behind

    def _wait(self, active: Active, turn: Turn, *, now: float, least: float = -inf) -> None:
        """Enter a job among the waiting, at its key or at the one that it had if that is higher."""
        key = self._order.key(active, now)
        if key < least and not isclose(key, least, rel_tol=ROUNDING):
            key = least
        self._queue(self._waiting, (key, turn, active))

    def _queue(self, heaps: Heaps, place: Place) -> None:
        need = self._need(place)
        heap = heaps.setdefault(need, [])
        heappush(heap, place)
        if heap[0] is place:
            self._looked.discard(need)
            self._looked.discard(NOBODY_PASSES)

    def _unqueue(self, head: Place) -> None:
        need = self._need(head)
        for heaps in (self._waiting, self._stopped):
            heap = heaps.get(need)
            if heap and heap[0] is head:
                heappop(heap)
                if not heap:
                    del heaps[need]

    def _turn(self, active: Active, *, waits: bool = False, first: bool = False) -> Turn:
        """The last place among those of its key that run or wait, or before all others there."""
        if not self._order.queues:
            return (int(waits), active.rank)
        self._turns += 1
        return (int(waits), -self._turns if first else self._turns)

    def _run(self, active: Active, turn: Turn, simulation: Simulation) -> None:
        """Enter a job among the running, and wake when its key changes."""
        now = simulation.now
        key = self._order.key(active, now) + (now if self._order.falls else 0.0)
        place = (key, turn, active)
        at = bisect_left(self._running, place)
        self._running.insert(at, place)
        self._held.insert(at, HELD(active))
        self._fixed += not active.job.preemptible
        self._places[active.rank] = place
        lasts = self._order.lasts(active, now) if self._order.lasts else inf
        if now + lasts < active.until:

            def change() -> None:
                # It goes to its new place before the decision.
                self._changes.pop(active.rank)
                self._fallen.append(active)
                self._looked.clear()

            self._changes[active.rank] = simulation.at(now + lasts, change)

    def _drop_fallen(self, simulation: Simulation) -> list[Place]:
        """Take jobs whose keys have changed from among the running, the first one first."""
        runs = [active for active in self._fallen if active.rank in self._places]
        return sorted(self._drop(active, simulation) for active in runs)

    def _drop(self, active: Active, simulation: Simulation) -> Place:
        """Take a job from among the running; the place that it had there."""
        place = self._places.pop(active.rank)
        at = bisect_left(self._running, place)
        del self._running[at], self._held[at]
        self._fixed -= not active.job.preemptible
        change = self._changes.pop(active.rank, None)
        if change is not None:
            simulation.cancel(change)
        return place

    def _need(self, place: Place) -> Need:
        job = place[2].job
        return job.devices, job.kinds, self._limits.lane(job) if self._limits.bind else ()

    def _allowed(self, active: Active) -> bool:
        """Whether no limit keeps a job from starting."""
        return not self._limits.bind or self._limits.allow(active, active.job.devices)


def _spared(victims: Sequence[Active], job: Job, pool: Pool) -> Sequence[Active]:
    """Those of the victims that must stop: what is freed beyond the need is left to them.

    The first one first. They give their devices back for a moment, to see what would be free.
    """
    needed = pool.needed(job.devices, job.kinds, [HELD(victim) for victim in victims])
    victims = [victims[place] for place in needed]
    for victim in victims:
        pool.give(HELD(victim))
    stopped: list[tuple[Active, HeldDevices]] = []
    for victim in reversed(victims):
        held = HELD(victim)
        if held.devices <= pool.free(job.kinds) - job.devices:
            pool.remove(held)
            if pool.has(job.devices, job.kinds):
                continue
            pool.give(held)
        stopped.append((victim, held))
    for _, held in stopped:
        pool.remove(held)
    return [victim for victim, _ in reversed(stopped)]
