"""Jobs with parameter servers, from start to end: on how many nodes is one done first?

What each node reads for itself at the start grows with their number while training shrinks with it,
so there is a number beyond which a node more costs more than it saves. There is another one beyond
which the servers are busy all the time.

Source: hashemi2016, of which only the abstract is public: the findings are theirs (few nodes are
best, a single server is a bottleneck), every formula is ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from foretrain.errors import InputError
from foretrain.plan.servers import Aggregation, Training
from foretrain.plan.startup import StartUp
from foretrain.queueing.closed_form import closed_network
from foretrain.queueing.startup import StartTime, start_time
from foretrain.workload.workload import Data

Number = float | NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedJob:
    """A training with parameter servers, from its start to its end.

    Attributes:
        start: what nodes do before the first step.
        training: what they do then, one worker a node.
        data: the data set.
        epochs: how many.
        cores: of a node, that prepare samples; None where preparing never limits.
        held: share of what a step reads that nodes hold since the start, from 0 to 1.
        waste: samples more that are needed for each update that gradients have not seen, as a
            share of all.
    """

    start: StartUp
    training: Training
    data: Data
    epochs: float = 1.0
    cores: int | None = None
    held: float = 1.0
    waste: float = 0.0

    def __post_init__(self) -> None:
        if self.training.servers is None:
            raise InputError("ServedJob.training must have servers.")
        if self.training.servers.colocated:
            raise InputError("ServedJob.training: servers on nodes of their own, not colocated.")
        if not self.epochs > 0:
            raise InputError(f"ServedJob.epochs must be above 0, got {self.epochs}.")
        if self.cores is not None and not self.cores >= 1:
            raise InputError(f"ServedJob.cores must be at least 1, got {self.cores}.")
        if not self.waste >= 0:
            raise InputError(f"ServedJob.waste must be at least 0, got {self.waste}.")
        if not 0 <= self.held <= 1:
            raise InputError(f"ServedJob.held must lie from 0 to 1, got {self.held}.")


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


def staleness(training: Training, workers: int) -> float:
    """Updates of others, on average, that a worker's gradients have not seen when they are applied.

    Workers that are alike take turns, so between a worker's pull and the end of its push each other
    one has updated once. A pair that averages has missed what its other half has learned.

    Source: zhang2016 (from memory) measures about n; n - 1 follows where workers are alike.
    """
    if training.updates.stale == 0:
        return 0.0
    if training.aggregation is Aggregation.PAIRWISE:
        return min(1.0, workers - 1.0)
    return workers - 1.0


def step_bound(job: ServedJob, *, nodes: Number) -> StepBound:
    """Seconds below which a step of each of some workers is not. [nodes]

    Args:
        job: the job.
        nodes: how many workers. [nodes]

    Source: lazowska1984, chapter 5: asymptotic bounds of closed networks.
    """
    data, storage, samples = job.data, job.start.storage, job.training.worker.samples
    total = inf if storage.total_read is None else storage.total_read
    size = samples * (data.sample_bytes or 0.0) * (1.0 - job.held)
    read = size / np.minimum(storage.read, total / nodes)
    prepare = samples * (data.prepare or 0.0) / (inf if job.cores is None else job.cores)
    return StepBound(
        own=own_seconds(job.training) + 0.0 * nodes,
        server=server_demand(job.training) * nodes,
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


Steps = Callable[[Training, int], float]
"""Seconds of a step of each of some workers, from a formula or a simulation."""


def served_time(job: ServedJob, *, nodes: int, step: Steps | None = None) -> ServedTime:
    """Seconds of a whole job on some nodes.

    Args:
        job: the job.
        nodes: how many, at least 1.
        step: how long a step takes; None for the bound.
    """
    if not nodes >= 1:
        raise InputError(f"nodes must be at least 1, got {nodes}.")
    training, bound = job.training, step_bound(job, nodes=float(nodes))
    # However workers wait for servers, none is quicker than its input.
    seconds = float(bound.total)
    if step is not None:
        seconds = max(step(training, nodes), float(bound.input))
    counted = nodes - training.updates.backup
    steps = job.epochs * job.data.samples / (counted * training.worker.samples)
    steps *= 1.0 + job.waste * staleness(training, nodes)
    start = start_time(
        job.start, job.data, nodes=float(nodes), barrier=job.training.updates.stale == 0
    )
    return ServedTime(start=start, steps=steps * seconds)


def best_count(job: ServedJob, *, most: int, step: Steps | None = None) -> int:
    """The number of nodes on which a job ends first; of equal ones the smallest.

    Args:
        job: the job.
        most: nodes that there are, at least 1.
        step: as for `served_time`.
    """
    if not most >= 1:
        raise InputError(f"most must be at least 1 node, got {most}.")
    return min(
        range(job.training.updates.backup + 1, most + 1),
        key=lambda nodes: float(served_time(job, nodes=nodes, step=step).total),
    )


def start_knee(job: ServedJob, *, most: int) -> int:
    """Nodes beyond which one more costs more in start-up than it saves, whatever servers do.

    Args:
        job: the job.
        most: nodes that there are, at least 1; also the answer if there is no such number.
    """
    return best_count(job, most=most, step=lambda training, _: own_seconds(training))


def server_knee(training: Training) -> float:
    """Workers beyond which the servers limit: each more takes as much from the others as it adds.

    Source: lazowska1984, section 5.2: the saturation point of a closed network.
    """
    return closed_network(training).knee
