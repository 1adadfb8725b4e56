"""Devices by what they gain: Optimus, Pollux and Sia.

Optimus: greedy by marginal gain, the next device to the job whose end it brings nearest.

Pollux: devices for the largest mean speed-up, of jobs that adapt their batch to them.

Sia: one configuration for each job, of one kind of device, by an integer program every round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from math import ceil
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, TypeGuard

from foretrain.cluster.mixed import Nodes
from foretrain.errors import InputError
from foretrain.jobs.active import Active, largest, offers, pace
from foretrain.jobs.policies.choice import Gain, most_gained
from foretrain.jobs.shared import Allocation, ClusterState
from foretrain.throughput import Curve

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Best = NDArray[np.float64]
    Column = NDArray[np.float64]


class TimedCurve(Curve, Protocol):
    """A curve that knows how long work takes although its rate will change."""

    def seconds(self, devices: float, *, nodes: int, kind: str, done: float, until: float) -> float:
        """From some work done to more, on devices held all the time."""
        ...


def left_on(active: Active, devices: float, state: ClusterState) -> float:
    """Seconds that a job would still take on some devices, packed on as few nodes as can be.

    Args:
        active: the job.
        devices: one of its curve's counts.
        state: when, and where it runs.
    """
    job, done = active.job, active.done_at(state.now)
    home = next(each for each in state.fleet.nodes if not job.kinds or each.kind in job.kinds)
    nodes = ceil(devices / home.devices)
    if _is_timed(job.curve):
        return job.curve.seconds(devices, nodes=nodes, kind=home.kind, done=done, until=job.work)
    return (job.work - done) / job.curve.rate(devices, nodes=nodes, kind=home.kind, done=done)


def _is_timed(curve: Curve) -> TypeGuard[TimedCurve]:
    return offers(type(curve), "seconds")


def optimus(state: ClusterState) -> Mapping[int, Allocation]:
    """Greedy marginal gain: the fewest devices for each, then one more where most time is saved.

    What counts is the drop of the time left, in seconds per device. A job that would not get
    quicker by its next step is left at that, even if it would by one after it. Jobs with few
    devices are placed first.

    Source: peng2018, section 4.1: marginal gain; time left is known, as in qiao2021, section 5.1.
    """
    given: dict[int, int] = {}
    free = state.devices
    for active in state.jobs:
        fewest = active.job.curve.counts[0]
        if fewest <= free:
            given[active.rank] = fewest
            free -= fewest
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
        rank: Allocation(given[rank], jobs[rank].job.kinds)
        for rank in sorted(given, key=given.__getitem__)
    }


def _gain(active: Active, devices: int, state: ClusterState) -> tuple[float, int, int] | None:
    """Minus the seconds saved per further device, the job and its devices then."""
    counts = active.job.curve.counts
    after = next((count for count in counts if count > devices), None)
    if after is None:
        return None
    before, then = (left_on(active, count, state) for count in (devices, after))
    saved = (before - then) / (after - devices)
    return (-saved, active.rank, after) if saved > 0 else None


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


Option = tuple[Nodes, int, float]
"""Devices of a kind for a job, and how quickly it goes on them."""

RESTARTS: Mapping[str, float] = MappingProxyType(
    {"bert": 120.0, "cifar10": 20.0, "deepspeech2": 25.0, "imagenet": 250.0, "yolov3": 80.0}
)
"""Seconds that a restart of an application is thought to cost, by the group of its jobs.

