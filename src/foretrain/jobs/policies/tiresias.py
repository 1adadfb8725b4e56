"""Tiresias in rounds: two queues, and whoever has got little stands in the first."""

from __future__ import annotations

from collections.abc import Mapping

from foretrain.errors import InputError
from foretrain.jobs.active import Active
from foretrain.jobs.shared import Grant, Policy, State

THRESHOLD = 16 * 3600.0
"""Device-seconds after which a job falls. Source: adaptdl, its simulator (from memory)."""


def tiresias(*, threshold: float = THRESHOLD) -> Policy:
    """Who has got less than a threshold first, then the others; a job that does not fit is passed.

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

    def policy(state: State) -> Mapping[int, Grant]:
        for active in state.jobs:
            if active.rank not in fallen and active.attained_at(state.now) >= threshold:
                fallen[active.rank] = len(fallen)
        left, grants = state.devices, {}
        for active in sorted(state.jobs, key=place):
            job = active.job
            if job.devices <= left:
                left -= job.devices
                grants[active.rank] = Grant(job.devices, job.kinds)
        return grants

    return policy
