"""Max-sum throughput: who does most per device runs, whatever becomes of the others."""

from __future__ import annotations

from itertools import groupby

from foretrain.jobs.active import Active
from foretrain.jobs.kinds import only_kind, rates
from foretrain.jobs.rounds import Shares
from foretrain.jobs.shared import State


def max_sum(state: State) -> Shares:
    """As many units of work per second of all jobs together as the fleet can do.

    With one kind of device that is the order of work per device; equal jobs share alike what is
    left for them.

    Source: narayanan2020, section 4.2: maximise the sum of throughputs.
    """
    kind = only_kind(state.fleet, "max-sum throughput")

    def worth(active: Active) -> float:
        return rates(active, state)[kind] / active.job.devices

    left, shares = state.devices, {}
    for _, equals in groupby(sorted(state.jobs, key=worth, reverse=True), key=worth):
        alike = list(equals)
        asked = sum(active.job.devices for active in alike)
        share = min(1.0, left / asked)
        left -= share * asked
        shares.update({active.rank: {kind: share} for active in alike})
    return shares
