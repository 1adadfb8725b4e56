"""Histories: how one run went, for drawings."""

from __future__ import annotations

from operator import itemgetter

from foretrain.jobs.active import Active
from foretrain.jobs.result import History, Span

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

    def come(self, now: float) -> None:
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

    def end(self, now: float) -> None:
        """A job has ended."""
        self._changes.append((now, 0.0, -1))

    def history(self, policy: str, devices: int) -> History:
        """What was noted, thinned."""
        log = self._levels()
        seen = log[:: max(1, len(log) // LOOKS)]
        return History(
            policy=policy,
            times=tuple(time for time, _, _ in seen),
            busy=tuple(busy / devices for _, busy, _ in seen),
            queue=tuple(queue for _, _, queue in seen),
            spans=tuple(self._spans),
        )

    def _levels(self) -> list[tuple[float, float, int]]:
        """Devices that are held and jobs that wait, after each instant in which either changed."""
        levels: list[tuple[float, float, int]] = []
        held, queue = 0.0, 0
        for now, devices, jobs in sorted(self._changes, key=itemgetter(0)):
            held, queue = held + devices, queue + jobs
            if levels and levels[-1][0] == now:
                levels.pop()
            levels.append((now, held, queue))
        return levels
