"""The coarse model: a step is a sequence of phases, of which none overlaps another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from foretrain.events import Action, Events
from foretrain.queueing.servers.tally import Tally

Draw = Callable[[], float]
"""Seconds of a computation."""


class ServerSide(Protocol):
    """How workers reach servers. Each part of what is asked for is done when all servers have."""

    def pull(self, worker: int, size: float, done: Action) -> None:
        """Carry some bytes of parameters to a worker, the latency first."""
        ...

    def push(self, worker: int, size: float, done: Action) -> None:
        """Carry some bytes of gradients to the servers, the latency first."""
        ...

    def apply(self, worker: int, seconds: float, done: Action) -> None:
        """Let the servers' cores work for some core seconds in all."""
        ...


class PhasedWorker:
    """A worker's steps: pull, compute, push, and wait until servers have applied its gradients.

    Attributes:
        left: whether the others have gone on without its step, which then counts for nothing.
    """

    __slots__ = ("_computing", "_draw", "_ended", "_events", "_finish", "_index", "_marks",
                 "_servers", "_sizes", "_tally", "left")  # fmt: skip

    def __init__(
        self,
        index: int,
        servers: ServerSide,
        *,
        events: Events,
        tally: Tally,
        sizes: tuple[float, float, float],
        draw: Draw,
        finish: Callable[[int], None],
    ) -> None:
        """It has not begun.

        Args:
            index: which worker it is.
            servers: whom it trains with.
            events: the clock.
            tally: counts its steps.
            sizes: bytes that it pulls and pushes, and seconds of the servers' cores.
            draw: seconds of its next computation.
            finish: is told its index when a step has ended.
        """
        self.left = False
        self._index = index
        self._servers = servers
        self._events = events
        self._tally = tally
        self._sizes = sizes
        self._draw = draw
        self._finish = finish
        self._marks = [0.0] * 4
        self._ended = events.now
        self._computing = -1

    def begin(self) -> None:
        """Begin a step."""
        now = self._marks[0] = self._events.now
        if self._tally.warm:
            self._tally.phases["wait"] += now - self._ended
        self._servers.pull(self._index, self._sizes[0], self._pulled)

    def leave(self) -> None:
        """Leave the step: nothing of it counts, though what is on its way goes on."""
        self.left = True
        self._events.cancel(self._computing)

    def _pulled(self) -> None:
        if not self.left:
            self._marks[1] = self._events.now
            seconds = self._draw()
            self._tally.computed += seconds
            self._computing = self._events.after(seconds, self._computed)

    def _computed(self) -> None:
        self._marks[2] = self._events.now
        self._servers.push(self._index, self._sizes[1], self._pushed)

    def _pushed(self) -> None:
        if not self.left:
            self._marks[3] = self._events.now
            self._servers.apply(self._index, self._sizes[2], self._applied)

    def _applied(self) -> None:
        if self.left:
            return
        tally, now = self._tally, self._events.now
        if tally.warm:
            phases, (begun, pulled, computed, pushed) = tally.phases, self._marks
            phases["pull"] += pulled - begun
            phases["compute"] += computed - pulled
            phases["push"] += pushed - computed
            phases["update"] += now - pushed
        self._ended = now
        tally.end()
        self._finish(self._index)
