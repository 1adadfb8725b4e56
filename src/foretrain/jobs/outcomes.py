"""Outcomes: what became of each job, and books that must balance.

Histories: how one run went, for drawings.
Fragmentation: free devices that nobody who waits can use, and jobs that span nodes.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import ceil, fsum, isclose, nan
from operator import itemgetter
from statistics import fmean
from typing import Protocol

from foretrain.jobs.active import Active, HeldDevices
from foretrain.jobs.nodes import NodePool, NodeRoom
from foretrain.jobs.result import History, Span
from foretrain.measured.job import Job, Trace

ROUNDING = 1e-9
"""Relative difference that sums of floats may show."""


class Outcomes:
    """When jobs began and ended, as columns in the order of the trace's jobs.

    Attributes:
        trace: the jobs.
        begun: seconds since the trace began when each first held devices.
        ended: when each ended.
        attained: device-seconds that each held.
        held: seconds during which each held devices.
        stops: how often each was interrupted.
        killed: places of those that were ended early: by a time limit, or for another job.
        cancelled: places of those that were given up before they began.
        fragmentation: share of free devices that no job that waits can use; None if not seen.
        rented: device-seconds of each kind that were there or on their way, until the last job
            left; None where nodes neither come nor leave.
        sweeps: seconds during which any trial of a sweep held devices, by the sweep's name.
        waiting: jobs that have come and not ended.
        before: device-seconds that were held before the trace opened.
        last: when something last changed.
    """

    def __init__(self, trace: Trace) -> None:
        """Nothing yet."""
        count = len(trace.jobs)
        self.trace = trace
        self.begun = array("d", [nan]) * count
        self.ended = array("d", [nan]) * count
        self.attained = array("d", [0.0]) * count
        self.held = array("d", [0.0]) * count
        self.stops = array("l", [0]) * count
        self.killed: set[int] = set()
        self.cancelled: set[int] = set()
        self.fragmentation: float | None = None
        self.rented: Mapping[str, float] | None = None
        self.sweeps: Mapping[str, float] = {}
        self.waiting = 0
        self.before = 0.0
        self.last = 0.0
        self._there = 0.0
        self._busy = 0.0
        self._sum = 0.0
        self._came = self._changed = 0.0

    @property
    def holding(self) -> bool:
        """Whether anybody holds a device."""
        return self._busy > ROUNDING

    def come(self, now: float) -> None:
        """A job has come."""
        self._there += self.waiting * (now - self._came)
        self._came = now
        self.waiting += 1

    def hold(self, now: float, devices: float) -> None:
        """Some devices more are held, or fewer where the number is negative."""
        self._sum += self._busy * (now - self._changed)
        self._changed = now
        self._busy += devices

    def open(self) -> None:
        """The trace opens now."""
        opened = self.trace.opened
        self.before = self._sum + self._busy * (opened - self._changed)

    def end(self, now: float, active: Active) -> None:
        """A job has ended."""
        assert active.begun is not None, f"{active.job.name} ended before it began"
        self._there += self.waiting * (now - self._came)
        self._came = self.last = now
        self.waiting -= 1
        rank = active.rank
        self.begun[rank] = active.begun
        self.ended[rank] = now
        self.attained[rank] = active.attained
        self.held[rank] = active.running
        self.stops[rank] = active.stops

    def cancel(self, now: float, active: Active) -> None:
        """A job that never began is given up."""
        assert active.begun is None, f"{active.job.name} has begun"
        self._there += self.waiting * (now - self._came)
        self._came = self.last = now
        self.waiting -= 1
        self.ended[active.rank] = now
        self.cancelled.add(active.rank)

    def check(self) -> None:
        """Whether the books balance: Little's law, device-seconds, and no job lost.

        Source: little1961: the jobs that are there, summed over time, are the response times.
        """
        assert self.waiting == 0, "a job was lost"
        assert abs(self._busy) < ROUNDING, "devices were lost"
        came = (job.arrival for job in self.trace.jobs)
        responses = fsum(end - arrival for end, arrival in zip(self.ended, came, strict=True))
        assert isclose(self._there, responses, rel_tol=ROUNDING, abs_tol=1e-6), "Little's law"
        held = fsum(self.attained)
        assert isclose(self._sum, held, rel_tol=ROUNDING, abs_tol=1e-6), "device-seconds"


class Observer(Protocol):
    """Who is told of every change, before the next one."""

    def come(self, now: float, active: Active) -> None:
        """A job has come."""
        ...

    def hold(self, now: float, active: Active) -> None:
        """A job has got devices."""
        ...

    def give(self, now: float, active: Active) -> None:
        """A job is about to give its devices back."""
        ...

    def end(self, now: float, active: Active) -> None:
        """A job has ended."""
        ...


SPANS = 60
"""Jobs whose devices are drawn: those in a row that came in the shortest time."""

NOTED = 20_000
"""Jobs among which these are looked for, the first to come."""

SLICES = 60
"""Parts of the time in which jobs come; of each the mean waiting is told."""

LOOKS = 400
"""Moments of a run that are drawn."""


class Watch:
    """Notes who holds what; a simulation tells it of every change."""

    def __init__(self) -> None:
        self._changes: list[tuple[float, float, int]] = [(0.0, 0.0, 0)]
        self._since: dict[int, float] = {}
        self._spans: list[Span] = []
        self._came: list[tuple[float, str]] = []
        self._waits: dict[int, float] = {}
        self._waited: list[tuple[float, float]] = []

    def come(self, now: float, active: Active) -> None:
        """A job has come."""
        self._changes.append((now, 0.0, 1))
        self._waits[active.rank] = now
        if len(self._came) < NOTED:
            self._came.append((now, active.job.name))

    def hold(self, now: float, active: Active) -> None:
        """A job has got devices."""
        assert active.held is not None
        self._since[active.rank] = now
        came = self._waits.pop(active.rank, None)
        if came is not None:
            self._waited.append((came, now - came))
        self._changes.append((now, active.held.devices, -1))

    def give(self, now: float, active: Active) -> None:
        """A job is about to give its devices back."""
        assert active.held is not None
        devices = active.held.devices
        begun = self._since.pop(active.rank)
        if active.rank < NOTED:
            self._spans.append(Span(job=active.job.name, start=begun, end=now, devices=devices))
        self._changes.append((now, -devices, 1))

    def end(self, now: float, active: Active) -> None:
        """A job has ended."""
        self._changes.append((now, 0.0, -1))

    def history(self, policy: str, devices: int) -> History:
        """What was noted, thinned."""
        # Devices that are held and jobs that wait, after each instant in which either changed.
        levels: list[tuple[float, float, int]] = []
        held, queue = 0.0, 0
        for now, more, jobs in sorted(self._changes, key=itemgetter(0)):
            held, queue = held + more, queue + jobs
            if levels and levels[-1][0] == now:
                levels.pop()
            levels.append((now, held, queue))
        seen = levels[:: max(1, len(levels) // LOOKS)]
        waited = self._mean_waits()
        return History(
            policy=policy,
            times=tuple(time for time, _, _ in seen),
            busy=tuple(busy / devices for _, busy, _ in seen),
            queue=tuple(queue for _, _, queue in seen),
            came=tuple(came for came, _ in waited),
            waited=tuple(seconds for _, seconds in waited),
            spans=tuple(self._busiest()),
        )

    def _mean_waits(self) -> list[tuple[float, float]]:
        """Of each part of the time in which jobs came, when it began, and their mean waiting."""
        last = max((came for came, _ in self._waited), default=0.0)
        parts: defaultdict[int, list[float]] = defaultdict(list)
        for came, seconds in self._waited:
            parts[min(SLICES - 1, int(SLICES * came / last)) if last else 0].append(seconds)
        return [(last * part / SLICES, fmean(parts[part])) for part in sorted(parts)]

    def _busiest(self) -> Iterator[Span]:
        """Spans of those jobs in a row that came in the shortest time."""
        came = sorted(self._came, key=itemgetter(0))
        lasts = range(min(SPANS, len(came)) - 1, len(came))
        first = min(lasts, key=lambda last: came[last][0] - came[last - lasts[0]][0], default=0)
        shown = {name for _, name in came[first - lasts.start : first + 1]}
        return (span for span in self._spans if span.job in shown)


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
                for room in self._pool.rooms:
                    self.stranded += stranded(room, least) * lasted

    def _is_spread(self, held: HeldDevices) -> bool:
        return held.nodes > ceil(held.devices / self._sizes[held.kind])


class OfSome:
    """An observer that is told of some jobs only."""

    def __init__(self, observer: Observer, mine: Callable[[Job], bool]) -> None:
        self._observer, self._mine = observer, mine

    def come(self, now: float, active: Active) -> None:
        """A job has come."""
        if self._mine(active.job):
            self._observer.come(now, active)

    def hold(self, now: float, active: Active) -> None:
        """A job has got devices."""
        if self._mine(active.job):
            self._observer.hold(now, active)

    def give(self, now: float, active: Active) -> None:
        """A job is about to give its devices back."""
        if self._mine(active.job):
            self._observer.give(now, active)

    def end(self, now: float, active: Active) -> None:
        """A job has ended."""
        if self._mine(active.job):
            self._observer.end(now, active)


def stranded_share(seen: Sequence[Fragmentation | None]) -> float | None:
    """Share of free devices that no job that waits can use, over time; None where nobody looked."""
    lies = [each for each in seen if each]
    free = fsum(each.free for each in lies)
    return fsum(each.stranded for each in lies) / free if free else 0.0 if lies else None


def stranded(room: NodeRoom, need: int) -> int:
    """Free devices on nodes with fewer than a job needs, or than a node has if it needs more."""
    found = 0
    for free in range(1, min(need, room.group.devices)):
        alike = room.by_free[free]
        if alike:
            found += free * alike.bit_count()
    return found
