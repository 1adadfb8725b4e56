"""Cores of a server: gradients are applied in the order in which they came."""

from __future__ import annotations

from collections import deque

from foretrain.events import Action
from foretrain.queueing.servers.spans import Context


class ServerCores:
    """Cores that each do one piece of work at a time, first come first served.

    Attributes:
        busy: core seconds of work that was done.
    """

    __slots__ = ("_context", "_events", "_free", "_queue", "_server", "busy")

    def __init__(self, context: Context, *, count: int, server: int) -> None:
        """All are free.

        Args:
            context: of the simulation.
            count: cores.
            server: whose they are.
        """
        self.busy = 0.0
        self._context = context
        self._events = context.events
        self._server = server
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
        core, start = self._free.pop(), self._events.now
        seconds, done = self._queue.popleft()

        def end() -> None:
            self.busy += seconds
            self._context.applied(self._server, core, start)
            self._free.append(core)
            if self._queue:
                self._begin()
            done()

        self._events.after(seconds, end)
