"""Optimus: greedy by marginal gain, the next device to the job whose end it brings nearest."""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heapify, heappop, heappush
from math import ceil
from typing import Protocol, TypeGuard

from foretrain.jobs.active import Active
from foretrain.jobs.progress import offers
from foretrain.jobs.shared import Allocation, ClusterState
from foretrain.throughput import Curve


class TimedCurve(Curve, Protocol):
    """A curve that knows how long work takes although its rate will change."""

    def seconds(self, devices: float, *, nodes: int, kind: str, done: float, until: float) -> float:
        """From some work done to more, on devices held all the time."""
        ...


def left_on(active: Active, devices: float, state: ClusterState) -> float:
    """Seconds that a job would still take on some devices, packed on as few nodes as can be.

    Args:
        active: the job.
        devices: one of its curve's counts.
        state: when, and where it runs.
    """
    job, done = active.job, active.done_at(state.now)
    home = next(each for each in state.fleet.nodes if not job.kinds or each.kind in job.kinds)
    nodes = ceil(devices / home.devices)
    if _is_timed(job.curve):
        return job.curve.seconds(devices, nodes=nodes, kind=home.kind, done=done, until=job.work)
    return (job.work - done) / job.curve.rate(devices, nodes=nodes, kind=home.kind, done=done)


def _is_timed(curve: Curve) -> TypeGuard[TimedCurve]:
    return offers(type(curve), "seconds")


def optimus(state: ClusterState) -> Mapping[int, Allocation]:
    """Greedy marginal gain: the fewest devices for each, then one more where most time is saved.

    What counts is the drop of the time left, in seconds per device. A job that would not get
    quicker by its next step is left at that, even if it would by one after it. Jobs with few
    devices are placed first.

    Source: peng2018, section 4.1: marginal gain; time left is known, as in qiao2021, section 5.1.
    """
    given: dict[int, int] = {}
    free = state.devices
    for active in state.jobs:
        fewest = active.job.curve.counts[0]
        if fewest <= free:
            given[active.rank] = fewest
            free -= fewest
    jobs = {active.rank: active for active in state.jobs}
    gains = [entry for rank in given if (entry := _gain(jobs[rank], given[rank], state))]
    heapify(gains)
    while gains:
        _, rank, count = heappop(gains)
        if count - given[rank] > free:
            continue
        free -= count - given[rank]
        given[rank] = count
        entry = _gain(jobs[rank], count, state)
        if entry:
            heappush(gains, entry)
    return {
        rank: Allocation(given[rank], jobs[rank].job.kinds)
        for rank in sorted(given, key=given.__getitem__)
    }


def _gain(active: Active, devices: int, state: ClusterState) -> tuple[float, int, int] | None:
    """Minus the seconds saved per further device, the job and its devices then."""
    counts = active.job.curve.counts
    after = next((count for count in counts if count > devices), None)
    if after is None:
        return None
    before, then = (left_on(active, count, state) for count in (devices, after))
    saved = (before - then) / (after - devices)
    return (-saved, active.rank, after) if saved > 0 else None
