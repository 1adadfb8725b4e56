"""Outcomes: what became of each job, and books that must balance.

Histories: how one run went, for drawings.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from math import fsum, isclose, nan
from operator import itemgetter
from typing import Protocol

from foretrain.jobs.active import Active
from foretrain.jobs.result import History, Span
from foretrain.measured.job import Trace

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
        sweeps: seconds during which any trial of a sweep held devices, by the sweep's name.
        waiting: jobs that have come and not ended.
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
        self.sweeps: Mapping[str, float] = {}
        self.waiting = 0
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
"""Jobs whose devices are drawn, the first to come."""

LOOKS = 400
"""Moments of a run that are drawn."""


class Watch:
    """Notes who holds what; a simulation tells it of every change.

    Partitions of a fleet may tell it one after the other, each from the beginning of the trace.
    """

    def __init__(self) -> None:
        self._changes: list[tuple[float, float, int]] = [(0.0, 0.0, 0)]
        self._since: dict[int, float] = {}
        self._spans: list[Span] = []

    def come(self, now: float, active: Active) -> None:
        """A job has come."""
        self._changes.append((now, 0.0, 1))

    def hold(self, now: float, active: Active) -> None:
        """A job has got devices."""
        assert active.held is not None
        self._since[active.rank] = now
        self._changes.append((now, active.held.devices, -1))

    def give(self, now: float, active: Active) -> None:
        """A job is about to give its devices back."""
        assert active.held is not None
        devices = active.held.devices
        begun = self._since.pop(active.rank)
        if active.rank < SPANS:
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
        return History(
            policy=policy,
            times=tuple(time for time, _, _ in seen),
            busy=tuple(busy / devices for _, busy, _ in seen),
            queue=tuple(queue for _, _, queue in seen),
            spans=tuple(self._spans),
        )