Source: sia-artifacts, adaptdl/sched, policy/mip.py, get_restart_penalty.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sia:
    """An integer linear program: kinds and devices for the largest sum of scaled goodputs.

    A configuration is a power of two within a node, or whole nodes, of one kind. A job's goodputs
    are scaled by its least one, so that kinds weigh alike for jobs that cannot use all; a change is
    worth less by what restarts have cost the job so far; a job left out costs `left_out`. A job
    begins on its fewest devices and tries at most twice what it has run on. An instance remembers
    the jobs of one run.

    Attributes:
        fairness: exponent of scaled goodputs, below 0: the slower a job, the more it counts.
        left_out: cost of a job without devices, in jobs on their slowest configuration.
        delay: seconds that a restart is thought to cost where `delays` does not name the job.
        delays: the same by the group of a job, such as the application that it trains.

    Source: jayaram2023, section 3.4; sia-artifacts, policy/mip.py: p = -0.5, 1.1 for a job left out
    and 30 s for an application that is not named.
    """

    fairness: float = -0.5
    left_out: float = 1.1
    delay: float = 30.0
    delays: Mapping[str, float] = field(default_factory=lambda: RESTARTS)
    _most: dict[int, int] = field(default_factory=dict, init=False, repr=False)
    _prices: dict[int, tuple[float, ...]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.fairness < 0:
            raise InputError(f"Sia.fairness must be below 0, got {self.fairness}.")
        if not (self.left_out > 0 and min(self.delay, *self.delays.values()) >= 0):
            raise InputError(
                f"Sia.left_out must be above 0 and delays at least 0 s, got {self.left_out},"
                f" {self.delay} and {dict(self.delays)}."
            )

    def __call__(self, state: ClusterState) -> Mapping[int, Allocation]:
        """What each job gets; the largest are placed first."""
        rooms = {nodes.kind: state.room(nodes.kind) for nodes in state.fleet.nodes}
        place = {kind: row for row, kind in enumerate(rooms)}
        options = [self._options(active, state, rooms) for active in state.jobs]
        gains = []
        for active, own in zip(state.jobs, options, strict=True):
            costs = self._costs(active, own, state.now)
            pairs = zip(own, costs, strict=True)
            gains.append([Gain(place[o[0].kind], o[1], self.left_out - cost) for o, cost in pairs])
        picks = self._picks(gains, [int(room) for room in rooms.values()])
        chosen = [
            (active.rank, own[pick])
            for active, own, pick in zip(state.jobs, options, picks, strict=True)
            if pick is not None
        ]
        wide = sorted(chosen, key=lambda item: (-item[1][1], item[0]))
        return {rank: Allocation(count, (nodes.kind,)) for rank, (nodes, count, _) in wide}

    def _picks(self, gains: Sequence[Sequence[Gain]], rooms: Sequence[int]) -> list[int | None]:
        """Configuration of each job; the prices of kinds are kept for the next round."""
        picks, prices = most_gained(gains, rooms, prices=self._prices.get(len(rooms)))
        self._prices[len(rooms)] = prices
        return picks

    def _options(
        self, active: Active, state: ClusterState, rooms: Mapping[str, float]
    ) -> list[Option]:
        """Configurations of a job, up to twice the devices that it has had."""
        job, options = active.job, []
        holds = 0 if active.held is None else int(active.held.devices)
        most = self._most[active.rank] = max(self._most.get(active.rank, 0), holds)
        most = max(2 * most, job.curve.counts[0])
        for nodes in state.fleet.nodes:
            if job.kinds and nodes.kind not in job.kinds:
                continue
            for count in job.curve.counts:
                # Powers of two within a node, whole nodes beyond.
                within = count < nodes.devices and count & (count - 1) == 0
                whole = count % nodes.devices == 0
                if count > min(most, rooms[nodes.kind]):
                    break
                if within or whole:
                    width = ceil(count / nodes.devices)
                    speed = job.curve.rate(count, nodes=width, kind=nodes.kind, done=active.done)
                    options.append((nodes, count, speed))
        return options

    def _costs(self, active: Active, options: Sequence[Option], now: float) -> list[float]:
        """Of each configuration: its scaled goodput to the power of `fairness`."""
        slowest = min((speed for _, _, speed in options), default=1.0)
        age, held = now - active.job.arrival, active.held
        delay = self.delays.get(active.job.group, self.delay)
        kept = max(age - active.stops * delay, 0.0) / (age + delay)
        costs = []
        for nodes, count, speed in options:
            same = held is None or (held.kind, held.devices) == (nodes.kind, count)
            scaled = speed / slowest * (1.0 if same else kept)
            costs.append(scaled**self.fairness if scaled > 0 else self.left_out)
        return costs
