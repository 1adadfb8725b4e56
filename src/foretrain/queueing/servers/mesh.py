"""Transfers over links of both ends: at fair rates, and behind a switch that keeps them.

A mesh: transfers that each use two of many links, at max-min fair rates.

Where servers stand on workers' nodes, and where workers exchange with one another, a link is shared
by transfers that come from anywhere. A transfer gets as much as it can without taking from one that
has less. What is not connected to a change keeps its rates.

Source: bertsekas1992, section 6.5.2: progressive filling.

Links behind a switch that keeps what a receiver's link cannot take yet.

A sender goes at the rate of its own link, however slow the receiver's is: what is too much waits in
the switch, and leaves in the order in which it came. So two links of a transfer are busy one after
the other, as its bytes are, and a short transfer does not wait for all of a long one that began
earlier, nor the reverse. Buffers are assumed to hold all that is under way: nothing is lost.

Source: leboudec2001, section 1.1 (a node with a buffer as a function of what has come).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import heapify, heappop, heappush

from foretrain.events import Action, Events


class Flow:
    """A transfer under way; all that a mesh knows of it."""

    __slots__ = ("done", "event", "left", "links", "rate", "since")

    def __init__(self, size: float, links: tuple[int, int], done: Action, *, now: float) -> None:
        """It has not got a rate yet."""
        self.left = size
        self.links = links
        self.done = done
        self.rate = 0.0
        self.since = now
        self.event = -1


class Mesh:
    """Links, each with the transfers that use it.

    Attributes:
        carried: bytes over each link, of transfers that have begun.
    """

    def __init__(self, events: Events, capacities: Sequence[float]) -> None:
        """Nothing is under way.

        Args:
            events: the clock.
            capacities: bytes per second of each link.
        """
        self.carried = [0.0] * len(capacities)
        self._events = events
        self._capacities = capacities
        # Dictionaries keep the order of arrival, and so every run the same history.
        self._on: list[dict[Flow, None]] = [{} for _ in capacities]
        self._changed: set[int] = set()

    def send(self, size: float, links: tuple[int, int], done: Action) -> None:
        """Begin a transfer of some bytes over two links."""
        flow = Flow(size, links, done, now=self._events.now)
        for link in links:
            self._on[link][flow] = None
            self.carried[link] += size
        self._change(links)

    def _change(self, links: Iterable[int]) -> None:
        if not self._changed:
            self._events.once_over(self._settle)
        self._changed.update(links)

    def _settle(self) -> None:
        """New rates for what is connected to the links that changed."""
        links = self._connected()
        flows = {flow: None for link in links for flow in self._on[link]}
        now = self._events.now
        for flow, rate in max_min_rates(flows, self._capacities).items():
            if rate != flow.rate:
                flow.left = max(flow.left - flow.rate * (now - flow.since), 0.0)
                flow.rate, flow.since = rate, now
                self._events.cancel(flow.event)
                flow.event = self._events.after(flow.left / rate, partial(self._end, flow))

    def _connected(self) -> list[int]:
        found = dict.fromkeys(sorted(self._changed))
        self._changed.clear()
        ahead = list(found)
        while ahead:
            for flow in self._on[ahead.pop()]:
                for link in flow.links:
                    if link not in found:
                        found[link] = None
                        ahead.append(link)
        return list(found)

    def _end(self, flow: Flow) -> None:
        for link in flow.links:
            del self._on[link][flow]
        self._change(flow.links)
        flow.done()


def max_min_rates(flows: Iterable[Flow], capacities: Sequence[float]) -> dict[Flow, float]:
    """The rates at which nobody can have more but from one that has less.

    Args:
        flows: transfers, with the two links of each.
        capacities: bytes per second of each link.

    Source: bertsekas1992, section 6.5.2.
    """
    using: dict[int, dict[Flow, None]] = {}
    for flow in flows:
        for link in flow.links:
            using.setdefault(link, {})[flow] = None
    left = {link: capacities[link] for link in using}
    shares = [(left[link] / len(its), link) for link, its in using.items()]
    heapify(shares)
    rates: dict[Flow, float] = {}
    while shares:
        share, link = heappop(shares)
        its = using[link]
        if not its:
            continue
        # Shares only grow while others are filled: one that is out of date comes again, later.
        now = left[link] / len(its)
        if now > share:
            heappush(shares, (now, link))
            continue
        for flow in list(its):
            rates[flow] = share
            for each in flow.links:
                using[each].pop(flow, None)
                left[each] -= share
    return rates


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
