"""Equal share: every job gets as many devices as any other.

Gandiva-fair: every job has a ticket, and tickets get equal time.
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heapify, heappop, heappush

from foretrain.jobs.kinds import only_kind, water_level
from foretrain.jobs.rounds import Shares
from foretrain.jobs.shared import Grant, State


def processor_sharing(state: State) -> Mapping[int, Grant]:
    """An equal share of all devices for every job, as a fluid; what it cannot use goes to others.

    Source: kleinrock1976, section 4.4: processor sharing.
    """
    most = [active.job.curve.counts[-1] for active in state.jobs]
    level = water_level(most, devices=state.devices)
    return {
        active.rank: Grant(min(level, each)) for active, each in zip(state.jobs, most, strict=True)
    }


def equal_share(state: State) -> Mapping[int, Grant]:
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
        active.rank: Grant(counts[active.rank][widths[active.rank]], active.job.kinds)
        for active in state.jobs
        if active.rank in widths
    }


def gandiva_fair(state: State) -> Shares:
    """The same share of time for every job, whatever number of devices it asks for.

    Source: chaudhary2020, section 3: gang-aware stride scheduling.
    """
    kind = only_kind(state.fleet, "Gandiva-fair")
    asked = sum(active.job.devices for active in state.jobs)
    share = min(1.0, state.devices / asked) if asked else 0.0
    return {active.rank: {kind: share} for active in state.jobs}
