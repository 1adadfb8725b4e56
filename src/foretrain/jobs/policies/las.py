"""LAS: who has got least runs first; nothing needs to be known of a job.

Attained service counts device-seconds. It is told apart in levels only, so that two jobs do not
interrupt each other for ever.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from math import inf

from foretrain.jobs.active import Active
from foretrain.jobs.ordered import Order

ROUNDING = 1e-9
"""Share of a level by which attained service may miss its end."""


def las(levels: Sequence[float]) -> Order:
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

    return Order(key=level, preempts=True, skips=True, lasts=lasts, queues=True)
