"""Provisioning: segments, threads, replicas and servers chosen together, with proof.

A plan is priced from the outside in. How many machines a replica has and how many threads each
runs bound what an epoch can take; only where that bound can still be among the best are the
replica's layers cut. Cuts are found layer by layer: what a layer costs hangs on its own segments
and those of the layer before alone, so of all cuts up to a layer that end in the same number of
segments those remain that no other beats in time, traffic and memory at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import ceil, inf, prod

from foretrain.errors import InputError, NoPlanFits
from foretrain.measured.scale_study import Provisioning
from foretrain.queueing.cutting import Cutting, cutting_of, quickest_cut
from foretrain.queueing.replicas import (
    EpochTime,
    Number,
    Pace,
    ReplicatedTraining,
    epoch_time,
    exchange_seconds,
    samples_needed,
    servers_needed,
)
from foretrain.queueing.segments import (
    MOST_SEGMENTS,
    DivisibleLayer,
    Machine,
    ReplicaCost,
    SegmentCosts,
    chosen_cost,
    divisible_layers,
    memory_slowdown,
    segment_costs,
)
from foretrain.show.words import count, written
from foretrain.units import BYTES

ROUNDING = 1e-12
"""By how much a bound is lowered, so that rounding lifts none above what it bounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provision:
    """One way to run a training.

    Attributes:
        replica: how one is cut, and what a sample costs it.
        replicas: how many.
        servers: machines that hold the weights.
        time: seconds of all epochs.
    """

    replica: ReplicaCost
    replicas: int
    servers: int
    time: EpochTime

    @property
    def machines(self) -> int:
        """Of replicas and servers together."""
        return self.replica.machines * self.replicas + self.servers


