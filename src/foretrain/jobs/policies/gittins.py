"""Orders by attained service, in device-seconds: nobody knows the length of a job.

They are two-dimensional least attained service (LAS), discretised in levels so that two jobs do not
interrupt each other for ever, and in two queues in Tiresias; and the Gittins index, which learns
from past jobs how much service jobs get in all. An end is an end, whether the job finished, failed
or was killed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from math import inf

import numpy as np
from numpy.typing import NDArray

from foretrain.errors import InputError
from foretrain.jobs.active import Active
from foretrain.jobs.hazard import pace
from foretrain.jobs.ordered import Ordering
from foretrain.jobs.shared import Allocation, ClusterState, Policy
from foretrain.measured.job import Trace

ROUNDING = 1e-9
"""Share of a level by which attained service may miss its end."""


def las(levels: Sequence[float]) -> Ordering:
    """Discretised two-dimensional least attained service: the lower level first.

    A level is a queue: those that run, by when they started; then those that were stopped for a job
    of a lower level; then those that came or fell, the first one first. Nobody is stopped for a job
    of its own level, but for those that wait there in the instant in which it falls. What does not
    fit is passed over.

    Args:
        levels: device-seconds at which a job falls to the next level, ascending.

    Source: gu2019, section 3.2, and its authors' simulator, run_sim.py, dlas_sim_jobs.
    """
    bounds = tuple(levels)

    def level(active: Active, now: float) -> float:
        return float(bisect_right(bounds, active.attained_at(now) * (1.0 + ROUNDING)))

    def lasts(active: Active, now: float) -> float:
        attained = active.attained_at(now)
        place = bisect_right(bounds, attained * (1.0 + ROUNDING))
        return (bounds[place] - attained) / active.job.devices if place < len(bounds) else inf

    return Ordering(key=level, preempts=True, skips=True, lasts=lasts, queues=True)


LEVELS = 64
"""Amounts of attained service that are told apart, with equally many ends between two."""

SLACK = 1e-3
"""Device-seconds by which attained service may miss the end of a level, for clocks are floats."""


def gittins(past: Trace) -> Ordering:
    """Highest Gittins index first, by levels of attained service; those of one index are a queue.

    Args:
        past: jobs that have ended, from which the distribution of service is learned.

    Source: gu2019, section 3.2: the two-dimensional Gittins index; gittins1979 for its definition.
    """
    service = np.array([job.ends_after / pace(job) * job.devices for job in past.jobs])
    starts, costs = indices(service)
    bounds = (*starts[1:], inf)

    def level(active: Active, now: float) -> int:
        return bisect_right(starts, active.attained_at(now) + SLACK) - 1

    def cost(active: Active, now: float) -> float:
        return costs[level(active, now)]

    def lasts(active: Active, now: float) -> float:
        return (bounds[level(active, now)] - active.attained_at(now)) / active.job.devices

    return Ordering(key=cost, preempts=True, skips=True, lasts=lasts, queues=True)


def indices(service: NDArray[np.float64]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Where levels of attained service begin, and the least expected service per end from there on.

    The inverse of the index is the least, over all amounts of service up to which one might go on,
    of the expected service until then per expected end until then.
    """
    ordered = np.sort(service)
    starts = np.unique(np.quantile(ordered, np.linspace(0.0, 1.0, LEVELS), method="lower"))
    starts = np.append(0.0, starts)
    beyond = len(ordered) - np.searchsorted(ordered, starts, side="right")
    served = np.minimum(ordered[:, None], starts).sum(axis=0)
    costs = [
        float(((served[k + 1 :] - served[k]) / (beyond[k] - beyond[k + 1 :])).min())
        for k in range(len(starts) - 1)
    ]
    return tuple(starts.tolist()), (*costs, inf)


THRESHOLD = 16 * 3600.0
"""Device-seconds after which a job falls. Source: adaptdl, simulator/tiresias.py."""


def tiresias(*, threshold: float = THRESHOLD) -> Policy:
    """Discretised two-dimensional least attained service, two queues; what does not fit is passed.

    In the first queue jobs stand by their arrival, in the second by when they fell. To be asked in
    rounds: a job falls at the round that finds it over the threshold, and may be interrupted.

    Args:
        threshold: device-seconds, above 0.

    Source: gu2019, section 3.2; in the form of qiao2021, section 5.1.
    """
    if not threshold > 0:
        raise InputError(f"the threshold of Tiresias must be above 0, got {threshold}.")
    fallen: dict[int, int] = {}

    def place(active: Active) -> tuple[bool, int]:
        return active.rank in fallen, fallen.get(active.rank, active.rank)

    def policy(state: ClusterState) -> Mapping[int, Allocation]:
        for active in state.jobs:
            if active.rank not in fallen and active.attained_at(state.now) >= threshold:
                fallen[active.rank] = len(fallen)
        left, grants = state.devices, {}
        for active in sorted(state.jobs, key=place):
            job = active.job
            if job.devices <= left:
                left -= job.devices
                grants[active.rank] = Allocation(job.devices, job.kinds)
        return grants

    return policy
