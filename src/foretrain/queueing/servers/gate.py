"""When a worker may go on: at once, when the slowest is near enough, or when enough have come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from foretrain.plan.servers import Updates

Start = Callable[[int], None]


class Gate(Protocol):
    """Lets workers begin their next step."""

    def finish(self, worker: int) -> None:
        """A worker has ended a step; whoever may go on now does."""
        ...


def gate(updates: Updates, *, workers: int, start: Start) -> Gate:
    """The gate of a kind of updates.

    Args:
        updates: when a worker may go on.
        workers: how many.
        start: begins a worker's next step.
    """
    if updates.backup:
        return BackupGate(workers, enough=workers - updates.backup, start=start)
    if updates.stale is None:
        return OpenGate(start)
    return StaleGate(workers, stale=updates.stale, start=start)


class OpenGate:
    """Asynchronous: everybody goes on at once."""

    def __init__(self, start: Start) -> None:
        """Nobody has begun."""
        self._start = start

    def finish(self, worker: int) -> None:
        """It goes on."""
        self._start(worker)


class StaleGate:
    """Nobody is more than some steps ahead of the slowest; 0 is a barrier.

    Source: ho2013, section 2: bounded staleness.
    """

    def __init__(self, workers: int, *, stale: int, start: Start) -> None:
        """Nobody has begun."""
        self._stale = stale
        self._start = start
        self._ended = [0] * workers
        self._behind = {0: workers}
        self._slowest = 0
        self._waiting: dict[int, list[int]] = {}

    def finish(self, worker: int) -> None:
        """It goes on, or waits; if it was the last of the slowest, others go on too."""
        before = self._ended[worker]
        now = self._ended[worker] = before + 1
        self._behind[before] -= 1
        self._behind[now] = self._behind.get(now, 0) + 1
        self._waiting.setdefault(now, []).append(worker)
        if not self._behind[self._slowest]:
            del self._behind[self._slowest]
            self._slowest += 1
        for ended in list(self._waiting):
            if ended <= self._slowest + self._stale:
                for each in self._waiting.pop(ended):
                    self._start(each)


class BackupGate:
    """A step ends when enough workers have; the others leave theirs and begin the next with them.

    Source: chen2016, section 3: synchronous training with backup workers.
    """

    def __init__(self, workers: int, *, enough: int, start: Start) -> None:
        """Nobody has begun."""
        self._workers = workers
        self._enough = enough
        self._start = start
        self._ended = 0

    def finish(self, worker: int) -> None:
        """It waits; if enough have come, all begin anew."""
        self._ended += 1
        if self._ended == self._enough:
            self._ended = 0
            for each in range(self._workers):
                self._start(each)
