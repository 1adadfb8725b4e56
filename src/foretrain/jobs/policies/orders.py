"""Orders of jobs: by arrival, by length, by attained service.

Orders by arrival and by length: FIFO, shortest job first, shortest remaining time first.

The last (SRTF) goes also by lengths that users say or that past jobs predict. Lengths are what jobs
want to take: no order knows that some end before. Who has run longer than was guessed is thought to
be about to end, and keeps running.

Orders by attained service, in device-seconds: nobody knows the length of a job.

They are two-dimensional least attained service (LAS), discretised in levels so that two jobs do not
interrupt each other for ever, and in two queues in Tiresias; and the Gittins index, which learns
from past jobs how much service jobs get in all. An end is an end, whether the job finished, failed
or was killed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from foretrain.errors import InputError
from foretrain.jobs.active import Active
from foretrain.jobs.mix import pace
from foretrain.jobs.ordered import Ordering
from foretrain.jobs.shared import Allocation, ClusterState, Policy
from foretrain.measured.job import Job, Trace


def fifo() -> Ordering:
    """First in, first out: a job that does not fit holds up all after it."""
    return Ordering(key=lambda active, now: active.job.arrival)


def sjf() -> Ordering:
    """Shortest job first, without interruption; those that do not fit are passed."""
    return Ordering(key=_left, skips=True)


def srtf() -> Ordering:
    """Shortest remaining time first, with interruption.

    What is left of a job that runs is its work alone; of one that waits, also the start or restart
    that it must pay before. Nobody is stopped for a job with as much left.

    Source: schrage1966: of all policies on one server it has the least mean response time. Where a
    restart takes time that no longer holds: stopping for a job that is hardly shorter does not pay.
    """
    return Ordering(key=_left, preempts=True, skips=True, falls=True)


def _left(active: Active, now: float) -> float:
    """Seconds until all of its work is done, on the devices that it holds or would start on."""
    job, held = active.job, active.held
    if held is not None:
        return (job.work - active.done) / active.rate + active.since - now
    delay = job.start if active.begun is None else job.restart
    return (job.work - active.done) / pace(job, done=active.done) + delay


Guess = Callable[[Job], float]
"""Seconds that a job takes on the devices that it asks for."""


def srtf_guessed(guess: Guess) -> Ordering:
    """Shortest remaining time first, with interruption, where lengths are guessed.

    Args:
        guess: how long each job takes; see `estimated` and `predicted`.
    """

    def left(active: Active, now: float) -> float:
        job = active.job
        rest = guess(job) - active.done / pace(job, done=active.done)
        if active.held is not None:
            return rest + active.since - now
        return rest + (job.start if active.begun is None else job.restart)

    return Ordering(key=left, preempts=True, skips=True, falls=True)


def estimated(past: Trace) -> Guess:
    """What users said; a job of which nothing was said may take for ever.

    Args:
        past: jobs like those that will come.

    Raises:
        InputError: where nothing is ever said.
    """
    if all(job.estimate is None for job in past.jobs):
        raise InputError(
            f"{past.name}: no job comes with an estimate of its user; take srtf-predicted, which"
            " learns from past jobs, or another policy."
        )
    return lambda job: inf if job.estimate is None else job.estimate


def predicted(past: Trace) -> Guess:
    """What past jobs of the same user, group and devices ran on average, however they ended.

    Args:
        past: jobs that have ended. Where nobody was alike, those of the same devices are asked,
            and then all.

    Source: hu2021, section 4.2: rolling estimates by user and devices, here without names of jobs.
    """
    alike = _means((job.user, job.group, job.devices, _ran(job)) for job in past.jobs)
    wide = _means(("", "", job.devices, _ran(job)) for job in past.jobs)
    everybody = fmean(_ran(job) for job in past.jobs)

    def guess(job: Job) -> float:
        like = alike.get((job.user, job.group, job.devices))
        return wide.get(("", "", job.devices), everybody) if like is None else like

    return guess


def _ran(job: Job) -> float:
    return job.ends_after / pace(job)


def _means(
    rows: Iterable[tuple[str, str, int, float]],
) -> dict[tuple[str, str, int], float]:
    """Mean seconds of those that are alike."""
    found: dict[tuple[str, str, int], list[float]] = {}
    for user, group, devices, seconds in rows:
        found.setdefault((user, group, devices), []).append(seconds)
    return {like: fmean(seconds) for like, seconds in found.items()}


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
