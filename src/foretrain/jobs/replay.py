"""Replay: a log simulated under its own policy, before anybody asks it what if.

Where neither the policy nor the number of devices is known, each policy is tried with as many
devices as make it wait like the log. The first half of the jobs decides, the second half judges:
there the settings that were found must tell the waiting that they have not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil, inf
from statistics import fmean, median

from foretrain.cluster.fleet import fleet
from foretrain.errors import InputError
from foretrain.jobs.run import run
from foretrain.measured.log import Log

POLICIES = ("fifo", "easy", "sjf", "srtf", "las")
"""Policies that are tried where the log's own is not known."""

NEAR = 2
"""Nodes more and fewer that are tried too, for waiting need not fall with every node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A log beside its simulation.

    Attributes:
        policy: that was simulated.
        devices: of the cluster.
        gap: mean difference of a job's simulated waiting from its logged one, over the mean of
            the logged ones, in the first half of the jobs: what settings are chosen by.
        mean: mean seconds of simulated waiting in the first half.
        logged: median seconds of waiting in the second half.
        simulated: the same in the simulation.
    """

    policy: str
    devices: int
    gap: float
    mean: float
    logged: float
    simulated: float

    @property
    def error(self) -> float:
        """Relative error of the simulated median; infinite where only the log's is 0."""
        if self.logged == self.simulated:
            return 0.0
        return abs(self.simulated / self.logged - 1.0) if self.logged else inf


def replay(
    log: Log,
    *,
    policies: Sequence[str] = POLICIES,
    devices: int | None = None,
    per_node: int = 1,
) -> tuple[Replay, ...]:
    """The log under each policy, the one that fits best first.

    Args:
        log: at least two jobs, and when they began.
        policies: names of policies; one if it is known.
        devices: of the cluster; None to find how many fit best.
        per_node: devices of a node: numbers that are tried are multiples of it.

    Raises:
        InputError: where the log does not tell when jobs began, or none ever waited.
    """
    waits = tuple(_waits(log))
    half = len(waits) // 2
    if not any(waits[:half]):
        raise InputError(
            f"{log.trace.name}: no job of the first half waited, so every large cluster fits."
        )

    least = ceil(max(job.devices for job in log.trace.jobs) / per_node)

    def best(policy: str) -> Replay:
        if devices is not None:
            return _attempt(log, waits, policy=policy, devices=devices)
        attempt = cache(lambda nodes: _attempt(log, waits, policy=policy, devices=nodes * per_node))
        return fitting(attempt, least=least, waiting=fmean(waits[:half]))

    return tuple(sorted((best(policy) for policy in policies), key=lambda each: each.gap))


def _attempt(log: Log, waits: Sequence[float], *, policy: str, devices: int) -> Replay:
    """The log under one policy on some devices."""
    half = len(waits) // 2
    begun = run(log.trace, fleet(devices), policy).begun
    found = [start - job.arrival for start, job in zip(begun, log.trace.jobs, strict=True)]
    apart = fmean(abs(a - b) for a, b in zip(found[:half], waits[:half], strict=True))
    return Replay(
        policy=policy,
        devices=devices,
        gap=apart / fmean(waits[:half]),
        mean=fmean(found[:half]),
        logged=median(waits[half:]),
        simulated=median(found[half:]),
    )


def fitting(attempt: Callable[[int], Replay], *, least: int, waiting: float) -> Replay:
    """The number of nodes that fits best.

    The more nodes, the less waiting: nodes are doubled until jobs wait less than in the log, and
    halved in on from there.

    Args:
        attempt: the log on some nodes.
        least: nodes, below which not all jobs can run.
        waiting: mean seconds of the log's first half.
    """
    low = high = least
    while attempt(high).mean > waiting:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if attempt(middle).mean > waiting else (low, middle)
    near = range(max(least, low - NEAR), high + NEAR + 1)
    return min((attempt(nodes) for nodes in near), key=lambda each: each.gap)


def _waits(log: Log) -> Iterator[float]:
    """Seconds that each job waited."""
    for job in log.trace.jobs:
        begun = log.begun.get(job.name)
        if begun is None:
            raise InputError(
                f"{log.trace.name}: does not tell when job {job.name} began, and so nothing of its"
                " waiting. A replay needs a log with the begin of every job."
            )
        yield begun - job.arrival
