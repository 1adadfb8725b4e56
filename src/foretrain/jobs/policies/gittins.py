"""Gittins: who is likeliest to end soon, by what it has got and how long jobs usually take.

Nothing is known of a single job. Past jobs say how much service, in device-seconds, jobs get in
all; an end is an end, whether the job finished, failed or was killed.
"""

from __future__ import annotations

from bisect import bisect_right
from math import inf

import numpy as np
from numpy.typing import NDArray

from foretrain.jobs.active import Active
from foretrain.jobs.hazard import pace
from foretrain.jobs.ordered import Order
from foretrain.measured.job import Trace

LEVELS = 64
"""Amounts of attained service that are told apart, with equally many ends between two."""

SLACK = 1e-3
"""Device-seconds by which attained service may miss the end of a level, for clocks are floats."""


def gittins(past: Trace) -> Order:
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

    return Order(key=cost, preempts=True, skips=True, lasts=lasts, queues=True)


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
