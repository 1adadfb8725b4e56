"""Limits: what users, groups, accounts and arrays may hold at once, whatever the policy.

The simulation asks them at every start and tells them of every start and stop, so that no policy
can forget one. A job that a limit keeps from starting does not stand in the way of others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from foretrain.jobs.active import Active
from foretrain.measured.job import Job
from foretrain.measured.limit import PartyLimit

Lane = tuple[tuple[int, str], ...]
"""Limits that bind a job, each with the party: jobs of one lane are allowed or not alike."""


class Limits:
    """Limits, and what parties hold of them."""

    def __init__(self, limits: Sequence[PartyLimit]) -> None:
        """Nobody holds anything."""
        self._limits = tuple(limits)
        self._devices: defaultdict[tuple[int, str], float] = defaultdict(float)
        self._jobs: defaultdict[tuple[int, str], int] = defaultdict(int)

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self._limits)

    def lane(self, job: Job) -> Lane:
        """What bounds a job."""
        return tuple(
            (place, limit.party(job))
            for place, limit in enumerate(self._limits)
            if limit.binds(job)
        )

    def allow(self, active: Active, devices: float) -> bool:
        """Whether a job may start on so many devices."""
        return self._reached(self.lane(active.job), devices) is None

    def reached(self, active: Active, devices: float) -> PartyLimit | None:
        """The first limit that a start would exceed; None where none would be."""
        place = self._reached(self.lane(active.job), devices)
        return None if place is None else self._limits[place]

    def hold(self, active: Active, devices: float) -> None:
        """A job has started."""
        for key in self.lane(active.job):
            self._devices[key] += devices
            self._jobs[key] += 1

    def release(self, active: Active, devices: float) -> None:
        """It has given its devices back."""
        for key in self.lane(active.job):
            self._devices[key] -= devices
            self._jobs[key] -= 1

    def together(self, jobs: Sequence[Active]) -> list[Active]:
        """Those of some jobs that may run at once, whoever stands first being served first.

        Args:
            jobs: on the devices that each asks for, whether they run or wait.
        """
        if not self:
            return list(jobs)
        room = Limits(self._limits)
        may = []
        for active in jobs:
            if room.allow(active, active.job.devices):
                room.hold(active, active.job.devices)
                may.append(active)
        return may

    def _reached(self, lane: Lane, devices: float) -> int | None:
        for key in lane:
            limit = self._limits[key[0]]
            if self._devices[key] + devices > limit.devices or self._jobs[key] + 1 > limit.jobs:
                return key[0]
        return None
