"""Divisions of time by an objective: max-min fairness, throughput, response, finish times.

Max-sum throughput takes who does most per device; least mean response is the minimum-cost matching
of AlloX; finish-time fairness is that of Themis. A share counts device-seconds: a job on four
devices has four times as much as one on a single device in the same time.
"""

from __future__ import annotations

from itertools import groupby
from math import inf
from typing import NamedTuple

from foretrain.jobs.active import Active
from foretrain.jobs.policies.interior import centred, most_even
from foretrain.jobs.rounds import Shares, only_kind, rates, steps_left, water_level
from foretrain.jobs.shared import ClusterState

NEXT = 1e-9
"""Gap at which an interior point stops: who lacks so little in worth cannot be told apart."""


def max_min(state: ClusterState) -> Shares:
    """Max-min fairness: equal device-seconds for all, in a fleet of one kind.

    Every job gets the same number of devices on average, at most what it asks for; what small jobs
    cannot use goes to the others alike.

    Source: narayanan2020, section 4.1, for one kind of device.
    """
    kind = only_kind(state.fleet, "max-min fairness")
    level = water_level([each.job.devices for each in state.jobs], devices=state.devices)
    return {active.rank: {kind: min(1.0, level / active.job.devices)} for active in state.jobs}


def max_min_over_kinds(state: ClusterState) -> Shares:
    """Max-min fairness over kinds of devices: the least normalised throughput is the largest.

    A job's throughput is taken over that of an equal share of every kind, times its devices. Many
    divisions have that least one; the analytic centre of them all is taken, near which an
    interior-point method such as ECOS, Gavel's solver, ends. There nobody's share of a kind that he
    can use is 0, so that he may run on what is left of it.

    Source: narayanan2020, section 4.1; domahidi2013 for the solver.
    """
    import numpy as np

    if not state.jobs:
        return {}
    names = [each.kind for each in state.fleet.nodes]
    capacity = np.array([float(state.room(name)) for name in names])
    devices = np.array([float(active.job.devices) for active in state.jobs])
    weight = np.array([active.job.priority for active in state.jobs])
    # Throughput of each job on each kind over that of an equal share.
    speeds = [rates(active, state) for active in state.jobs]
    rate = np.array([[speed.get(name, 0.0) for name in names] for speed in speeds])
    equal = capacity / max(float(len(devices)), float(capacity.sum()))
    gain = rate * (devices / weight / (rate @ equal))[:, None]
    found = most_even(gain, devices, capacity).tolist()
    return {
        active.rank: dict(zip(names, mine, strict=True))
        for active, mine in zip(state.jobs, found, strict=True)
    }


def max_sum(state: ClusterState) -> Shares:
    """Max-sum throughput: as much work per second of all jobs together as the fleet can do.

    With one kind of device that is the order of work per device; equal jobs share alike what is
    left for them. As at an interior point, who gets nothing is next in line for what is idle by how
    little his worth lacks.

    Source: narayanan2020, section 4.2: maximise the sum of throughputs.
    """
    kind = only_kind(state.fleet, "max-sum throughput")

    def worth(active: Active) -> float:
        return rates(active, state)[kind] / active.job.devices

    left, price, shares = state.devices, inf, {}
    for value, equals in groupby(sorted(state.jobs, key=worth, reverse=True), key=worth):
        alike = list(equals)
        asked = sum(active.job.devices for active in alike)
        share = min(1.0, left / asked)
        left -= share * asked
        price = value if share > 0.0 else price
        for active in alike:
            lacks = active.job.devices * (1.0 - value / price)
            shares[active.rank] = {kind: share or NEXT / (NEXT + lacks)}
    return shares


OLDEST = 1.0
"""Share of the waiting jobs that are matched. Source: gavel, scheduler/policies/allox.py, alpha."""

NEVER = 1e15
"""Seconds that stand for a kind that a job cannot use: finite, for the matching's sake."""


