"""Whole jobs: what nodes do before they train, how they come to the data set, how much they learn.

Source: hashemi2016, of which only the abstract is public: the findings are theirs (start-up
dominates, for its files are read badly), the terms are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import inf

from foretrain.cluster.cluster import Storage
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
