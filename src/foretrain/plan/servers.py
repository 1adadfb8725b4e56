"""Training with parameter servers: what a worker does in a step, and who serves it.

A worker pulls parameters, computes the gradients of its own batch, and pushes them; servers hold
parts of the parameters and apply what comes. Sizes and seconds are those of the whole model; a
server has its part of them.

Sources: li2014, section 3 (parameter servers); ho2013 (bounded staleness); chen2016-backup (backup
workers); lian2018 (pairwise averaging).

Whole jobs: what nodes do before they train, how they come to the data set, how much they learn.

Source: hashemi2016, of which only the abstract is public: the findings are theirs (start-up
dominates, for its files are read badly), the terms are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import inf

from foretrain.cluster.cluster import Storage
from foretrain.distributions import Distribution
from foretrain.errors import InputError
from foretrain.workload.workload import Data


class Access(StrEnum):
    """How the nodes of a job come to the data set before they train."""

    UNSHARDED = "unsharded"
    """Each node reads all of it, all at once."""
    SHARDED = "sharded"
    """Each node reads a part of its own."""
    BROADCAST = "broadcast"
    """One node reads all of it, and nodes pass it on to one another meanwhile."""
    CACHED = "cached"
    """Each node has it already, on disks or in memory of its own."""
    STAGGERED = "staggered"
    """Each node reads all of it, as many at once as the file system serves at full speed; those
    that have it train meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartUp:
    """What nodes do before their first step.

    Attributes:
        storage: the file system, as nodes read it.
        access: how they come to the data set.
        files: of the data set, each of which is opened once by whoever reads it.
        opening: seconds in which a node opens one; it opens them one after another.
        total_opens: files per second that the file system opens for all nodes; None for any number.
        launch: seconds in which a job starts, whatever its nodes.
        node_launch: seconds that each node adds.
        link: bytes per second between two nodes, for a broadcast; None for that of the workers.
        latency: seconds before the first byte between two nodes arrives.
        local: bytes per second that a node reads of what it has; None if it has nothing.
    """

    storage: Storage
    access: Access = Access.UNSHARDED
    files: float = 0.0
    opening: float = 0.0
    total_opens: float | None = None
    launch: float = 0.0
    node_launch: float = 0.0
    link: float | None = None
    latency: float = 0.0
    local: float | None = None

    def __post_init__(self) -> None:
        for name in ("files", "opening", "launch", "node_launch", "latency"):
            if not 0 <= getattr(self, name) < inf:
                raise InputError(f"StartUp.{name} must be at least 0, got {getattr(self, name)}.")
        for name in ("total_opens", "link", "local"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InputError(f"StartUp.{name} must be above 0, got {value}.")
        if self.access is Access.CACHED and self.local is None:
            raise InputError("StartUp.local must be given where access is 'cached'.")


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeJob:
    """A training from its start to its end, whatever its workers do.

    Attributes:
        start: what nodes do before the first step.
        data: the data set.
        epochs: how many, above 0.
        cores: of a node, that prepare samples; None where preparing never limits.
        held: share of what a step reads that nodes hold since the start, from 0 to 1.
    """

    start: StartUp
    data: Data
    epochs: float = 1.0
    cores: int | None = None
    held: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.epochs < inf:
            raise InputError(f"WholeJob.epochs must be above 0, got {self.epochs}.")
        if self.cores is not None and not self.cores >= 1:
            raise InputError(f"WholeJob.cores must be at least 1, got {self.cores}.")
        if not 0 <= self.held <= 1:
            raise InputError(f"WholeJob.held must lie from 0 to 1, got {self.held}.")


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
