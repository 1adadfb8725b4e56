"""Cores of a server: gradients are applied in the order in which they came."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from foretrain.events import Action
from foretrain.queueing.servers.spans import Context

Wanted = Callable[[], bool]


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
        self._queue: deque[tuple[float, Action, Wanted]] = deque()

    def work(self, seconds: float, done: Action, wanted: Wanted) -> None:
        """Do a piece of work as soon as a core is free.

        Args:
            seconds: of one core.
            done: what happens then.
            wanted: asked when a core is free: whether it still has to be done.
        """
        self._queue.append((seconds, done, wanted))
        self._begin()

    def _begin(self) -> None:
        """Begin what is wanted as long as a core is free."""
        while self._free and self._queue:
            seconds, done, wanted = self._queue.popleft()
            if wanted():
                self._occupy(self._free.pop(), seconds, done)

    def _occupy(self, core: int, seconds: float, done: Action) -> None:
        start = self._events.now

        def end() -> None:
            self.busy += seconds
            self._context.applied(self._server, core, start)
            self._free.append(core)
            done()  # may make others unwanted
            self._begin()

        self._events.after(seconds, end)
