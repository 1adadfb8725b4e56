"""Links that transfers share, and which transfer gets how much.

Links: transfers that share the bytes per second of a server, as a fluid.

A transfer goes over one direction of a server's link and of its worker's link. Servers that are
alike, and get equal parts of everything at the same moments, are one link of their summed rate.

Source: kleinrock1976, section 4.4 (processor sharing).

Policies of links: which of several transfers gets how much of a link.

A connection carries all that one worker pulls, or pushes. Connections share the servers' links
equally; a policy says which of a connection's messages are under way.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Protocol

from foretrain.events import Action, Events
from foretrain.plan.servers import LinkPolicy


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


FIRST_WINDOW = 65_535.0
"""Bytes of a message that are sent before a receiver says go on. Source: rfc9113, section 6.9.2."""


class MessageInFlight:
    """A message of a connection; all that a policy knows of it.

    Attributes:
        window: bytes that are left of its first window.
        rest: bytes that are left after it.
        rank: of two messages the lower is needed first.
        done: what happens when all of it has come.
    """

    __slots__ = ("done", "rank", "rest", "window")

    def __init__(self, size: float, *, window: float, rank: int, done: Action) -> None:
        """Nothing of it is sent."""
        self.window = min(window, size)
        self.rest = size - self.window
        self.rank = rank
        self.done = done

    @property
    def until(self) -> float:
        """Bytes until its first window is through, or until all of it is after that."""
        return self.window or self.rest

    def carry(self, size: float) -> None:
        """Some bytes of it have come, none beyond `until`."""
        if self.window:
            self.window = max(self.window - size, 0.0)
        else:
            self.rest = max(self.rest - size, 0.0)


class MessageOrder(Protocol):
    """Which messages of a connection are under way."""

    def sent(self, messages: Sequence[MessageInFlight]) -> Sequence[MessageInFlight]:
        """Those that share the connection now, equally, out of all in the order of requests."""
        ...


class EqualShares:
    """All of them."""

    def sent(self, messages: Sequence[MessageInFlight]) -> Sequence[MessageInFlight]:
        """All."""
        return messages


class WindowsFirst:
    """The first of which the first window is not through; then all of them.

    Turns are of a window each: so short against a message that all seem to advance at once.
    """

    def sent(self, messages: Sequence[MessageInFlight]) -> Sequence[MessageInFlight]:
        """One, or all."""
        for message in messages:
            if message.window:
                return (message,)
        return messages


class NeededFirst:
    """The one of the lowest rank; it interrupts others."""

    def sent(self, messages: Sequence[MessageInFlight]) -> Sequence[MessageInFlight]:
        """One."""
        return (min(messages, key=lambda message: message.rank),)


ORDERS: dict[LinkPolicy, MessageOrder] = {
    LinkPolicy.FAIR: EqualShares(),
    LinkPolicy.WINDOWS: WindowsFirst(),
    LinkPolicy.ORDER: NeededFirst(),
}
"""Policies inside a connection; in the order of arrival, messages queue for the link itself."""


class Connection:
    """Messages of one worker in one direction, over a link that connections share."""

    def __init__(self, link: SharedLink, order: MessageOrder, *, window: float) -> None:
        """Nothing is under way.

        Args:
            link: of the servers.
            order: of the messages.
            window: bytes of the first window of a message.
        """
        self._link = link
        self._order = order
        self._window = window
        self._messages: list[MessageInFlight] = []
        self._under_way: Sequence[MessageInFlight] = ()
        self._asked = 0.0
        self._transfer = -1

    def send(self, size: float, done: Action, *, rank: int) -> None:
        """Begin a message.

        Args:
            size: bytes.
            done: what happens when all of it has come.
            rank: of two messages the lower is needed first.
        """
        if self._under_way:
            carried = self._asked - self._link.withdraw(self._transfer)
            for message in self._under_way:
                message.carry(carried / len(self._under_way))
        self._messages.append(MessageInFlight(size, window=self._window, rank=rank, done=done))
        self._go_on()

    def _go_on(self) -> None:
        """Ask the link for as many bytes as it carries before another message has its turn."""
        self._under_way = tuple(self._order.sent(self._messages)) if self._messages else ()
        if self._under_way:
            least = min(message.until for message in self._under_way)
            self._asked = least * len(self._under_way)
            self._transfer = self._link.send(self._asked, self._carried)

    def _carried(self) -> None:
        least = min(message.until for message in self._under_way)
        for message in self._under_way:
            message.carry(least)
        ended = [message for message in self._under_way if not message.until]
        self._messages = [message for message in self._messages if message.until]
        self._go_on()
        for message in ended:
            message.done()
