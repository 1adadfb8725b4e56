"""Optimus: the next device goes to the job whose end it brings nearest."""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heapify, heappop, heappush

from foretrain.jobs.active import Active
from foretrain.jobs.left import left_on
from foretrain.jobs.shared import Grant, State


def optimus(state: State) -> Mapping[int, Grant]:
    """As few devices as it can use for each job, then one more wherever that saves most time.

    What counts is the drop of the time left, in seconds per device. A job that would not get
    quicker by its next step is left at that, even if it would by one after it. Jobs with few
    devices are placed first.

    Source: peng2018, section 4.1: marginal gain; time left is known, as in qiao2021, section 5.1.
    """
    given = _fewest(state)
    free = state.devices - sum(given.values())
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
        rank: Grant(given[rank], jobs[rank].job.kinds)
        for rank in sorted(given, key=given.__getitem__)
    }


def _fewest(state: State) -> dict[int, int]:
    """The fewest devices of each job, the first to come first, as long as there are any."""
    given, free = {}, state.devices
    for active in state.jobs:
        fewest = active.job.curve.counts[0]
        if fewest <= free:
            given[active.rank] = fewest
            free -= fewest
    return given


def _gain(active: Active, devices: int, state: State) -> tuple[float, int, int] | None:
    """Minus the seconds saved per further device, the job and its devices then."""
    counts = active.job.curve.counts
    after = next((count for count in counts if count > devices), None)
    if after is None:
        return None
    before, then = (left_on(active, count, state) for count in (devices, after))
    saved = (before - then) / (after - devices)
    return (-saved, active.rank, after) if saved > 0 else None
