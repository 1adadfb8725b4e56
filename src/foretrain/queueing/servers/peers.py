"""Training without servers: workers add up gradients in a ring, or average with one another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Protocol

from foretrain.plan.servers import Training
from foretrain.queueing.servers.sides import joined, links_used, node_mesh
from foretrain.queueing.servers.spans import Context

Exchanged = Callable[[float], None]
"""What happens after an exchange; takes the time at which it really began."""


class Peers(Protocol):
    """How workers exchange."""

    def exchange(self, worker: int, done: Exchanged) -> None:
        """A worker has computed, and exchanges with others."""
        ...

    def used(self, seconds: float) -> Mapping[str, float]:
        """Utilisation of links over so many seconds, by kind."""
        ...


class Ring:
    """An all-reduce that begins when the last worker has come.

    Every worker passes 2 (n - 1) parts of 1/n of the gradients on to its neighbour, each a latency
    and the bytes.

    Source: patarasuk2009, equation 4.
    """

    def __init__(self, training: Training, context: Context) -> None:
        """Nobody has come.

        Args:
            training: sizes, links and latency.
            context: of the simulation.
        """
        self._context = context
        self._link = training.worker.link
        count = context.workers
        self._bytes = 2.0 * (count - 1) / count * training.worker.pushed
        self._seconds = 2.0 * (count - 1) * training.latency + self._bytes / self._link
        self._came: list[Exchanged] = []
        self._carried = 0.0

    def exchange(self, worker: int, done: Exchanged) -> None:
        """Wait for the others, and then around the ring."""
        self._came.append(done)
        if len(self._came) == self._context.workers:
            self._context.events.after(self._seconds, partial(self._end, self._context.events.now))

    def used(self, seconds: float) -> Mapping[str, float]:
        """Utilisation of links over so many seconds, by kind."""
        share = self._carried / (self._link * seconds)
        return {"worker egress": share, "worker ingress": share}

    def _end(self, begun: float) -> None:
        self._carried += self._bytes
        came, self._came = self._came, []
        count = self._context.workers
        for worker in range(count if count > 1 else 0):
            self._context.transfer(self._bytes, begun, source=worker, target=(worker + 1) % count)
        for done in came:
            done(begun)


class Pairs:
    """A worker sends to one other, drawn at random, and gets from it; that one is not held up.

    Source: lian2018, algorithm 1.
    """

    def __init__(self, training: Training, context: Context, *, pick: Callable[[int], int]) -> None:
        """Nobody exchanges.

        Args:
            training: sizes, links and latency.
            context: of the simulation.
            pick: a whole number from 0 on, below another, at random.
        """
        self._training = training
        self._context = context
        self._pick = pick
        self._mesh = node_mesh(training.worker, context)

    def exchange(self, worker: int, done: Exchanged) -> None:
        """Send to a partner and get from it, over links that others use too."""
        context, events = self._context, self._context.events
        end = partial(done, events.now)
        if context.workers == 1:
            events.after(0.0, end)
            return
        partner = self._pick(context.workers - 1)
        partner += partner >= worker
        part = joined(2, end)
        sizes = self._training.worker.pushed, self._training.worker.pulled
        for size, (source, target) in zip(
            sizes, ((worker, partner), (partner, worker)), strict=True
        ):
            ended = context.noted(size, part, source=source, target=target)
            send = partial(self._mesh.send, size, (source, context.workers + target), ended)
            events.after(self._training.latency, send)

    def used(self, seconds: float) -> Mapping[str, float]:
        """Utilisation of links over so many seconds, by kind."""
        return links_used(self._mesh, self._training.worker, seconds)
