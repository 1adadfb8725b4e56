"""Conservative backfilling: every job gets a planned start when it comes, and never a later one.

What is planned is kept in a profile of free devices over time. Where a job ends before it was said
to, plans move forward, in the order of arrival, into what has become free; nobody's moves back.

Source: mualem2001, section 2.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from math import inf
from typing import NamedTuple

from foretrain.cluster.mixed import Fleet
from foretrain.jobs.active import Active
from foretrain.jobs.backfill import said
from foretrain.jobs.simulation import Simulation


class DeviceProfile:
    """Free devices over time, as a step function."""

    def __init__(self, devices: float) -> None:
        """All are free for ever."""
        self._times = [0.0]
        self._levels = [devices]

    def earliest(self, devices: float, seconds: float, now: float) -> float:
        """From when on some devices are free for some time; infinite for never.

        Args:
            devices: how many.
            seconds: for how long.
            now: the first moment that will do.
        """
        times, levels = self._times, self._levels
        start = now
        for place in range(bisect_right(times, now) - 1, len(times)):
            if times[place] >= start + seconds:
                break
            if levels[place] < devices:
                start = times[place + 1] if place + 1 < len(times) else inf
        return start

    def change(self, start: float, end: float, devices: float) -> None:
        """Devices more are free for a while, or fewer where the number is negative.

        Args:
            start: of the while.
            end: of it.
            devices: how many.
        """
        for place in range(self._cut(start), self._cut(end)):
            self._levels[place] += devices

    def forget(self, now: float) -> None:
        """What was before now does not matter any more.

        Args:
            now: seconds since the trace began.
        """
        first = self._cut(now)
        del self._times[:first], self._levels[:first]

    def _cut(self, time: float) -> int:
        """Where a step begins at a time, for ever after if that is infinite."""
        place = bisect_left(self._times, time)
        if time < inf and (place == len(self._times) or self._times[place] != time):
            self._times.insert(place, time)
            self._levels.insert(place, self._levels[place - 1])
        return place


class PlannedStart(NamedTuple):
    """When and on what a job is to run.

    Attributes:
        start: seconds since the trace began.
        end: by what was said of the job.
        kind: of its devices.
        devices: of that kind.
    """

    start: float
    end: float
    kind: str
    devices: int


class ConservativeDispatcher:
    """Conservative backfilling: a later job may start if nobody that came before is delayed.

    Lengths are what users said, or else the work that was meant. Who runs longer than was said
    counts as about to end: those that were planned on its devices start as soon as they are there.
    """

    def __init__(self, fleet: Fleet) -> None:
        """Nobody waits or runs."""
        self._profiles: Mapping[str, DeviceProfile] = {
            each.kind: DeviceProfile(float(each.count * each.devices)) for each in fleet.nodes
        }
        self._new: dict[int, Active] = {}
        self._early = False
        self._waiting: dict[int, tuple[Active, PlannedStart]] = {}
        self._running: dict[int, PlannedStart] = {}

    def arrive(self, active: Active, simulation: Simulation) -> None:
        """A job has come, or comes again after a failure."""
        self._new[active.rank] = active

    def leave(self, active: Active, simulation: Simulation) -> None:
        """A job has ended; if early, all others may be earlier."""
        now, plan = simulation.now, self._running.pop(active.rank)
        if now < plan.end:
            self._profiles[plan.kind].change(now, plan.end, plan.devices)
            self._early = True

    def decide(self, simulation: Simulation) -> None:
        """Move plans forward, give those that have come the first place that is free, and start."""
        self._compress(simulation.now)
        for _, active in sorted(self._new.items()):
            self._waiting[active.rank] = (active, self._plan(active, simulation.now))
            if active.begun is not None:
                self._waiting = dict(sorted(self._waiting.items()))
        self._new.clear()
        self._start(simulation)

    def _compress(self, now: float) -> None:
        for profile in self._profiles.values():
            profile.forget(now)
        if self._early:
            for rank, (other, before) in tuple(self._waiting.items()):
                self._profiles[before.kind].change(before.start, before.end, before.devices)
                self._waiting[rank] = (other, self._plan(other, now))
        self._early = False

    def _start(self, simulation: Simulation) -> None:
        """Start whoever is planned to have started."""
        now, upcoming = simulation.now, inf
        for rank, (active, plan) in tuple(self._waiting.items()):
            if plan.start > now:
                upcoming = min(upcoming, plan.start)
            elif simulation.start(active, plan.devices, (plan.kind,)):
                del self._waiting[rank]
                self._running[rank] = self._moved(plan, now)
        if upcoming < inf:
            simulation.wake(upcoming)

    def _moved(self, plan: PlannedStart, now: float) -> PlannedStart:
        """The plan of a job that starts later than was planned, as others ran on."""
        if plan.start == now:
            return plan
        end = now + plan.end - plan.start
        self._profiles[plan.kind].change(plan.end, end, -plan.devices)
        return plan._replace(start=now, end=end)

    def _plan(self, active: Active, now: float) -> PlannedStart:
        """The first place that is free, on the first kind of device that has it."""
        job, seconds = active.job, said(active)
        starts = {
            kind: profile.earliest(job.devices, seconds, now)
            for kind, profile in self._profiles.items()
            if not job.kinds or kind in job.kinds
        }
        kind = min(starts, key=lambda each: starts[each])
        plan = PlannedStart(starts[kind], starts[kind] + seconds, kind, job.devices)
        self._profiles[kind].change(plan.start, plan.end, -plan.devices)
        return plan
