"""Jobs with parameter servers, from start to end: on how many nodes is one done first?

What each node reads for itself at the start grows with their number while training shrinks with it,
so there is a number beyond which a node more costs more than it saves. There is another one beyond
which the servers are busy all the time.

Source: hashemi2016, of which only the abstract is public: the findings are theirs (few nodes are
best, a single server is a bottleneck), every formula is ours.

Start-up: how long nodes launch, open and read what they need before they train.

Source: hashemi2016, of which only the abstract is public: the findings are theirs (start-up
dominates, for its files are read badly), every formula is ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from foretrain.cluster.cluster import Storage
from foretrain.errors import InputError
from foretrain.plan.servers import Access, Aggregation, StartUp, Training, WholeJob
from foretrain.queueing.closed_form import closed_network
from foretrain.workload.workload import Data


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


Number = float | NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepBound:
    """Seconds below which a step of each worker is not. [nodes]

    Attributes:
        own: of a worker that has the servers for itself.
        server: in which the busiest part of a server serves every worker once.
        input: in which the samples come.
    """

    own: Number
    server: Number
    input: Number

    @property
    def total(self) -> Number:
        """The longest. [nodes]"""
        return np.maximum(np.maximum(self.own, self.server), self.input)


def own_seconds(training: Training) -> float:
    """Seconds of a step of one worker that has the servers for itself."""
    return closed_network(training).alone


def server_demand(training: Training) -> float:
    """Seconds in which the busiest part of a server serves one step of one worker.

    What it sends, what it receives and what its cores add up go on side by side.
    """
    return 1.0 / closed_network(training).capacity


def staleness(training: Training, workers: Number) -> Number:
    """Updates of others that gradients have not seen when they are applied, on average. [workers]

    Workers that are alike take turns, so between a worker's pull and the end of its push each other
    one has updated once. A pair that averages has missed what its other half has learned.

    Source: zhang2016 (from memory) measures about n; n - 1 follows where workers are alike.
    """
    if training.updates.stale == 0:
        return 0.0 * workers
    if training.aggregation is Aggregation.PAIRWISE:
        return np.minimum(1.0, workers - 1.0)
    return workers - 1.0


def needed(training: Training, workers: Number) -> Number:
    """Samples that must be learned from, over those without staleness. [workers]"""
    return 1.0 + training.waste * staleness(training, workers)


def step_bound(job: WholeJob, training: Training, *, nodes: Number) -> StepBound:
    """Seconds below which a step of each of some workers is not. [nodes]

    Args:
        job: the job.
        training: what its nodes do, one worker a node, with servers of their own.
        nodes: how many workers. [nodes]

    Source: lazowska1984, chapter 5: asymptotic bounds of closed networks.
    """
    data, storage, samples = job.data, job.start.storage, training.worker.samples
    total = inf if storage.total_read is None else storage.total_read
    size = samples * (data.sample_bytes or 0.0) * (1.0 - job.held)
    read = size / np.minimum(storage.read, total / nodes)
    prepare = samples * (data.prepare or 0.0) / (inf if job.cores is None else job.cores)
    return StepBound(
        own=own_seconds(training) + 0.0 * nodes,
        server=server_demand(training) * nodes,
        input=np.maximum(read, prepare),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ServedTime:
    """Seconds of a whole job. [nodes]

    Attributes:
        start: before the first step.
        steps: in which it trains.
    """

    start: StartTime
    steps: Number

    @property
    def total(self) -> Number:
        """From its start to its end. [nodes]"""
        return self.start.total + self.steps


Steps = Callable[[Training, NDArray[np.float64]], Number]
"""Seconds of a step of each of some workers, from a formula or a simulation. [nodes]"""


def served_time(
    job: WholeJob, training: Training, *, nodes: Number, step: Steps | None = None
) -> ServedTime:
    """Seconds of a whole job on some nodes. [nodes]

    Args:
        job: the job; a broadcast without a link of its own takes that of the workers.
        training: what its nodes do, one worker a node, with servers of their own.
        nodes: how many, at least 1. [nodes]
        step: how long a step takes; None for the bound.
    """
    if not np.min(nodes) >= 1:
        raise InputError(f"nodes must be at least 1, got {np.min(nodes)}.")
    bound = step_bound(job, training, nodes=nodes)
    seconds = bound.total
    if step is not None:
        # However workers wait for servers, none is quicker than its input.
        seconds = np.maximum(step(training, np.asarray(nodes, np.float64)), bound.input)
    counted = nodes - training.updates.backup
    steps = job.epochs * job.data.samples / (counted * training.worker.samples)
    link = job.start.link or training.worker.link
    start = start_time(
        replace(job.start, link=link),
        job.data,
        nodes=nodes,
        barrier=training.updates.stale == 0,
    )
    return ServedTime(start=start, steps=steps * needed(training, nodes) * seconds)


def best_count(job: WholeJob, training: Training, *, most: int, step: Steps | None = None) -> int:
    """The number of nodes on which a job ends first; of equal ones the smallest.

    Args:
        job: the job.
        training: as for `served_time`.
        most: nodes that there are, more than backup workers.
        step: as for `served_time`.
    """
    fewest = training.updates.backup + 1
    if not most >= fewest:
        raise InputError(f"most must be at least {fewest} node, got {most}.")
    nodes = np.arange(float(fewest), most + 1.0)
    total = served_time(job, training, nodes=nodes, step=step).total
    return fewest + int(np.argmin(total))


def start_knee(job: WholeJob, training: Training, *, most: int) -> int:
    """Nodes beyond which one more costs more in start-up than it saves, whatever servers do.

    Args:
        job: the job.
        training: as for `served_time`.
        most: nodes that there are, at least 1; also the answer if there is no such number.
    """
    return best_count(job, training, most=most, step=lambda alone, _: own_seconds(alone))


def server_knee(training: Training) -> float:
    """Workers beyond which the servers limit: each more takes as much from the others as it adds.

    Source: lazowska1984, section 5.2: the saturation point of a closed network.
    """
    return closed_network(training).knee
