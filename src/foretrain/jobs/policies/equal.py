"""Equal share: every job gets as many devices as any other."""

from __future__ import annotations

from collections.abc import Mapping

from foretrain.jobs.shared import Grant, State


def processor_sharing(state: State) -> Mapping[int, Grant]:
    """An equal share of all devices for every job, as a fluid.

    Source: kleinrock1976, section 4.4: processor sharing.
    """
    share = state.fleet.devices / len(state.jobs) if state.jobs else 0.0
    return {active.rank: Grant(share) for active in state.jobs}
