"""Elastic jobs: equal and unequal shares, caps by efficiency, early termination.

Equal shares of devices and of time, and the unequal ones whose mean response is least.

Processor sharing and equipartition divide devices, stride scheduling (Gandiva-fair) divides time.
heSRPT has the best shares of a fluid for jobs whose speed is a power of their devices.

Efficiency caps for elastic jobs, and early termination for jobs that may fail.

A cap of 0 gives the first job all that it can use; a cap of 1 runs every job of a concave curve as
narrow as it can. In between a job gets as many devices as keep r(n) / (n r(1)) at or above the cap.

Early termination is weighted shortest expected processing time, with the chance of success as the
weight. That chance is the one of past jobs. A long job that will probably fail soon waits, however
little work it turns out to be in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from heapq import heapify, heappop, heappush
from itertools import pairwise
from math import fsum

from foretrain.errors import InputError
from foretrain.jobs.active import Active, efficient, largest, pace
from foretrain.jobs.mix import Hazard, Prospect
from foretrain.jobs.mix import pace as pace_on_all
from foretrain.jobs.ordered import Ordering
from foretrain.jobs.rounds import Shares, only_kind, water_level
from foretrain.jobs.shared import Allocation, ClusterState, Policy


def processor_sharing(state: ClusterState) -> Mapping[int, Allocation]:
    """An equal share of all devices for every job, as a fluid; what it cannot use goes to others.

    Source: kleinrock1976, section 4.4: processor sharing.
    """
    most = [active.job.curve.counts[-1] for active in state.jobs]
    level = water_level(most, devices=state.devices)
    return {
        active.rank: Allocation(min(level, each))
        for active, each in zip(state.jobs, most, strict=True)
    }


def equal_share(state: ClusterState) -> Mapping[int, Allocation]:
    """Whole devices, as equal as can be: who holds fewest is the next to get more.

    The first jobs to arrive are let in, as many as the devices suffice for; then the one with
    fewest devices, of equal ones the first to arrive, goes to the next number that it can use.

    Source: edmonds2003: equipartition, which needs to know nothing of a job.
    """
    left, widths = state.devices, {}
    counts = {active.rank: active.job.curve.counts for active in state.jobs}
    for rank, possible in counts.items():
        if possible[0] <= left:
            widths[rank] = 0
            left -= possible[0]
    heap = [(counts[rank][0], rank) for rank in widths]
    heapify(heap)
    while heap:
        held, rank = heappop(heap)
        place = widths[rank] + 1
        if place < len(counts[rank]) and counts[rank][place] - held <= left:
            left -= counts[rank][place] - held
            widths[rank] = place
            heappush(heap, (counts[rank][place], rank))
    return {
        active.rank: Allocation(counts[active.rank][widths[active.rank]], active.job.kinds)
        for active in state.jobs
        if active.rank in widths
    }


def gandiva_fair(state: ClusterState) -> Shares:
    """The same share of time for every job, whatever number of devices it asks for.

    Source: chaudhary2020, section 3: gang-aware stride scheduling.
    """
    kind = only_kind(state.fleet, "Gandiva-fair")
    asked = sum(active.job.devices for active in state.jobs)
    share = min(1.0, state.devices / asked) if asked else 0.0
    return {active.rank: {kind: share} for active in state.jobs}


def hesrpt(exponent: float) -> Policy:
    """heSRPT: the shares of a fluid whose mean response time is least if no further job comes.

    Args:
        exponent: q of the speed n^q of every job, above 0 and below 1.

    Every job runs; the i-th largest of m gets (i/m)^c - ((i-1)/m)^c of all devices, c = 1/(1-q),
    or as many as it can use if that is less.

    Source: berg2020, theorem 8 (from memory: the shares for mean flow time).
    """
    _check(exponent)

    def policy(state: ClusterState) -> Mapping[int, Allocation]:
        falling = sorted(
            state.jobs, key=lambda job: (job.done_at(state.now) - job.job.work, job.rank)
        )
        given = zip(falling, shares(len(falling), exponent=exponent), strict=True)
        return {
            active.rank: Allocation(min(share * state.devices, active.job.curve.counts[-1]))
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
    # Devices of all larger jobs over those of the job in a place.
    costs = [
        (1.0 / (float(place / (place - 1)) ** power - 1.0) if place > 1 else 0.0)
        for place in range(1, len(works) + 1)
    ]
    terms = (
        work * (place * (1.0 + larger) ** exponent - (place - 1) * larger**exponent)
        for place, (work, larger) in enumerate(
            zip(sorted(works, reverse=True), costs, strict=True), start=1
        )
    )
    return fsum(terms) / float(devices**exponent)


def _check(exponent: float) -> None:
    if not 0 < exponent < 1:
        raise InputError(f"the exponent of heSRPT must lie between 0 and 1, got {exponent}.")


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
"""How likely jobs are to end early, by their devices; see `foretrain.jobs.mix.learned`."""

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
