"""Jobs while they are in the cluster: what they hold and may hold, their pace, and their devices.

Jobs while they are in the cluster: what they hold, their pace, and the pools of devices.

A job while it is in the cluster: what it holds, what it has done and what it has got.

Pace: how quickly a job would go on some devices, packed on as few nodes as can be.

Progress: how quickly a job goes on the devices that it holds, and how long it stays so.

Pools: which devices are free, and which of them a job gets.

Limits: what users, groups, accounts and arrays may hold at once, whatever the policy.

The simulation asks them at every start and tells them of every start and stop, so that no policy
can forget one. A job that a limit keeps from starting does not stand in the way of others.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from functools import cache
from math import ceil, inf
from typing import NamedTuple, Protocol, TypeGuard

from foretrain.cluster.mixed import Fleet
from foretrain.measured.job import Job
from foretrain.measured.limit import PartyLimit
from foretrain.throughput import Curve


class HeldDevices(NamedTuple):
    """Devices that a job holds.

    Attributes:
        kind: of the devices.
        devices: how many; a whole number but where devices are shared as a fluid.
        nodes: how many nodes they lie on.
        places: (node, devices there) of each node; empty where nodes are not told apart.
    """

    kind: str
    devices: float
    nodes: int
    places: tuple[tuple[int, int], ...] = ()


class Left(NamedTuple):
    """An interruption of a job.

    Attributes:
        when: in seconds since the trace began.
        held: the devices that it gave back.
    """

    when: float
    held: HeldDevices


class Active:
    """A job that has arrived and not ended; changed by the simulation alone.

    Attributes:
        job: the job.
        rank: its place among all jobs by (arrival, sequence): what breaks ties.
        held: its devices; None while it waits.
        rate: units of work per second on them.
        done: units of work up to `since`.
        since: when it goes on with work: later than now while it starts.
        attained: device-seconds up to `charged`.
        running: seconds with devices up to `charged`.
        anew: what `running` was when it last began from nothing, or after it lost its node: from
            there its time limit counts.
        charged: when `attained` and `running` were last worked out.
        begun: when it first held devices; None before.
        stops: how often it was interrupted.
        left: when that last was, and what it gave back; None before, and after a failure.
        ending: id of the event that ends it, -1 while it waits.
        until: when it ends if it goes on; infinite where its rate changes before. No policy may
            look at it.
    """

    __slots__ = (
        "anew", "attained", "begun", "charged", "done", "ending", "held", "job", "left", "rank",
        "rate", "running", "since", "stops", "until",
    )  # fmt: skip

    def __init__(self, job: Job, rank: int) -> None:
        self.job = job
        self.rank = rank
        self.held: HeldDevices | None = None
        self.rate = 0.0
        self.done = 0.0
        self.since = job.arrival
        self.attained = 0.0
        self.running = 0.0
        self.anew = 0.0
        self.charged = job.arrival
        self.begun: float | None = None
        self.stops = 0
        self.left: Left | None = None
        self.ending = -1
        self.until = inf

    def done_at(self, now: float) -> float:
        """Units of work that it has done."""
        return self.done + self.rate * max(0.0, now - self.since) if self.held else self.done

    def attained_at(self, now: float) -> float:
        """Device-seconds that it has held."""
        held = self.held
        return self.attained + held.devices * (now - self.charged) if held else self.attained


def pace(active: Active, devices: float, *, fleet: Fleet) -> float:
    """Units of work per second on devices of the first kind that the job can use.

    Args:
        active: the job.
        devices: one of its curve's counts.
        fleet: where it runs.
    """
    kinds = active.job.kinds
    home = next(each for each in fleet.nodes if not kinds or each.kind in kinds)
    nodes = ceil(devices / home.devices)
    return active.job.curve.rate(devices, nodes=nodes, kind=home.kind, done=active.done)


def efficient(active: Active, threshold: float, *, fleet: Fleet) -> int:
    """The most devices on which each still does a share of what a device does on the fewest.

    Args:
        active: the job.
        threshold: the share, from 0 (as many devices as the job can use) to 1.
        fleet: where it runs; no job is given more devices than it has.
    """
    counts = [count for count in active.job.curve.counts if count <= fleet.devices]
    alone = pace(active, counts[0], fleet=fleet) / counts[0]
    return next(
        count
        for count in reversed(counts)
        if count == counts[0] or pace(active, count, fleet=fleet) >= threshold * alone * count
    )


def largest(active: Active, devices: int) -> int:
    """The largest number that the job can use of some devices; 0 if they are too few."""
    counts = active.job.curve.counts
    return counts[place - 1] if (place := bisect_right(counts, devices)) else 0


class RateStretch(NamedTuple):
    """Work at one rate.

    Attributes:
        rate: units of work per second, above 0.
        until: units of work done at which the rate changes; infinity if it never does.
    """

    rate: float
    until: float


Progress = Callable[[Active, HeldDevices], RateStretch]
"""What becomes of a job on devices. It may differ from the job's curve: a curve is what a scheduler
believes, progress is what happens."""


class StagedCurve(Curve, Protocol):
    """A curve whose rate changes with what is done."""

    def until(self, done: float) -> float:
        """Units of work at which the rate changes next; infinity if it never does again."""
        ...


def believed(active: Active, held: HeldDevices) -> RateStretch:
    """As the job's curve says."""
    curve, done = active.job.curve, active.done
    rate = curve.rate(held.devices, nodes=held.nodes, kind=held.kind, done=done)
    return RateStretch(rate, curve.until(done) if _is_staged(curve) else inf)


