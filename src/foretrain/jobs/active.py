"""Jobs while they are in the cluster: what they hold and may hold, their pace, and their devices.

Pace: how quickly a job would go on some devices, packed on as few nodes as can be.
Progress: how quickly a job goes on the devices that it holds, and how long it stays so.
Pools: which devices are free, and which of them a job gets.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from functools import cache
from math import ceil, inf
from typing import NamedTuple, Protocol, TypeGuard

from foretrain.cluster.mixed import Fleet
from foretrain.measured.job import Job
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


class SwitchWish(NamedTuple):
    """Few leaf switches that a job waits for.

    Attributes:
        most: of them.
        until: when it takes more, in seconds since the trace began.
    """

    most: int
    until: float


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
        eligible: from when it stands in the queue: what it waited for before makes it no older.
        stops: how often it was interrupted.
        suspended: whether it keeps its place and all that limits count but devices, for others.
        left: when that last was, and what it gave back; None before, and after a failure.
        ending: id of the event that ends it, -1 while it waits.
        until: when it ends if it goes on; infinite where its rate changes before. No policy may
            look at it.
    """

    __slots__ = (
        "anew", "attained", "begun", "charged", "done", "eligible", "ending", "held", "job", "left",
        "rank", "rate", "running", "since", "stops", "suspended", "until",
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
        self.eligible = job.arrival
        self.stops = 0
        self.suspended = False
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

    def needed(
        self, devices: float, kinds: tuple[str, ...], held: Sequence[HeldDevices]
    ) -> Sequence[int]:
        """Places of those of some jobs that may have to go for a job; the others surely need not.

        They are as few as `enough` says: without the last of them the job could not be placed.
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


class Homes(Protocol):
    """Where jobs may run, each on the devices of its partition.

    Attributes:
        pools: of all partitions.
    """

    pools: Sequence[Pool]

    def home(self, job: Job) -> Pool:
        """The devices of a job's partition."""
        ...

    def wake(self, pool: Pool) -> None:
        """Something that was asked for happens in the partition of some devices."""
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

    def needed(
        self, devices: float, kinds: tuple[str, ...], held: Sequence[HeldDevices]
    ) -> Sequence[int]:
        """Those of the kind of the last one."""
        return [place for place, each in enumerate(held) if each.kind == held[-1].kind]

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
