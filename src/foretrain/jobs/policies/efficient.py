"""Efficiency-capped policies: jobs in an order, each as wide as its devices stay efficient.

Two extremes lie at the ends: with threshold 0 the first job gets all that it can use, with
threshold 1 every job of a concave curve runs as narrow as it can. In between a job gets as many
devices as keep r(n) / (n r(1)) at or above the threshold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from foretrain.errors import InputError
from foretrain.jobs.active import Active
from foretrain.jobs.pace import efficient, largest, pace
from foretrain.jobs.shared import Grant, Policy, State

Key = Callable[[Active, int, State], float]
"""What jobs are sorted by: of a job, the devices that are efficient for it, and the state."""


def fifo_efficient(threshold: float) -> Policy:
    """In the order of arrival, each job as wide as is efficient.

    Args:
        threshold: share of its speed on the fewest devices that each device must keep, 0 to 1.

    Source: lin2018, section 4: first come first served with an efficiency threshold.
    """
    return capped(threshold, _arrival)


def fifo_max() -> Policy:
    """In the order of arrival, each job on all devices that it can use.

    Source: lin2018, section 4.
    """
    return capped(0.0, _arrival)


def srtf_efficient(threshold: float) -> Policy:
    """The shortest remaining time first, each job as wide as is efficient.

    Args:
        threshold: share of its speed on the fewest devices that each device must keep, 0 to 1.

    Remaining time is that on the devices that are efficient, so that it does not hang on luck.

    Source: lin2018, section 4.
    """
    return capped(threshold, _remaining)


def capped(threshold: float, key: Key) -> Policy:
    """Walk down an order; who cannot have what is efficient gets what is left."""
    if not 0 <= threshold <= 1:
        raise InputError(f"the efficiency threshold must lie from 0 to 1, got {threshold}.")
    widths: dict[int, int] = {}

    def width(active: Active, state: State) -> int:
        if active.rank not in widths:
            widths[active.rank] = efficient(active, threshold, fleet=state.fleet)
        return widths[active.rank]

    def policy(state: State) -> Mapping[int, Grant]:
        wide = {active.rank: width(active, state) for active in state.jobs}
        left, grants = int(state.devices), {}
        for active in sorted(
            state.jobs, key=lambda job: (key(job, wide[job.rank], state), job.rank)
        ):
            devices = largest(active, min(wide[active.rank], left))
            if devices:
                grants[active.rank] = Grant(devices, active.job.kinds)
                left -= devices
            if not left:
                break
        return grants

    return policy


def _arrival(active: Active, devices: int, state: State) -> float:
    return active.job.arrival


def _remaining(active: Active, devices: int, state: State) -> float:
    left = active.job.work - active.done_at(state.now)
    return left / pace(active, devices, fleet=state.fleet)
