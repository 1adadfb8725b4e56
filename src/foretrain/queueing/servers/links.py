"""Links: transfers that share the bytes per second of a server, as a fluid.

A transfer goes over one direction of a server's link and of its worker's link. Servers that are
alike, and get equal parts of everything at the same moments, are one link of their summed rate.

Sources: kleinrock1976, section 4.4 (processor sharing); bertsekas1992, section 6.5.2 (max-min fair
rates by progressive filling).
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from typing import Protocol

from foretrain.events import Action, Events


class DirectedLink(Protocol):
    """One direction of a server's link.

    Attributes:
        carried: bytes so far.
    """

    carried: float

    def send(self, size: float, done: Action) -> object:
        """Begin a transfer.

        Args:
            size: bytes, at least 0.
            done: what happens when the last of them has come.
        """
        ...


class SharedLink:
    """A link of which all transfers under way get the same rate.

    All of them have carried equally many bytes since any moment, so one number says how far each
    is, and a change costs the logarithm of their count.
    """

    __slots__ = ("_capacity", "_event", "_events", "_most", "_numbers", "_queue", "_sent",
                 "_served", "_since", "carried")  # fmt: skip

    def __init__(self, events: Events, *, capacity: float, most: float) -> None:
        """Nothing is under way.

        Args:
            events: the clock.
            capacity: bytes per second of all transfers together.
            most: bytes per second of one of them, which its worker's link allows.
        """
        self.carried = 0.0
        self._events = events
        self._capacity = capacity
        self._most = most
        self._queue: list[tuple[float, int, Action]] = []
        self._numbers: dict[int, float] = {}
        self._sent = 0
        self._served = 0.0
        self._since = 0.0
        self._event = -1

    def send(self, size: float, done: Action) -> int:
        """Begin a transfer of some bytes; the number by which it can be withdrawn."""
        self._advance()
        number = self._sent
        self._sent = number + 1
        until = self._served + size
        self._numbers[number] = until
        heappush(self._queue, (until, number, done))
        self._expect()
        return number

    def withdraw(self, transfer: int) -> float:
        """Take a transfer off the link; the bytes that it had not carried yet."""
        self._advance()
        left = self._numbers.pop(transfer) - self._served
        self._expect()
        return left

    def _advance(self) -> None:
        now, count = self._events.now, len(self._numbers)
        if count:
            served = self._rate(count) * (now - self._since)
            self._served += served
            self.carried += served * count
        else:
            self._served = 0.0  # keeps the digits of a sum that would only grow
        self._since = now

    def _rate(self, count: int) -> float:
        return min(self._most, self._capacity / count)

    def _expect(self) -> None:
        """Ask for the end of the transfer that has least left."""
        queue, numbers = self._queue, self._numbers
        self._events.cancel(self._event)
        while queue and queue[0][1] not in numbers:
            heappop(queue)
        if queue:
            left = max(queue[0][0] - self._served, 0.0)
            self._event = self._events.after(left / self._rate(len(numbers)), self._end)

    def _end(self) -> None:
        queue, numbers = self._queue, self._numbers
        until = queue[0][0]
        self.carried += (until - self._served) * len(numbers)
        self._served, self._since = until, self._events.now
        ended = []
        while queue and queue[0][0] <= until:
            _, number, done = heappop(queue)
            if numbers.pop(number, None) is not None:
                ended.append(done)
        self._expect()
        for done in ended:
            done()


class FifoLink:
    """A link that carries one transfer at a time, in the order in which they were asked for."""

    __slots__ = ("_events", "_queue", "_rate", "carried")

    def __init__(self, events: Events, *, capacity: float, most: float) -> None:
        """Nothing is under way.

        Args:
            events: the clock.
            capacity: bytes per second of the link.
            most: bytes per second of a transfer, which its worker's link allows.
        """
        self.carried = 0.0
        self._events = events
        self._rate = min(capacity, most)
        self._queue: deque[tuple[float, Action]] = deque()

    def send(self, size: float, done: Action) -> None:
        """Begin a transfer of some bytes when those before it have ended."""
        self._queue.append((size, done))
        if len(self._queue) == 1:
            self._begin()

    def _begin(self) -> None:
        self._events.after(self._queue[0][0] / self._rate, self._end)

    def _end(self) -> None:
        size, done = self._queue.popleft()
        self.carried += size
        if self._queue:
            self._begin()
        done()