def _is_staged(curve: Curve) -> TypeGuard[StagedCurve]:
    return offers(type(curve), "until")


@cache
def offers(kind: type[Curve], method: str) -> bool:
    """Whether a kind of curve has a method; asked once, as asking a protocol is slow.

    Args:
        kind: of the curve.
        method: that not all curves have.
    """
    return hasattr(kind, method)


ROUNDING = 1e-9
"""Share of a fluid's part by which floats may miss it."""


class Pool(Protocol):
    """The devices of a fleet that nobody holds."""

    @property
    def down(self) -> Mapping[str, int]:
        """Devices of nodes that are down, by kind; another object after every change."""
        ...

    def free(self, kinds: tuple[str, ...]) -> float:
        """Free devices of some kinds; of all where none is named."""
        ...

    def has(self, devices: float, kinds: tuple[str, ...]) -> bool:
        """Whether a job could have devices now."""
        ...

    def enough(
        self, devices: float, kinds: tuple[str, ...], held: Iterable[HeldDevices]
    ) -> int | None:
        """How many of some jobs must give devices back, in turn, until a job could have its own.

        None where all of them are too few.
        """
        ...

    def remove(self, held: HeldDevices) -> None:
        """Undo a `give`."""
        ...

    def copy(self) -> Pool:
        """The same devices, of which some may be given and taken to see what would be."""
        ...

    def take(self, devices: float, kinds: tuple[str, ...]) -> HeldDevices | None:
        """Devices of one kind for a job, or None where they cannot be had."""
        ...

    def again(self, held: HeldDevices) -> bool:
        """Take the very devices that were given back; False where not all of them are free."""
        ...

    def give(self, held: HeldDevices) -> None:
        """Devices back."""
        ...


