"""AlloX: jobs are matched to devices so that the mean response is least, the oldest first."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING

from foretrain.jobs.active import Active
from foretrain.jobs.kinds import rates, steps_left
from foretrain.jobs.rounds import Shares
from foretrain.jobs.shared import State

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


OLDEST = 0.2
"""Share of the waiting jobs that are matched. Source: narayanan2020's AlloX (from memory)."""

NEVER = 1e15
"""Seconds that stand for a kind that a job cannot use: finite, for the matching's sake."""


class AlloX:
    """Matches waiting jobs to idle devices; who has a device keeps it to the end.

    A device works off the jobs that are matched to it one by one. The last of them delays itself
    alone, the one before two, so a job of t seconds in the k-th place from the end costs k t: the
    cheapest matching of jobs to places has the least sum of responses. Only the first job of every
    device gets it. Each is counted as a job on one device, as in Gavel's version.

    Attributes:
        oldest: share of the waiting jobs that are matched, and at least one per idle device.

    Source: le2020, section 4.
    """

    def __init__(self, oldest: float = OLDEST) -> None:
        self.oldest = oldest
        self._kept: dict[int, str] = {}

    def __call__(self, state: State) -> Shares:
        """Time of all jobs: 1 on the kind of the device that a job is matched to."""
        here = {active.rank for active in state.jobs}
        self._kept = {rank: kind for rank, kind in self._kept.items() if rank in here}
        idle = _idle(state, self._kept)
        waiting = [active for active in state.jobs if active.rank not in self._kept]
        waiting = waiting[: max(int(self.oldest * len(waiting)), len(idle))]
        if waiting and idle:
            self._match(waiting, idle, state)
        return {rank: {kind: 1.0} for rank, kind in self._kept.items()}

    def _match(self, waiting: Sequence[Active], idle: Sequence[str], state: State) -> None:
        """Give each idle device the first of the jobs that are matched to it."""
        from scipy.optimize import linear_sum_assignment

        costs = _costs(waiting, idle, state)
        first: dict[int, tuple[int, int]] = {}
        for row, column in zip(*linear_sum_assignment(costs), strict=True):
            place, device = divmod(int(column), len(idle))
            if costs[row, column] < NEVER:
                first[device] = max(first.get(device, (-1, -1)), (place, int(row)))
        for device, (_, row) in first.items():
            self._kept[waiting[row].rank] = idle[device]


def _idle(state: State, kept: dict[int, str]) -> list[str]:
    """The kind of every device that no job keeps."""
    held = list(kept.values())
    return [
        each.kind
        for each in state.fleet.nodes
        for _ in range(int(state.room(each.kind)) - held.count(each.kind))
    ]


def _costs(waiting: Sequence[Active], idle: Sequence[str], state: State) -> NDArray[np.float64]:
    """Seconds that a job in a place adds to all responses: jobs against places of devices."""
    import numpy as np

    seconds = []
    for active in waiting:
        speed = rates(active, state)
        times = {kind: steps_left(active) / rate for kind, rate in speed.items()}
        seconds.append([min(times.get(kind, inf), NEVER) for kind in idle])
    places = np.arange(1, len(waiting) + 1)
    table = np.array(seconds)
    return np.concatenate([place * table for place in places], axis=1)
