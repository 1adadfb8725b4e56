"""Links: transfers that share the bytes per second of a server, as a fluid.

A transfer goes over one direction of a server's link and of its worker's link. Servers that are
alike, and get equal parts of everything at the same moments, are one link of their summed rate.

Source: kleinrock1976, section 4.4 (processor sharing).
"""

from __future__ import annotations

from heapq import heappop, heappush

from foretrain.events import Action, Events


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


class QueuedMessage:
    """A message that waits or is under way; all that a queue knows of it."""

    __slots__ = ("done", "left", "rate", "worker")

    def __init__(self, size: float, worker: int, done: Action) -> None:
        """It waits."""
        self.left = size
        self.rate = 0.0
        self.worker = worker
        self.done = done


class FifoLink:
    """A link that carries messages in the order in which they were asked for.

    The first gets as much as its worker's link takes; what is left of the rate goes to the next one
    of another worker, and so on.
    """

    __slots__ = ("_capacity", "_event", "_events", "_most", "_queue", "_since", "_spare",
                 "_under_way", "carried")  # fmt: skip

    def __init__(self, events: Events, *, capacity: float, most: float) -> None:
        """Nothing is under way.

        Args:
            events: the clock.
            capacity: bytes per second of the link.
            most: bytes per second of a worker's link.
        """
        self.carried = 0.0
        self._events = events
        self._capacity = self._spare = capacity
        self._most = most
        self._queue: list[QueuedMessage] = []
        self._under_way: list[QueuedMessage] = []
        self._since = 0.0
        self._event = -1

    def send(self, size: float, done: Action, *, worker: int) -> None:
        """Begin a message of some bytes as soon as those before it let it."""
        self._queue.append(QueuedMessage(size, worker, done))
        if self._spare > 0:
            self._advance()
            self._expect()

    def _advance(self) -> None:
        seconds = self._events.now - self._since
        self._since = self._events.now
        for message in self._under_way:
            carried = min(message.rate * seconds, message.left)
            message.left -= carried
            self.carried += carried

    def _expect(self) -> None:
        """Say who is under way, and ask for the next end."""
        self._under_way, self._spare = [], self._capacity
        busy: set[int] = set()
        for message in self._queue:
            if message.worker not in busy:
                busy.add(message.worker)
                message.rate = min(self._most, self._spare)
                self._under_way.append(message)
                self._spare -= message.rate
                if self._spare < ROUNDED * self._capacity:
                    self._spare = 0.0
                    break
        self._events.cancel(self._event)
        if self._under_way:
            first = min(message.left / message.rate for message in self._under_way)
            self._event = self._events.after(first, self._end)

    def _end(self) -> None:
        first = min(message.left / message.rate for message in self._under_way)
        for message in self._under_way:
            carried = message.left if message.left / message.rate <= first else message.rate * first
            message.left -= carried
            self.carried += carried
        self._since = self._events.now
        ended = [message for message in self._under_way if not message.left]
        self._queue = [message for message in self._queue if message not in ended]
        self._expect()
        for message in ended:
            message.done()


ROUNDED = 1e-12
"""Share of a link's rate that rounding may leave over."""
