"""Links behind a switch that keeps what a receiver's link cannot take yet.

A sender goes at the rate of its own link, however slow the receiver's is: what is too much waits in
the switch, and leaves in the order in which it came. So two links of a transfer are busy one after
the other, as its bytes are, and a short transfer does not wait for all of a long one that began
earlier, nor the reverse. Buffers are assumed to hold all that is under way: nothing is lost.

Source: leboudec2001, section 1.1 (a node with a buffer as a function of what has come).
"""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.events import Action, Events


class IntoServers:
    """Workers send, each at the rate of its own link, and one link of the servers takes it all."""

    __slots__ = ("_capacity", "_events", "_most", "_sending", "_since", "_waiting", "carried")

    def __init__(self, events: Events, *, capacity: float, most: float) -> None:
        """Nothing is under way.

        Args:
            events: the clock.
            capacity: bytes per second of the servers' links together.
            most: bytes per second of a worker's link.
        """
        self.carried = 0.0
        self._events = events
        self._capacity = capacity
        self._most = most
        self._sending = 0
        self._waiting = 0.0
        self._since = 0.0

    def send(self, size: float, done: Action) -> None:
        """Begin a transfer of some bytes by a worker that sends nothing else."""
        self._advance()
        self._sending += 1
        self._events.after(size / self._most, lambda: self._sent(size, done))

    def _sent(self, size: float, done: Action) -> None:
        """The last byte is in the switch, behind all that came before it."""
        self._advance()
        self._sending -= 1
        self.carried += size
        self._events.after(self._waiting / self._capacity, done)

    def _advance(self) -> None:
        now = self._events.now
        more = self._sending * self._most - self._capacity
        self._waiting = max(self._waiting + more * (now - self._since), 0.0)
        self._since = now


@dataclass(slots=True)
class OutgoingTransfer:
    """A transfer from the servers to a worker.

    Attributes:
        size: bytes.
        left: bytes that the servers have not sent.
        waiting: bytes in the switch, before the worker's link.
        done: what happens when the last byte has come.
    """

    size: float
    left: float
    waiting: float
    done: Action


class OutOfServers:
    """Servers send to all workers at equal rates; each worker's link takes what comes for it."""

    __slots__ = ("_capacity", "_event", "_events", "_most", "_since", "_transfers", "carried")

    def __init__(self, events: Events, *, capacity: float, most: float) -> None:
        """Nothing is under way.

        Args:
            events: the clock.
            capacity: bytes per second of the servers' links together.
            most: bytes per second of a worker's link.
        """
        self.carried = 0.0
        self._events = events
        self._capacity = capacity
        self._most = most
        self._transfers: list[OutgoingTransfer] = []
        self._since = 0.0
        self._event = -1

    def send(self, size: float, done: Action) -> None:
        """Begin a transfer of some bytes to a worker that gets nothing else."""
        self._advance()
        self._transfers.append(OutgoingTransfer(size=size, left=size, waiting=0.0, done=done))
        self._expect()

    def _advance(self) -> None:
        now = self._events.now
        if self._transfers:
            seconds = now - self._since
            sent = self._capacity / len(self._transfers) * seconds
            for each in self._transfers:
                each.left -= sent
                each.waiting = max(each.waiting + sent - self._most * seconds, 0.0)
        self._since = now

    def _expect(self) -> None:
        """Ask for the end of the transfer of which least is left."""
        self._events.cancel(self._event)
        if self._transfers:
            least = max(min(each.left for each in self._transfers), 0.0)
            self._event = self._events.after(
                least * len(self._transfers) / self._capacity, self._sent
            )

    def _sent(self) -> None:
        """The last byte of one or more is in the switch, behind the others of its worker."""
        self._advance()
        least = min(each.left for each in self._transfers)
        ended = [each for each in self._transfers if each.left <= least]
        self._transfers = [each for each in self._transfers if each.left > least]
        self._expect()
        for each in ended:
            self.carried += each.size
            self._events.after(each.waiting / self._most, each.done)