class AlloX:
    """Minimum-cost matching of waiting jobs and idle devices; who has a device keeps it.

    A device works off the jobs that are matched to it one by one. The last of them delays itself
    alone, the one before two, so a job of t seconds in the k-th place from the end costs k t: the
    cheapest matching of jobs to places has the least sum of responses. Only the first job of every
    device gets it. Each is counted as a job on one device, as in Gavel's version.

    Attributes:
        oldest: share of the waiting jobs that are matched, the first to come first; at least as
            many as devices are idle.

    Source: le2020, section 4.
    """

    def __init__(self, oldest: float = OLDEST) -> None:
        self.oldest = oldest
        self._kept: dict[int, str] = {}

    def __call__(self, state: ClusterState) -> Shares:
        """Time of all jobs: 1 on the kind of the device that a job is matched to."""
        here = {active.rank for active in state.jobs}
        self._kept = {rank: kind for rank, kind in self._kept.items() if rank in here}
        held = list(self._kept.values())
        idle = [
            each.kind
            for each in state.fleet.nodes
            for _ in range(int(state.room(each.kind)) - held.count(each.kind))
        ]
        waiting = [active for active in state.jobs if active.rank not in self._kept]
        waiting = waiting[: max(int(self.oldest * len(waiting)), len(idle))]
        if waiting and idle:
            import numpy as np
            from scipy.optimize import linear_sum_assignment

            # Seconds that a job in a place adds to all responses: jobs against places of devices.
            seconds = []
            for active in waiting:
                speed = rates(active, state)
                times = {kind: steps_left(active) / rate for kind, rate in speed.items()}
                seconds.append([min(times.get(kind, inf), NEVER) for kind in idle])
            places = np.arange(1, len(waiting) + 1)
            table = np.array(seconds)
            costs = np.concatenate([place * table for place in places], axis=1)
            # Give each idle device the first of the jobs that are matched to it.
            first: dict[int, tuple[int, int]] = {}
            for row, column in zip(*linear_sum_assignment(costs), strict=True):
                place, device = divmod(int(column), len(idle))
                if costs[row, column] < NEVER:
                    first[device] = max(first.get(device, (-1, -1)), (place, int(row)))
            for device, (_, row) in first.items():
                self._kept[waiting[row].rank] = idle[device]
        return {rank: {kind: 1.0} for rank, kind in self._kept.items()}


HALVINGS = 60
"""Steps of bisection: to the rounding of floats."""


class TimeNeeded(NamedTuple):
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
    """Finish-time fairness: the largest ratio of response over response alone is the least.

    Alone is on an equal part of the fleet: what was done so far would have taken the time that it
    takes at the parts of then, what is left takes that at today's. Shares are the least with which
    nobody's ratio exceeds the largest; of what they leave over all get some (`centred`).

    Source: mahajan2020, section 3, in the form of narayanan2020, section 4.2.
    """

    def __init__(self) -> None:
        self._alone: dict[int, float] = {}
        self._before: dict[int, tuple[float, float]] = {}

    def __call__(self, state: ClusterState) -> Shares:
        """Time of all jobs."""
        kind = only_kind(state.fleet, "finish-time fairness")
        needs: dict[int, TimeNeeded] = {}
        for active in state.jobs:
            # What a job did since it was last asked goes to its past.
            rank, rate = active.rank, rates(active, state)[kind]
            part = rate * min(1.0, state.devices / len(state.jobs) / active.job.devices)
            left = steps_left(active)
            before, speed = self._before.get(rank, (left, part))
            past = self._alone.get(rank, 0.0) + (before - left) / speed
            self._alone[rank], self._before[rank] = past, (left, part)
            needs[rank] = TimeNeeded(
                state.now - active.job.arrival, left / rate, past + left / part
            )

        def asked(ratio: float) -> float:
            return sum(_share(needs[each.rank], ratio) * each.job.devices for each in state.jobs)

        # The least ratio that nobody need exceed, by bisection.
        low = max(((need.waited + need.left) / need.alone for need in needs.values()), default=0.0)
        high = 2.0 * low
        while asked(high) > state.devices:
            low, high = high, 2.0 * high
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            low, high = (middle, high) if asked(middle) > state.devices else (low, middle)
        least = [_share(needs[active.rank], high) for active in state.jobs]
        shares = centred(least, [each.job.devices for each in state.jobs], devices=state.devices)
        return {each.rank: {kind: own} for each, own in zip(state.jobs, shares, strict=True)}


def _share(need: TimeNeeded, ratio: float) -> float:
    """Share of its time that a job needs for a ratio; all of it where even that is too little."""
    rest = ratio * need.alone - need.waited
    return min(1.0, need.left / rest) if rest > 0.0 else 1.0
