"""Cores of a server: gradients are applied in the order in which they came."""

from __future__ import annotations

from collections import deque

from foretrain.events import Action, Events


class ServerCores:
    """Cores that each do one piece of work at a time, first come first served.

    Attributes:
        busy: core seconds of work that was done.
    """

    __slots__ = ("_events", "_free", "_queue", "busy")

    def __init__(self, events: Events, *, count: int) -> None:
        """All are free.

        Args:
            events: the clock.
            count: cores.
        """
        self.busy = 0.0
        self._events = events
        self._free = list(range(count))[::-1]
        self._queue: deque[tuple[float, Action]] = deque()

    def work(self, seconds: float, done: Action) -> None:
        """Do a piece of work as soon as a core is free.

        Args:
            seconds: of one core.
            done: what happens then.
        """
        self._queue.append((seconds, done))
        if self._free:
            self._begin()

    def _begin(self) -> None:
        core = self._free.pop()
        seconds, done = self._queue.popleft()
        self._events.after(seconds, lambda: self._end(core, seconds, done))

    def _end(self, core: int, seconds: float, done: Action) -> None:
        self.busy += seconds
        self._free.append(core)
        if self._queue:
            self._begin()
        done()
