"""heSRPT: the best shares of a fluid for jobs whose speed is a power of their devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import fsum

from foretrain.errors import InputError
from foretrain.jobs.shared import Grant, Policy, State


def hesrpt(exponent: float) -> Policy:
    """Shares that make the mean response time least if no further job comes.

    Args:
        exponent: q of the speed n^q of every job, above 0 and below 1.

    Every job runs; the i-th largest of m gets (i/m)^c - ((i-1)/m)^c of all devices, c = 1/(1-q),
    or as many as it can use if that is less.

    Source: berg2020, theorem 8 (from memory: the shares for mean flow time).
    """
    _check(exponent)

    def policy(state: State) -> Mapping[int, Grant]:
        falling = sorted(
            state.jobs, key=lambda job: (job.done_at(state.now) - job.job.work, job.rank)
        )
        given = zip(falling, shares(len(falling), exponent=exponent), strict=True)
        return {
            active.rank: Grant(min(share * state.devices, active.job.curve.counts[-1]))
            for active, share in given
        }

    return policy


def shares(jobs: int, *, exponent: float) -> list[float]:
    """Share of all devices of each job, the largest job first."""
    power = 1.0 / (1.0 - exponent)
    ends = [(place / jobs) ** power for place in range(jobs + 1)] if jobs else []
    return [high - low for low, high in pairwise(ends)]


def total_response(works: Sequence[float], *, devices: float, exponent: float) -> float:
    """Sum of the response times under heSRPT of jobs that are all there, in seconds.

    Args:
        works: seconds that each job takes on one device.
        devices: that they share.
        exponent: q of the speed n^q of every job.

    A job adds what it costs to be one of so many: k (1 + w)^q - (k - 1) w^q seconds per second of
    work if it is the k-th largest, w being the devices of all larger jobs over its own.

    Source: berg2020, theorem 8 (from memory); the tests hold it against a search of all shares.
    """
    _check(exponent)
    power = 1.0 / (1.0 - exponent)
    costs = [_larger(place, power) for place in range(1, len(works) + 1)]
    terms = (
        work * (place * (1.0 + larger) ** exponent - (place - 1) * larger**exponent)
        for place, (work, larger) in enumerate(
            zip(sorted(works, reverse=True), costs, strict=True), start=1
        )
    )
    return fsum(terms) / float(devices**exponent)


def _larger(place: int, power: float) -> float:
    """Devices of all larger jobs over those of the job in a place."""
    return 1.0 / (float(place / (place - 1)) ** power - 1.0) if place > 1 else 0.0


def _check(exponent: float) -> None:
    if not 0 < exponent < 1:
        raise InputError(f"the exponent of heSRPT must lie between 0 and 1, got {exponent}.")
