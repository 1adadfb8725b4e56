"""SJF and SRTF: the shortest job, or the one with the least left, runs first.

Both know how long jobs want to take. They do not know that some end before.
"""

from __future__ import annotations

from foretrain.jobs.active import Active
from foretrain.jobs.hazard import pace
from foretrain.jobs.ordered import Order


def sjf() -> Order:
    """Shortest job first, without interruption; those that do not fit are passed."""
    return Order(key=_left, skips=True)


def srtf() -> Order:
    """Shortest remaining time first, with interruption.

    What is left of a job that runs is its work alone; of one that waits, also the start or restart
    that it must pay before. Nobody is stopped for a job with as much left.

    Source: schrage1966: of all policies on one server it has the least mean response time. Where a
    restart takes time that no longer holds: stopping for a job that is hardly shorter does not pay.
    """
    return Order(key=_left, preempts=True, skips=True, falls=True)


def _left(active: Active, now: float) -> float:
    """Seconds until all of its work is done, on the devices that it holds or would start on."""
    job, held = active.job, active.held
    if held is not None:
        return (job.work - active.done) / active.rate + active.since - now
    delay = job.start if active.begun is None else job.restart
    return (job.work - active.done) / pace(job, done=active.done) + delay
