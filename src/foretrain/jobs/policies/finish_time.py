"""Finish-time fairness: nobody should end much later than on an equal part of the fleet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from foretrain.jobs.active import Active
from foretrain.jobs.kinds import filled, only_kind, rates, steps_left
from foretrain.jobs.rounds import Shares
from foretrain.jobs.shared import State

HALVINGS = 60
"""Steps of bisection: to the rounding of floats."""


class Need(NamedTuple):
    """What decides a job's ratio.

    Attributes:
        waited: seconds since it came.
        left: seconds that it still takes with all of its time.
        alone: seconds that it takes on an equal part, from the first to the last.
    """

    waited: float
    left: float
    alone: float


class FinishTimeFairness:
    """The largest ratio of response over response alone as small as it can be.

    Alone is on an equal part of the fleet: what was done so far would have taken the time that it
    takes at the parts of then, what is left takes that at today's. Shares are the least with which
    nobody's ratio exceeds the largest; what they leave over is given to all.

    Source: mahajan2020, section 3, in the form of narayanan2020, section 4.2; what becomes of the
    rest is ours.
    """

    def __init__(self) -> None:
        self._alone: dict[int, float] = {}
        self._before: dict[int, tuple[float, float]] = {}

    def __call__(self, state: State) -> Shares:
        """Time of all jobs."""
        kind = only_kind(state.fleet, "finish-time fairness")
        needs = {active.rank: self._need(active, kind, state) for active in state.jobs}
        ratio = _ratio(state, needs)
        least = {rank: _share(need, ratio) for rank, need in needs.items()}
        shares = filled(least, state.jobs, devices=state.devices)
        return {rank: {kind: share} for rank, share in shares.items()}

    def _need(self, active: Active, kind: str, state: State) -> Need:
        """What decides a job's ratio; what it did since it was last asked goes to its past."""
        rank, rate = active.rank, rates(active, state)[kind]
        part = rate * min(1.0, state.devices / len(state.jobs) / active.job.devices)
        left = steps_left(active)
        before, speed = self._before.get(rank, (left, part))
        past = self._alone.get(rank, 0.0) + (before - left) / speed
        self._alone[rank], self._before[rank] = past, (left, part)
        return Need(state.now - active.job.arrival, left / rate, past + left / part)


def _ratio(state: State, needs: Mapping[int, Need]) -> float:
    """The least ratio that nobody need exceed."""

    def asked(ratio: float) -> float:
        return sum(_share(needs[active.rank], ratio) * active.job.devices for active in state.jobs)

    low = max(((need.waited + need.left) / need.alone for need in needs.values()), default=0.0)
    high = 2.0 * low
    while asked(high) > state.devices:
        low, high = high, 2.0 * high
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if asked(middle) > state.devices else (low, middle)
    return high


def _share(need: Need, ratio: float) -> float:
    """Share of its time that a job needs for a ratio; all of it where even that is too little."""
    rest = ratio * need.alone - need.waited
    return min(1.0, need.left / rest) if rest > 0.0 else 1.0
