"""Histories: how one run went, for drawings."""

from __future__ import annotations

from foretrain.jobs.active import Active
from foretrain.results.simulate import History, Span

SPANS = 60
"""Jobs whose devices are drawn, the first to come."""

LOOKS = 400
"""Moments of a run that are drawn."""


class Watch:
    """Notes who holds what; a simulation tells it of every change."""

    def __init__(self) -> None:
        self._busy = 0.0
        self._there = 0
        self._running = 0
        self._log: list[tuple[float, float, int]] = [(0.0, 0.0, 0)]
        self._since: dict[int, float] = {}
        self._spans: list[Span] = []

    def come(self, now: float) -> None:
        """A job has come."""
        self._there += 1
        self._note(now)

    def hold(self, now: float, active: Active) -> None:
        """A job has got devices."""
        assert active.held is not None
        self._busy += active.held.devices
        self._running += 1
        self._since[active.rank] = now
        self._note(now)

    def give(self, now: float, active: Active) -> None:
        """A job is about to give its devices back."""
        assert active.held is not None
        devices = active.held.devices
        self._busy -= devices
        self._running -= 1
        begun = self._since.pop(active.rank)
        if active.rank < SPANS:
            self._spans.append(Span(job=active.job.name, start=begun, end=now, devices=devices))
        self._note(now)

    def end(self, now: float) -> None:
        """A job has ended."""
        self._there -= 1
        self._note(now)

    def history(self, policy: str, devices: int) -> History:
        """What was noted, thinned."""
        step = max(1, len(self._log) // LOOKS)
        seen = self._log[::step]
        return History(
            policy=policy,
            times=tuple(time for time, _, _ in seen),
            busy=tuple(busy / devices for _, busy, _ in seen),
            queue=tuple(queue for _, _, queue in seen),
            spans=tuple(self._spans),
        )

    def _note(self, now: float) -> None:
        entry = (now, self._busy, self._there - self._running)
        if self._log[-1][0] == now:
            self._log[-1] = entry
        else:
            self._log.append(entry)
