"""Pollux: devices for the largest mean speed-up, of jobs that adapt their batch to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING

from foretrain.errors import InputError
from foretrain.jobs.active import Active
from foretrain.jobs.progress import largest, pace
from foretrain.jobs.shared import Allocation, ClusterState

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Best = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pollux:
    """Shares of devices whose speed-ups have the largest power mean, in rounds.

    A speed-up compares a job with itself on a fair share. A job uses less than a node, or whole
    nodes, so that no two jobs exchange gradients through one network card. It tries at most twice
    the devices that it has run on, as long as what more do was never seen. Where Pollux searches
    by a genetic algorithm, the best shares are found here by dynamic programming: they are
    whole numbers and the mean is a sum over jobs. An instance remembers the jobs of one run.

    Attributes:
        fairness: exponent of the mean: 1 to sum speed-ups; the lower, the more the slow ones
            count. Below 0, so that a job without devices counts most.
        delay: seconds that a restart is thought to cost.
        idle: what is added to every speed-up, so that a job without devices has one above 0.

    Source: qiao2021, section 4.2, and adaptdl, simulator/pollux.py: p = -1, a delay of 30 s, and
    1e-3 added before the mean (_evaluate).
    """

    fairness: float = -1.0
    delay: float = 30.0
    idle: float = 1e-3
    _most: dict[int, int] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.fairness < 0:
            raise InputError(f"Pollux.fairness must be below 0, got {self.fairness}.")
        if not (self.delay >= 0 and 0 < self.idle < 1):
            raise InputError(
                f"Pollux.delay must be at least 0 s and idle between 0 and 1, got {self.delay} and"
                f" {self.idle}."
            )

    def __call__(self, state: ClusterState) -> Mapping[int, Allocation]:
        """What each job gets; the largest are placed first."""
        options = [self._options(active, state) for active in state.jobs]
        chosen = allotted(options, int(state.devices))
        pairs = zip(chosen, state.jobs, strict=True)
        return {
            active.rank: Allocation(devices, active.job.kinds)
            for devices, active in sorted(pairs, key=lambda pair: (-pair[0], pair[1].rank))
            if devices
        }

    def _options(self, active: Active, state: ClusterState) -> Mapping[int, float]:
        """What devices cost: the speed-up that they give, to the power of the mean."""
        holds = 0 if active.held is None else int(active.held.devices)
        most = self._most[active.rank] = max(self._most.get(active.rank, 0), holds)
        fair = max(ceil(state.devices / len(state.jobs)), active.job.curve.counts[0])
        alike = pace(active, largest(active, fair), fleet=state.fleet)
        # Share of its speed that a job keeps if it is restarted again and again as so far.
        age = state.now - active.job.arrival
        kept = max(age - active.stops * self.delay, 0.0) / (age + self.delay)
        options = {0: self.idle**self.fairness}
        most, per_node = max(2 * most, active.job.curve.counts[0]), state.fleet.nodes[0].devices
        for count in active.job.curve.counts:
            if count <= most and (count < per_node or count % per_node == 0):
                speed = pace(active, count, fleet=state.fleet) / alike
                speed *= kept if holds and count != holds else 1.0
                options[count] = (speed + self.idle) ** self.fairness
        return options


def allotted(options: Sequence[Mapping[int, float]], devices: int) -> list[int]:
    """Devices of each job with the least sum of costs.

    Args:
        options: of each job, its costs by devices; 0 devices among them.
        devices: of all jobs.
    """
    import numpy as np

    best = np.zeros(devices + 1)
    picks: list[tuple[list[int], Best]] = []
    for costs in options:
        counts = [count for count in costs if count <= devices]
        tried = np.full((len(counts), devices + 1), np.inf)
        for row, count in enumerate(counts):
            tried[row, count:] = best[: devices + 1 - count] + costs[count]
        pick = tried.argmin(axis=0)
        best = tried[pick, np.arange(devices + 1)]
        picks.append((counts, pick))
    chosen: list[int] = []
    for counts, pick in reversed(picks):
        chosen.append(counts[pick[devices]])
        devices -= chosen[-1]
    return chosen[::-1]
