"""Start-up: how long nodes launch, open and read what they need before they train.

Source: hashemi2016, of which only the abstract is public: the findings are theirs (start-up
dominates, for its files are read badly), every formula is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from foretrain.cluster.cluster import Storage
from foretrain.errors import InputError
from foretrain.plan.startup import Access, StartUp
from foretrain.workload.workload import Data

Number = float | NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StartTime:
    """Seconds before the first step. [nodes]

    Attributes:
        launch: of processes.
        metadata: of files that are opened.
        reading: until nodes have the data; where they begin one after another, on average.
    """

    launch: Number
    metadata: Number
    reading: Number

    @property
    def total(self) -> Number:
        """One comes after the other. [nodes]"""
        return self.launch + self.metadata + self.reading


def start_time(start: StartUp, data: Data, *, nodes: Number, barrier: bool = False) -> StartTime:
    """Seconds before the first step. [nodes]

    Args:
        start: what nodes do.
        data: the data set; without `sample_bytes` nothing is read.
        nodes: how many. [nodes]
        barrier: whether no node trains before all have their data.
    """
    size = data.samples * (data.sample_bytes or 0.0)
    one = np.ones_like(nodes, np.float64)
    openers, part = {
        Access.UNSHARDED: (nodes, one),
        Access.SHARDED: (nodes, one / nodes),
        Access.BROADCAST: (one, one),
        Access.CACHED: (0.0 * one, 0.0 * one),
        Access.STAGGERED: (nodes, one),
    }[start.access]
    opens = start.files * part
    together = 0.0 if start.total_opens is None else openers * opens / start.total_opens
    return StartTime(
        launch=start.launch + start.node_launch * nodes,
        metadata=np.maximum(opens * start.opening, together),
        reading=_reading(start, size, nodes=nodes, barrier=barrier),
    )


def _reading(start: StartUp, size: float, *, nodes: Number, barrier: bool) -> Number:
    """Seconds until nodes have the data. [nodes]"""
    alone = _read(start.storage, size, readers=1.0)
    if start.access is Access.UNSHARDED:
        return _read(start.storage, size, readers=nodes)
    if start.access is Access.SHARDED:
        return _read(start.storage, size / nodes, readers=nodes)
    if start.access is Access.BROADCAST:
        if start.link is None:
            raise InputError("StartUp.link must be given where access is 'broadcast'.")
        # Passed on piece by piece down a tree, while what comes next is read.
        passed = np.where(nodes > 1, size / start.link, 0.0)
        return np.maximum(alone, passed) + np.ceil(np.log2(nodes)) * start.latency
    if start.access is Access.CACHED:
        assert start.local, "a cache without a bandwidth was not refused"
        return size / start.local + 0.0 * nodes
    total = start.storage.total_read
    at_once = nodes + 0.0 if total is None else max(1.0, total // start.storage.read)
    turns = np.ceil(nodes / at_once)
    if barrier:
        return turns * alone
    # Each full turn but the last has as many nodes as are served at once.
    before = (turns - 1.0) * at_once
    ends = turns * (turns - 1.0) / 2.0 * at_once + turns * (nodes - before)
    return alone * ends / nodes


def _read(storage: Storage, size: Number, *, readers: Number) -> Number:
    """Seconds in which so many nodes read so many bytes each, all at once. [nodes]"""
    total = inf if storage.total_read is None else storage.total_read
    return np.maximum(size / storage.read, readers * size / total)
