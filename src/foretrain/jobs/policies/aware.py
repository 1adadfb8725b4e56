"""Early-termination-aware: who costs least expected work per success runs first.

It knows how long jobs are meant to run, and from past jobs how likely such a job is to get there.
A long job that will probably fail soon waits, however little work it turns out to be in the end.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from foretrain.jobs.active import Active
from foretrain.jobs.hazard import Hazard, Prospect, pace
from foretrain.jobs.ordered import Order
from foretrain.jobs.policies.efficient import capped
from foretrain.jobs.shared import Policy

LOOKS = 16
"""Parts of a job's work; a running job is judged anew after each."""

Hazards = Callable[[int], Hazard]
"""How likely jobs are to end early, by their devices; see `foretrain.jobs.hazard.learned`."""

KEPT = 65_536
"""Prospects that are remembered."""


def aware(hazard: Hazards, *, preempts: bool = True) -> Order:
    """Least expected device-seconds per success first.

    Args:
        hazard: how likely jobs are to end early.
        preempts: whether a job interrupts those after it.

    The order is the best one for jobs that are all there, on one server, without interruption: who
    waits for a job waits for its expected work, and only successful jobs count.

    Source: smith1956, theorem 3: weighted shortest processing time, with the chance of success as
    the weight.
    """
    cost = _cost(hazard)

    def lasts(active: Active, now: float) -> float:
        return active.job.work / active.rate / LOOKS + max(0.0, active.since - now)

    return Order(key=cost, preempts=preempts, skips=True, lasts=lasts if preempts else None)


def aware_efficient(hazard: Hazards, *, threshold: float) -> Policy:
    """Least expected device-seconds per success first, each job as wide as is efficient.

    Args:
        hazard: how likely jobs are to end early.
        threshold: share of its speed on the fewest devices that each device must keep, 0 to 1.

    Source: smith1956 for the order, lin2018, section 4, for the width.
    """
    cost = _cost(hazard)
    return capped(threshold, lambda active, devices, state: cost(active, state.now))


def _cost(hazard: Hazards) -> Callable[[Active, float], float]:
    """Expected device-seconds per success, on the devices that a job asks for."""

    @lru_cache(KEPT)
    def prospect(devices: int, length: float) -> Prospect:
        return hazard(devices).prospect(length)

    def cost(active: Active, now: float) -> float:
        job = active.job
        quick = pace(job)
        left = prospect(job.devices, job.work / quick).cost(active.done_at(now) / quick)
        return job.devices * left

    return cost
