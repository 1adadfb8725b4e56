"""Training with parameter servers: what a worker does in a step, and who serves it.

A worker pulls parameters, computes the gradients of its own batch, and pushes them; servers hold
parts of the parameters and apply what comes. Sizes and seconds are those of the whole model; a
server has its part of them.

Sources: li2014, section 3 (parameter servers); ho2013 (bounded staleness); chen2016-backup (backup
workers); lian2018 (pairwise averaging).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from foretrain.distributions import Distribution
from foretrain.errors import InputError


class Aggregation(StrEnum):
    """Who adds up gradients."""

    SERVERS = "servers"
    """Parameter servers."""
    ALL_REDUCE = "all-reduce"
    """Nobody: workers add them up among themselves, all at once."""
    PAIRWISE = "pairwise"
    """Nobody: a worker averages its parameters with one other's at a time. Source: lian2018."""


class LinkPolicy(StrEnum):
    """Who gets a link on which several messages are under way."""

    FAIR = "fair"
    """All share it equally: connections a server's link, messages a connection."""
    FIFO = "fifo"
    """The one that was asked for first has all of it that its worker can take, whosever it is."""
    WINDOWS = "windows"
    """The first window of each message in the order of requests, the rest in turns.

    Source: rfc9113, section 5.2: streams of one connection under flow control.
    """
    ORDER = "order"
    """The one that is needed first has all of its connection. Source: hashemi2019, abstract."""
    BUFFERED = "buffered"
    """Senders go at their own links' rates; a switch keeps what a receiver cannot take yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Updates:
    """When a worker may go on.

    Attributes:
        stale: steps that a worker may be ahead of the slowest: 0 is synchronous (a barrier at every
            step), None asynchronous. Source: ho2013.
        backup: workers that a synchronous step does not wait for. Source: chen2016-backup.
    """

    stale: int | None = 0
    backup: int = 0

    def __post_init__(self) -> None:
        if self.stale is not None and not self.stale >= 0:
            raise InputError(f"Updates.stale must be at least 0 steps, got {self.stale}.")
        if not self.backup >= 0:
            raise InputError(f"Updates.backup must be at least 0 workers, got {self.backup}.")
        if self.backup and self.stale != 0:
            raise InputError("Updates.backup is for synchronous updates, where stale is 0.")


MOST = 100_000
"""Servers, and cores of one, that are taken for meant."""

SYNCHRONOUS = Updates()
ASYNCHRONOUS = Updates(stale=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """One step of one worker.

    Attributes:
        compute: seconds of the forward and backward pass of its batch.
        samples: of that batch, above 0.
        pulled: bytes of parameters that it receives.
        pushed: bytes of gradients that it sends, after compression.
        link: bytes per second of its connection, in each direction.
    """

    compute: Distribution
    samples: float
    pulled: float
    pushed: float
    link: float

    def __post_init__(self) -> None:
        if not self.samples > 0:
            raise InputError(f"Worker.samples must be above 0, got {self.samples}.")
        for name in ("pulled", "pushed"):
            if not getattr(self, name) >= 0:
                raise InputError(f"Worker.{name} must be at least 0 B, got {getattr(self, name)}.")
        if not self.link > 0:
            raise InputError(f"Worker.link must be above 0 B/s, got {self.link}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """Parameter servers, each with an equal part of the parameters.

    Attributes:
        count: how many, at least 1.
        link: bytes per second of one server's connection, in each direction; None for that of a
            worker.
        latency: seconds before the first byte of a message arrives.
        update: core seconds that applying one worker's gradients of the whole model takes, over all
            servers together.
        cores: of one server, at least 1, each applying one worker's gradients at a time.
        colocated: whether they run on the workers' nodes and share their links.
    """

    count: int = 1
    link: float | None = None
    latency: float = 0.0
    update: float = 0.0
    cores: int = 1
    colocated: bool = False

    def __post_init__(self) -> None:
        for name in ("count", "cores"):
            if not 1 <= getattr(self, name) <= MOST:
                raise InputError(
                    f"Servers.{name} must be from 1 to {MOST:,}, got {getattr(self, name)}."
                )
        if self.link is not None and not self.link > 0:
            raise InputError(f"Servers.link must be above 0 B/s, got {self.link}.")
        for name in ("latency", "update"):
            if not getattr(self, name) >= 0:
                raise InputError(f"Servers.{name} must be at least 0 s, got {getattr(self, name)}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """What many workers train together.

    Attributes:
        worker: every worker's step.
        aggregation: who adds up gradients.
        servers: those that do, where servers do.
        updates: when a worker may go on.
        latency: seconds before the first byte of a message between workers arrives.
        waste: samples more that are needed, as a share, for each update of others that gradients
            have not seen. Nothing here predicts it, so it is stated; 0 says that it costs nothing.
    """

    worker: Worker
    aggregation: Aggregation = Aggregation.SERVERS
    servers: Servers | None = None
    updates: Updates = SYNCHRONOUS
    latency: float = 0.0
    waste: float = 0.0

    def __post_init__(self) -> None:
        check_together(self.aggregation, self.servers, self.updates)
        if not self.latency >= 0:
            raise InputError(f"Training.latency must be at least 0 s, got {self.latency}.")
        if not 0 <= self.waste < 1:
            raise InputError(f"Training.waste must be at least 0 and below 1, got {self.waste}.")

    @property
    def server_link(self) -> float:
        """Bytes per second of one server's connection, in each direction."""
        assert self.servers is not None, "a training without servers has no link of theirs"
        return self.servers.link or self.worker.link


def check_together(aggregation: Aggregation, servers: Servers | None, updates: Updates) -> None:
    """Refuse servers that nobody asks, and an all-reduce that does not wait for all."""
    if (aggregation is Aggregation.SERVERS) != (servers is not None):
        raise InputError("Training.servers belongs to aggregation = 'servers', and to no other.")
    if aggregation is Aggregation.ALL_REDUCE and updates.stale != 0:
        raise InputError("An all-reduce is synchronous: nobody goes on before all have come.")
