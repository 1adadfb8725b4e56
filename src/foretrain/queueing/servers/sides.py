"""Servers as workers see them: links, cores, and where they stand."""

from __future__ import annotations

from foretrain.events import Action, Events
from foretrain.queueing.servers.cores import ServerCores
from foretrain.queueing.servers.links import DirectedLink, FifoLink, SharedLink
from foretrain.queueing.servers.policies import LinkPolicy
from foretrain.queueing.training import Servers, Worker


class OwnNodes:
    """Servers on nodes of their own.

    They are alike and get equal parts of everything at the same moments: so one link of their
    summed rate stands for all, and the cores of one for those of each.
    """

    def __init__(
        self, servers: Servers, worker: Worker, *, events: Events, policy: LinkPolicy
    ) -> None:
        """Nothing is under way.

        Args:
            servers: that there are.
            worker: whose link bounds a transfer.
            events: the clock.
            policy: of the servers' links.
        """
        self._servers = servers
        self._events = events
        kind = FifoLink if policy is LinkPolicy.FIFO else SharedLink
        self._capacity = servers.count * servers.link
        self._down: DirectedLink = kind(events, capacity=self._capacity, most=worker.link)
        self._up: DirectedLink = kind(events, capacity=self._capacity, most=worker.link)
        self._cores = ServerCores(events, count=servers.cores)

    def pull(self, worker: int, size: float, done: Action) -> None:
        """Carry some bytes of parameters to a worker, the latency first."""
        self._send(self._down, size, done)

    def push(self, worker: int, size: float, done: Action) -> None:
        """Carry some bytes of gradients to the servers, the latency first."""
        self._send(self._up, size, done)

    def apply(self, worker: int, seconds: float, done: Action) -> None:
        """Let the servers' cores work for some core seconds in all."""
        self._cores.work(seconds / self._servers.count, done)

    def _send(self, link: DirectedLink, size: float, done: Action) -> None:
        def begin() -> None:
            link.send(size, done)

        if self._servers.latency:
            self._events.after(self._servers.latency, begin)
        else:
            begin()
