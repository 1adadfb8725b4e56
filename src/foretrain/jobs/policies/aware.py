"""Efficiency caps for elastic jobs, and early termination for jobs that may fail.

A cap of 0 gives the first job all that it can use; a cap of 1 runs every job of a concave curve as
narrow as it can. In between a job gets as many devices as keep r(n) / (n r(1)) at or above the cap.

Early termination is weighted shortest expected processing time, with the chance of success as the
weight. That chance is the one of past jobs. A long job that will probably fail soon waits, however
little work it turns out to be in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from foretrain.errors import InputError
from foretrain.jobs.active import Active
from foretrain.jobs.hazard import Hazard, Prospect
from foretrain.jobs.hazard import pace as pace_on_all
from foretrain.jobs.ordered import Ordering
from foretrain.jobs.progress import efficient, largest, pace
from foretrain.jobs.shared import Allocation, ClusterState, Policy

Key = Callable[[Active, int, ClusterState], float]
"""What jobs are sorted by: of a job, the devices that are efficient for it, and the state."""


def fifo_efficient(threshold: float) -> Policy:
    """First in, first out under an efficiency threshold: each job as wide as is efficient.

    Args:
        threshold: share of its speed on the fewest devices that each device must keep, 0 to 1.

    Source: lin2018, section 4: first come first served with an efficiency threshold.
    """
    return capped(threshold, lambda active, devices, state: active.job.arrival)


def fifo_max() -> Policy:
    """First in, first out, each job on all devices that it can use.

    Source: lin2018, section 4.
    """
    return capped(0.0, lambda active, devices, state: active.job.arrival)


def srtf_efficient(threshold: float) -> Policy:
    """Shortest remaining time first under an efficiency threshold: as wide as is efficient.

    Args:
        threshold: share of its speed on the fewest devices that each device must keep, 0 to 1.

    Remaining time is that on the devices that are efficient, so that it does not hang on luck.

    Source: lin2018, section 4.
    """

    def remaining(active: Active, devices: int, state: ClusterState) -> float:
        left = active.job.work - active.done_at(state.now)
        return left / pace(active, devices, fleet=state.fleet)

    return capped(threshold, remaining)


def capped(threshold: float, key: Key) -> Policy:
    """Walk down an order; who cannot have what is efficient gets what is left."""
    if not 0 <= threshold <= 1:
        raise InputError(f"the efficiency threshold must lie from 0 to 1, got {threshold}.")
    widths: dict[int, int] = {}

    def width(active: Active, state: ClusterState) -> int:
        if active.rank not in widths:
            widths[active.rank] = efficient(active, threshold, fleet=state.fleet)
        return widths[active.rank]

    def policy(state: ClusterState) -> Mapping[int, Allocation]:
        wide = {active.rank: width(active, state) for active in state.jobs}
        left, grants = int(state.devices), {}
        for active in sorted(
            state.jobs, key=lambda job: (key(job, wide[job.rank], state), job.rank)
        ):
            devices = largest(active, min(wide[active.rank], left))
            if devices:
                grants[active.rank] = Allocation(devices, active.job.kinds)
                left -= devices
            if not left:
                break
        return grants

    return policy


LOOKS = 16
"""Parts of a job's work; a running job is judged anew after each."""

Hazards = Callable[[int], Hazard]
"""How likely jobs are to end early, by their devices; see `foretrain.jobs.hazard.learned`."""

KEPT = 65_536
"""Prospects that are remembered."""


def aware(hazard: Hazards, *, preempts: bool = True) -> Ordering:
    """Weighted shortest expected processing time: least device-seconds per success first.

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

    return Ordering(key=cost, preempts=preempts, skips=True, lasts=lasts if preempts else None)


def aware_efficient(hazard: Hazards, *, threshold: float) -> Policy:
    """Weighted shortest expected processing time, each job as wide as is efficient.

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
        quick = pace_on_all(job)
        left = prospect(job.devices, job.work / quick).cost(active.done_at(now) / quick)
        return job.devices * left

    return cost
