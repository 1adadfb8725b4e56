"""Orders by arrival and by length: FIFO, shortest job first, shortest remaining time first.

The last (SRTF) goes also by lengths that users say or that past jobs predict. Lengths are what jobs
want to take: no order knows that some end before. Who has run longer than was guessed is thought to
be about to end, and keeps running.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf
from statistics import fmean

from foretrain.errors import InputError
from foretrain.jobs.active import Active
from foretrain.jobs.hazard import pace
from foretrain.jobs.ordered import Ordering
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
