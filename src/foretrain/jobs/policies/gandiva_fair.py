"""Gandiva-fair: every job has a ticket, and tickets get equal time."""

from __future__ import annotations

from foretrain.jobs.kinds import only_kind
from foretrain.jobs.rounds import Shares
from foretrain.jobs.shared import State


def gandiva_fair(state: State) -> Shares:
    """The same share of time for every job, whatever number of devices it asks for.

    Source: chaudhary2020, section 3: gang-aware stride scheduling.
    """
    kind = only_kind(state.fleet, "Gandiva-fair")
    asked = sum(active.job.devices for active in state.jobs)
    share = min(1.0, state.devices / asked) if asked else 0.0
    return {active.rank: {kind: share} for active in state.jobs}