class CountedPool:
    """Devices that are told apart by kind alone: a job gets any, packed on as few nodes as can be.

    A job that may use several kinds gets the first of its kinds, or of the fleet, that has enough.
    """

    def __init__(self, fleet: Fleet) -> None:
        self._free = {each.kind: float(each.count * each.devices) for each in fleet.nodes}
        self._per_node = {each.kind: each.devices for each in fleet.nodes}
        self._all = tuple(self._free)
        self._left = float(fleet.devices)
        self.down: Mapping[str, int] = {}

    def free(self, kinds: tuple[str, ...]) -> float:
        """Free devices of some kinds; of all where none is named."""
        return sum(self._free.get(kind, 0) for kind in kinds) if kinds else self._left

    def has(self, devices: float, kinds: tuple[str, ...]) -> bool:
        """Whether some kind has enough."""
        least = devices * (1.0 - ROUNDING)
        return any(self._free.get(kind, 0) >= least for kind in kinds or self._all)

    def enough(
        self, devices: float, kinds: tuple[str, ...], held: Iterable[HeldDevices]
    ) -> int | None:
        """How many of some jobs must give their devices back until a kind has enough."""
        free = {kind: self._free.get(kind, 0.0) for kind in kinds or self._all}
        least = devices * (1.0 - ROUNDING)
        for count, each in enumerate(held, start=1):
            if each.kind in free:
                free[each.kind] += each.devices
                if free[each.kind] >= least:
                    return count
        return None

    def remove(self, held: HeldDevices) -> None:
        """Devices that were given are held again."""
        self._free[held.kind] -= held.devices
        self._left -= held.devices

    def copy(self) -> CountedPool:
        """As many free devices."""
        other = copy(self)
        other._free = dict(self._free)
        return other

    def take(self, devices: float, kinds: tuple[str, ...]) -> HeldDevices | None:
        """Devices of one kind for a job, or None where no kind has enough."""
        for kind in kinds or self._all:
            if self._free.get(kind, 0) >= devices * (1.0 - ROUNDING):
                self._free[kind] -= devices
                self._left -= devices
                return HeldDevices(kind, devices, ceil(devices / self._per_node[kind]))
        return None

    def again(self, held: HeldDevices) -> bool:
        """As many devices of the same kind, for they are not told apart."""
        return self.take(held.devices, (held.kind,)) is not None

    def give(self, held: HeldDevices) -> None:
        """Devices back."""
        self._free[held.kind] += held.devices
        self._left += held.devices


Lane = tuple[tuple[int, str], ...]
"""Limits that bind a job, each with the party: jobs of one lane are allowed or not alike."""


class Limits:
    """Limits, and what parties hold of them."""

    def __init__(self, limits: Sequence[PartyLimit]) -> None:
        """Nobody holds anything."""
        self._limits = tuple(limits)
        self._devices: defaultdict[tuple[int, str], float] = defaultdict(float)
        self._jobs: defaultdict[tuple[int, str], int] = defaultdict(int)

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self._limits)

    def lane(self, job: Job) -> Lane:
        """What bounds a job."""
        return tuple(
            (place, limit.party(job))
            for place, limit in enumerate(self._limits)
            if limit.binds(job)
        )

    def allow(self, active: Active, devices: float) -> bool:
        """Whether a job may start on so many devices."""
        return self._reached(self.lane(active.job), devices) is None

    def reached(self, active: Active, devices: float) -> PartyLimit | None:
        """The first limit that a start would exceed; None where none would be."""
        place = self._reached(self.lane(active.job), devices)
        return None if place is None else self._limits[place]

    def hold(self, active: Active, devices: float) -> None:
        """A job has started."""
        for key in self.lane(active.job):
            self._devices[key] += devices
            self._jobs[key] += 1

    def release(self, active: Active, devices: float) -> None:
        """It has given its devices back."""
        for key in self.lane(active.job):
            self._devices[key] -= devices
            self._jobs[key] -= 1

    def together(self, jobs: Sequence[Active]) -> list[Active]:
        """Those of some jobs that may run at once, whoever stands first being served first.

        Args:
            jobs: on the devices that each asks for, whether they run or wait.
        """
        if not self:
            return list(jobs)
        room = Limits(self._limits)
        may = []
        for active in jobs:
            if room.allow(active, active.job.devices):
                room.hold(active, active.job.devices)
                may.append(active)
        return may

    def _reached(self, lane: Lane, devices: float) -> int | None:
        for key in lane:
            limit = self._limits[key[0]]
            if self._devices[key] + devices > limit.devices or self._jobs[key] + 1 > limit.jobs:
                return key[0]
        return None