@dataclass(frozen=True, slots=True, kw_only=True)
class Provisioned:
    """What a search found.

    Attributes:
        plans: the best, then the next best; one for each number of machines of a replica, threads,
            replicas and servers. Left out are replicas of more machines that are no quicker, and
            servers that nobody would wait for.
        priced: plans and beginnings of cuts that were priced.
        space: plans that there are.
    """

    plans: tuple[Provision, ...]
    priced: int
    space: float

    @property
    def best(self) -> Provision:
        """The quickest; of equals the one with the fewest machines."""
        return self.plans[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinePrices:
    """What machines cost, in dollars per second each.

    Attributes:
        worker: a machine of a replica, at least 0.
        server: at least 0.
    """

    worker: float
    server: float

    def __post_init__(self) -> None:
        for name in ("worker", "server"):
            if not getattr(self, name) >= 0:
                raise InputError(
                    f"MachinePrices.{name} must be at least 0 $/s, got {getattr(self, name)}."
                )


def cost_of(plan: Provision, prices: MachinePrices) -> float:
    """Dollars of a training."""
    workers = plan.replica.machines * plan.replicas
    per_second = workers * prices.worker + plan.servers * prices.server
    return float(plan.time.total) * per_second


def provision(
    layers: Sequence[DivisibleLayer],
    machine: Machine,
    training: ReplicatedTraining,
    *,
    machines: int,
    most: int = 5,
) -> Provisioned:
    """The quickest ways to run a training on some machines.

    Args:
        layers: of the network, in order.
        machine: all are alike.
        training: what is trained.
        machines: that there are, for replicas and servers together; at least 2.
        most: plans that are wanted, at least 1.

    Raises:
        NoPlanFits: no replica fits into the memory of so many machines.
    """
    if not most >= 1:
        raise InputError(f"most must be at least 1 plan, got {most}.")
    search = _begun(layers, machine, training, machines=machines)
    found: list[Provision] = []
    priced, within = 0, inf
    for shape in _shapes(search):
        # Bounds ascend: what comes later is no quicker than the last that would be kept.
        if shape.least > within:
            break
        plans, more = _plans(search, shape, within=within)
        found, priced = sorted([*found, *plans], key=_rank)[:most], priced + more
        within = float(found[-1].time.total) if len(found) == most else inf
    if not found:
        raise NoPlanFits(_too_large(search))
    space = plan_space(layers, machines=machines, cores=machine.cores)
    return Provisioned(plans=tuple(found), priced=priced, space=space)


def provisioned(asked: Provisioning, machines: int) -> Provisioned:
    """The quickest ways to share out some machines, as a study asks.

    Raises:
        InputError: a network without layers to cut, or a machine that cannot be.
        NoPlanFits: no replica fits into the memory of so many machines.
    """
    layers = divisible_layers(asked.model)
    machine = Machine(
        slowdown=memory_slowdown(asked.memory_share, cores=asked.cores),
        multiply_add=asked.multiply_add,
        activation=asked.activation,
        error=asked.error,
        memory=asked.memory,
        link=asked.link,
        latency=asked.latency,
        value=asked.value,
    )
    training = ReplicatedTraining(
        samples=asked.samples,
        chunk=asked.chunk,
        weights=sum(layer.weights for layer in layers),
        overlapped=asked.overlapped,
        waste=asked.waste,
    )
    return provision(layers, machine, training, machines=machines)


def cheapest(
    layers: Sequence[DivisibleLayer],
    machine: Machine,
    training: ReplicatedTraining,
    *,
    machines: int,
    deadline: float,
    prices: MachinePrices,
) -> Provision:
    """The cheapest way to be done in time.

    Args:
        layers: of the network, in order.
        machine: all are alike.
        training: what is trained.
        machines: that may be rented, for replicas and servers together; at least 2.
        deadline: seconds for all epochs.
        prices: of machines.

    Raises:
        NoPlanFits: nothing is done in time; the message says what would be the earliest.
    """
    search = _begun(layers, machine, training, machines=machines)
    found: list[Provision] = []
    for shape in sorted(_shapes(search), key=lambda shape: search.least_cost(shape, prices)):
        if found and search.least_cost(shape, prices) > cost_of(found[0], prices):
            break
        plans = _plans(search, shape, within=deadline)[0]
        timely = [plan for plan in plans if float(plan.time.total) <= deadline]
        known = [*found, *timely]
        found = sorted(known, key=lambda plan: (cost_of(plan, prices), *_rank(plan)))[:1]
    if not found:
        earliest = provision(layers, machine, training, machines=machines, most=1).best
        raise NoPlanFits(
            f"nothing on {machines} machines is done in {deadline:g} s: the quickest plan takes"
            f" {float(earliest.time.total):g} s. Take more machines, or more time."
        )
    return found[0]


def _rank(plan: Provision) -> tuple[float, ...]:
    """By time; of equals the fewest machines come first."""
    replica = plan.replica
    return (float(plan.time.total), plan.machines, replica.machines, replica.threads, plan.replicas)


def _too_large(search: _Search) -> str:
    weights = sum(layer.weights for layer in search.layers) * search.machine.value
    return (
        f"no replica fits: {count(len(search.layers), 'layer')} with"
        f" {written(BYTES, weights)} of weights, cut over at most"
        f" {count(search.machines - 1, 'machine')} of {written(BYTES, search.machine.memory)}."
        " Take more or larger machines."
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Search:
    """What is asked, with tables of what segments cost."""

    layers: Sequence[DivisibleLayer]
    machine: Machine
    training: ReplicatedTraining
    machines: int
    costs: SegmentCosts

    def seconds(self, pace: Pace, *, replicas: Number, servers: Number) -> EpochTime:
        """Of all epochs. [plan]"""
        one = epoch_time(pace, self.machine, self.training, replicas=replicas, servers=servers)
        return one.times(self.training.epochs)

    def cutting(self, machines: int, threads: int) -> Cutting:
        """How a replica of some machines and threads may be cut."""
        return cutting_of(
            self.costs,
            self.machine,
            machines=machines,
            threads=threads,
            beside=float(self._exchange(machines)) if self.training.overlapped else 0.0,
        )

    def least(self, pace: float, *, machines: int) -> float:
        """Seconds of all epochs with replicas of a pace, where no server keeps them waiting.

        As many replicas as there is room for: more of them are never slower.
        """
        return self._share(machines) * (pace + self._exposed(machines))

    def pace(self, within: float, *, machines: int) -> float:
        """The pace with which replicas would take so many seconds then."""
        return within / self._share(machines) - self._exposed(machines)

    def least_cost(self, shape: _Shape, prices: MachinePrices) -> float:
        """Dollars below which no plan with such replicas is: their machines', and one server's.

        The work of the replicas costs the same with few of them as with many.
        """
        samples = self.training.epochs * self.training.samples
        work = samples * (shape.pace + self._exposed(shape.machines))
        least = work * shape.machines * prices.worker + shape.least * prices.server
        return least * (1.0 - ROUNDING)

    def _share(self, machines: int) -> float:
        """Samples of all epochs that fall to each of as many replicas as there is room for."""
        replicas = self.most_replicas(machines)
        own = samples_needed(self.training, replicas) / replicas
        return float(self.training.epochs * own)

    def _exposed(self, machines: int) -> float:
        """Seconds per sample in which a replica waits for weights."""
        return 0.0 if self.training.overlapped else float(self._exchange(machines))

    def _exchange(self, machines: int) -> Number:
        one = exchange_seconds(self.machine, self.training, machines=machines)
        return one / self.training.chunk

    def most_replicas(self, machines: int) -> int:
        """Replicas of so many machines that there is room for beside a server."""
        return (self.machines - 1) // machines


def _begun(
    layers: Sequence[DivisibleLayer],
    machine: Machine,
    training: ReplicatedTraining,
    *,
    machines: int,
) -> _Search:
    if not 2 <= machines <= MOST_SEGMENTS + 1:
        raise InputError(
            f"machines must number from 2, a replica and a server, to {MOST_SEGMENTS + 1},"
            f" got {machines}."
        )
    costs = segment_costs(layers, machine, most=machines - 1)
    return _Search(
        layers=layers, machine=machine, training=training, machines=machines, costs=costs
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Shape:
    """A replica of some machines and threads, not cut yet.

    Attributes:
        machines: as many as some layer has segments.
        threads: of each machine.
        pace: seconds between two samples below which no cut that fits is.
        least: seconds below which no plan with such replicas is.
    """

    machines: int
    threads: int
    pace: float
    least: float


def _shapes(search: _Search) -> list[_Shape]:
    """Machines and threads of a replica that may fit, the quickest first."""
    found = []
    sizes = product(range(1, search.machines), range(1, search.machine.cores + 1))
    for size, threads in sizes:
        cutting = search.cutting(size, threads)
        if cutting.memory <= search.machine.memory:
            pace = cutting.pace
            least = search.least(pace, machines=size) * (1.0 - ROUNDING)
            found.append(_Shape(machines=size, threads=threads, pace=pace, least=least))
    return sorted(found, key=lambda shape: shape.least)


def _plans(search: _Search, shape: _Shape, *, within: float) -> tuple[list[Provision], int]:
    """Plans of one shape of a replica that may take so long, and how many were priced."""
    # Tables of all shapes at once would be large: those of one are made again in a millisecond.
    cutting = search.cutting(shape.machines, shape.threads)
    found = quickest_cut(cutting, most=search.pace(within, machines=shape.machines))
    if not found.segments:
        return [], found.priced
    replica = chosen_cost(
        search.costs, search.machine, segments=found.segments, threads=shape.threads
    )
    pace = Pace(
        sample=replica.sample,
        threads=replica.threads,
        traffic=replica.traffic,
        machines=replica.machines,
    )
    plans = []
    for replicas in range(1, search.most_replicas(replica.machines) + 1):
        room = search.machines - replicas * replica.machines
        enough = servers_needed(pace, search.machine, search.training, replicas=replicas)
        for servers in range(1, min(room, max(1, ceil(enough))) + 1):
            time = search.seconds(pace, replicas=replicas, servers=servers)
            plans.append(Provision(replica=replica, replicas=replicas, servers=servers, time=time))
    return plans, found.priced + len(plans)


def plan_space(layers: Sequence[DivisibleLayer], *, machines: int, cores: int) -> float:
    """Plans that there are: every cut, with all threads, replicas and servers that have room.

    Args:
        layers: of the network.
        machines: for replicas and servers together.
        cores: of a machine.
    """
    cuts = [
        float(prod(int(min(most, layer.neurons)) for layer in layers)) for most in range(machines)
    ]
    rooms = [
        sum(machines - size * count for count in range(1, (machines - 1) // size + 1))
        for size in range(1, machines)
    ]
    of_size = [more - less for less, more in pairwise(cuts)]
    return cores * sum(cut * room for cut, room in zip(of_size, rooms, strict=True))
