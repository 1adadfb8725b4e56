"""Policies of links: which of several transfers gets how much of a link.

A connection carries all that one worker pulls, or pushes. Connections share the servers' links
equally; a policy says which of a connection's messages are under way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from foretrain.events import Action
from foretrain.plan.servers import LinkPolicy
from foretrain.queueing.servers.links import SharedLink

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
