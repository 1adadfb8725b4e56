"""Replay: a log simulated under its own policy, before anybody asks it what if.

Where neither the policy nor the number of devices is known, each policy is tried with as many
devices as make it wait like the log. The jobs of the first half of the waiting decide, those of
the second half judge: there the settings that were found must tell the waiting that they have not
seen. The waiting is halved and not the jobs, for a log may be idle for weeks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import accumulate
from math import ceil, inf
from statistics import fmean, median

from foretrain.cluster.mixed import Fleet, fleet
from foretrain.errors import InputError
from foretrain.jobs.run import run
from foretrain.measured.job import Log, Trace
from foretrain.measured.queue_study import Conditions

POLICIES = ("fifo", "easy", "sjf", "srtf", "las")
"""Policies that are tried where the log's own is not known."""

NEAR = 2
"""Nodes more and fewer that are tried too, for waiting need not fall with every node."""

FEWEST = 2
"""Jobs whose begin must be known: one that decides and one that judges."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A log beside its simulation.

    Attributes:
        policy: that was simulated.
        devices: of the cluster.
        gap: mean difference of a job's simulated waiting from its logged one, in the first half
            of the waiting, over the mean of all logged ones: what settings are chosen by;
            infinite where only the log has no waiting.
        mean: mean seconds of simulated waiting in the first half.
        logged: median seconds of waiting in the second half, of the jobs that waited in the log.
        simulated: of the same jobs in the simulation.
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


@dataclass(frozen=True, slots=True)
class _Told:
    """What a log tells of waiting.

    Attributes:
        trace: all jobs of the log.
        places: in the trace, of the jobs whose begin is known.
        waits: seconds that each of those waited.
        half: how many of those are in the first half of the waiting.
        conditions: rules of the site.
    """

    trace: Trace
    places: tuple[int, ...]
    waits: tuple[float, ...]
    half: int
    conditions: Conditions

    @property
    def judges(self) -> list[int]:
        """Which of the waits judge: those above 0 in the second half, or all where none is."""
        later = range(self.half, len(self.waits))
        return [place for place in later if self.waits[place] > 0] or list(later)


def replay(
    log: Log,
    *,
    policies: Sequence[str] = POLICIES,
    shared: Fleet | None = None,
    per_node: int = 1,
    conditions: Conditions | None = None,
) -> tuple[Replay, ...]:
    """The log under each policy, the one that fits best first.

    Args:
        log: of which at least two jobs' begin is known.
        policies: names of policies; one if it is known.
        shared: the devices of the cluster; None to find how many fit best.
        per_node: devices of a node: numbers that are tried are multiples of it.
        conditions: rules of the site; None for none.

    Raises:
        InputError: where the log does not tell when jobs began; or none ever waited, and it is
            asked how many devices fit best.
    """
    told = _told(log, conditions)
    if shared is None and not any(told.waits):
        raise InputError(
            f"{log.trace.name}: no job ever waited, so every large cluster fits. Say how many"
            " devices it has."
        )
    if shared is not None:
        found = [_attempt(told, policy=policy, shared=shared) for policy in policies]
    else:
        # On as many equal devices as fit best.
        alike = tuple(replace(job, kinds=()) for job in told.trace.jobs)
        any_kind = replace(told, trace=replace(told.trace, jobs=alike))
        least = ceil(max(job.devices for job in alike) / per_node)

        @cache
        def attempt(policy: str, nodes: int) -> Replay:
            return _attempt(any_kind, policy=policy, shared=fleet(nodes * per_node))

        waiting = fmean(told.waits[: told.half])
        found = [
            fitting(partial(attempt, policy), least=least, waiting=waiting) for policy in policies
        ]
    return tuple(sorted(found, key=lambda each: each.gap))


def replayable(log: Log) -> bool:
    """Whether a log tells of enough jobs when they began."""
    return len(log.begun) >= FEWEST


def _told(log: Log, conditions: Conditions | None) -> _Told:
    """What a log tells of waiting, halved where half of it is over."""
    if not replayable(log):
        raise InputError(
            f"{log.trace.name}: does not tell when jobs began, and so nothing of their waiting. A"
            " replay needs a log with the begin of two jobs or more."
        )
    jobs = log.trace.jobs
    places = tuple(place for place, job in enumerate(jobs) if job.name in log.begun)
    waits = tuple(log.begun[jobs[place].name] - jobs[place].arrival for place in places)
    so_far = tuple(accumulate(waits))
    half = (
        1 + sum(waited < so_far[-1] / 2.0 for waited in so_far) if any(waits) else len(waits) // 2
    )
    return _Told(log.trace, places, waits, min(half, len(waits) - 1), conditions or Conditions())


def _attempt(told: _Told, *, policy: str, shared: Fleet) -> Replay:
    """The log under one policy on some devices."""
    begun = run(told.trace, shared, policy, conditions=told.conditions).begun
    found = [begun[place] - told.trace.jobs[place].arrival for place in told.places]
    pairs = zip(found[: told.half], told.waits[: told.half], strict=True)
    apart, usual = fmean(abs(a - b) for a, b in pairs), fmean(told.waits)
    return Replay(
        policy=policy,
        devices=shared.devices,
        gap=apart / usual if usual else inf if apart else 0.0,
        mean=fmean(found[: told.half]),
        logged=median(told.waits[place] for place in told.judges),
        simulated=median(found[place] for place in told.judges),
    )


def fitting(attempt: Callable[[int], Replay], *, least: int, waiting: float) -> Replay:
    """The number of nodes that fits best.

    The more nodes, the less waiting: nodes are doubled until jobs wait less than in the log, and
    halved in on from there.

    Args:
        attempt: the log on some nodes.
        least: nodes, below which not all jobs can run.
        waiting: mean seconds in the first half of the log's waiting.
    """
    low = high = least
    while attempt(high).mean > waiting:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if attempt(middle).mean > waiting else (low, middle)
    near = range(max(least, low - NEAR), high + NEAR + 1)
    return min((attempt(nodes) for nodes in near), key=lambda each: each.gap)
