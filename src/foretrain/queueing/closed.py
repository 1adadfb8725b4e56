"""Closed networks: a fixed number of customers who think, ask for service, and think again.

A worker of asynchronous training is such a customer: it thinks while it computes, and the servers'
links and processors are the stations, where it may have to wait for others. What each spends in a
cycle is enough to know the throughput of any number of them, exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np
from numpy.typing import NDArray

from foretrain.errors import InputError
from foretrain.queueing.birth_death import check_pace, convolved

Column = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedNetwork:
    """What a customer does in a cycle, were it alone.

    Attributes:
        think: seconds away from all stations, at least 0; nobody waits there.
        demands: seconds of service at each station, at least 0, by the station's name. A customer
            that comes by twice in a cycle asks for the sum.
        paces: of the stations whose pace depends on how many customers are there: how many times
            as quick as for one they are with 1, 2, ... of them; the last holds for more.
            `shared_pace` makes those of several cores and of links that one worker cannot fill.
    """

    think: float
    demands: Mapping[str, float]
    paces: Mapping[str, Sequence[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 <= self.think < inf:
            raise InputError(f"ClosedNetwork.think must be at least 0 s, got {self.think}.")
        for name, demand in self.demands.items():
            if not 0 <= demand < inf:
                raise InputError(
                    f"ClosedNetwork.demands must be at least 0 s, got {demand} at {name}."
                )
        for name, pace in self.paces.items():
            check_station(name, self, where="ClosedNetwork.paces")
            check_pace(name, pace)
        if not self.alone > 0:
            raise InputError("ClosedNetwork: a cycle takes no time; give a demand above 0 s.")

    @property
    def demand(self) -> float:
        """Seconds of service per cycle, at all stations together."""
        return sum(self.demands.values())

    @property
    def alone(self) -> float:
        """Seconds of a cycle in which nobody waits."""
        return self.think + self.demand

    @property
    def least_seconds(self) -> Mapping[str, float]:
        """Seconds of each station for a cycle of somebody, at its best pace, by its name."""
        return {
            name: demand / max(self.paces.get(name, (1.0,)))
            for name, demand in self.demands.items()
        }

    @property
    def bottleneck(self) -> str | None:
        """The station that is busiest in the end, the first of several; None where nobody waits."""
        seconds = self.least_seconds
        most = max(seconds, key=seconds.__getitem__, default=None)
        return most if most is not None and seconds[most] > 0 else None

    @property
    def capacity(self) -> float:
        """Cycles per second that no number of customers exceeds; infinite without a bottleneck."""
        most = max(self.least_seconds.values(), default=0.0)
        return 1.0 / most if most > 0 else inf

    @property
    def knee(self) -> float:
        """Customers from which on they must wait for one another at the bottleneck.

        Where the two asymptotes of throughput cross. Source: lazowska1984, section 5.2.
        """
        return self.alone * self.capacity


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClosedMeans:
    """Mean values of a closed network for 1, 2, ... customers.

    Attributes:
        throughput: cycles per second of all customers together. [customers]
        response: seconds of a cycle that are not thinking: service and waiting. [customers]
        queues: customers at each station, those in service included, by its name. [customers]
        utilisations: share of each station's best pace that is used, by its name: of the time that
            it is busy where it has but one pace, of its cores where it has several. [customers]
    """

    throughput: Column
    response: Column
    queues: Mapping[str, Column]
    utilisations: Mapping[str, Column]


def mean_values(network: ClosedNetwork, customers: int) -> ClosedMeans:
    """Throughput and queues of every number of customers up to one, exactly.

    Exact for any law of thinking and of service where stations share themselves among their
    customers, as links do; first come first served needs exponential service.

    Args:
        network: what a customer does.
        customers: solved for every number up to it, at least 1.

    Source: reiser1980, exact mean-value analysis: a customer finds the queues that there would be
    without it. Where paces depend on the number there, buzen1973, the convolution of stations.
    """
    if not network.paces:
        return means_of(network, *recursion(network, customers))
    check_customers(customers)
    demands, paces = network.demands, network.paces
    solved = convolved(
        customers,
        think=network.think,
        demands=tuple(demands.values()),
        paces=[paces.get(name, (1.0,)) for name in demands],
    )
    return means_of(network, solved.throughput, solved.queues)


def residual_mean_values(
    network: ClosedNetwork, customers: int, *, variations: Mapping[str, float]
) -> ClosedMeans:
    """The same, approximately, where stations serve first come first served in general times.

    Args:
        network: the demands are one visit's each.
        customers: solved for every number up to it, at least 1.
        variations: squared coefficient of variation of the service time by station: 0 for equal
            times, 1 (as for stations that are not named) for exponential ones.

    Whom a customer finds in service has (1 + variation) / 2 service times left on average, not a
    whole one. Exact where all variations are 1. What customers find is still assumed to be the
    queue without them, which gives too much where the server is always busy and times vary little;
    so throughput is held to the capacity, which nothing exceeds.

    Source: reiser1979, the extension of mean-value analysis to first come first served.
    """
    if network.paces:
        raise InputError("residual_mean_values knows stations of one pace only; drop the paces.")
    for name, variation in variations.items():
        check_station(name, network, where="variations")
        if not 0 <= variation < inf:
            raise InputError(f"variations must be at least 0, got {variation} at {name}.")
    late = [(variations.get(name, 1.0) - 1.0) / 2.0 for name in network.demands]
    return means_of(network, *recursion(network, customers, late=late))


def recursion(
    network: ClosedNetwork,
    customers: int,
    *,
    own: Sequence[float] | None = None,
    late: Sequence[float] | None = None,
) -> tuple[Column, Column]:
    """Mean-value analysis: cycles per second [customers] and queues [station, customers].

    In plain floats: on the three or four numbers of a step NumPy would take five times as long.

    Args:
        network: what a customer does; the paces of stations do not count.
        customers: solved for every number up to it, at least 1.
        own: how many mean services one's own takes; without it 1. [station]
        late: what is left of the service that is found, less a whole one, in mean services; without
            it 0. [station]
    """
    check_customers(customers)
    demands = tuple(network.demands.values())
    busiest = max(range(len(demands)), key=demands.__getitem__, default=0)
    ones, zeros = [1.0] * len(demands), [0.0] * len(demands)
    parts = tuple(zip(demands, own or ones, late or zeros, strict=True))
    think, most = network.think, network.capacity
    before, queues = 0.0, [0.0] * len(demands)
    throughputs, rows = [], []
    for number in range(1, customers + 1):
        times = [
            demand * (mine + queue + before * demand * left)
            for (demand, mine, left), queue in zip(parts, queues, strict=True)
        ]
        cycle = think + sum(times)
        before = min(number / cycle, most)
        queues = [before * time for time in times]
        if before == most:  # whom an approximation would let through waits at the bottleneck
            queues[busiest] += number - before * cycle
        throughputs.append(before)
        rows.append(queues)
    return np.array(throughputs), np.array(rows).reshape(customers, len(demands)).T


def means_of(network: ClosedNetwork, throughput: Column, queues: Column) -> ClosedMeans:
    """What follows from throughput by Little's law and that of utilisation."""
    return ClosedMeans(
        throughput=throughput,
        response=np.arange(1, len(throughput) + 1) / throughput - network.think,
        queues=dict(zip(network.demands, queues, strict=True)),
        utilisations={
            name: seconds * throughput for name, seconds in network.least_seconds.items()
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ThroughputBounds:
    """What throughput cannot fall below or exceed.

    Attributes:
        low: cycles per second. [customers]
        high: cycles per second. [customers]
    """

    low: Column
    high: Column


def asymptotic_bounds(network: ClosedNetwork, customers: Column) -> ThroughputBounds:
    """Bounds that hold whatever the laws of service: all wait for all, or nobody for anybody.

    Args:
        network: what a customer does.
        customers: numbers of them, each at least 1. [customers]

    Source: lazowska1984, section 5.2.
    """
    slowest = sum(
        demand / min(network.paces.get(name, (1.0,))) for name, demand in network.demands.items()
    )
    return ThroughputBounds(
        low=customers / (network.think + customers * slowest),
        high=np.minimum(customers / network.alone, network.capacity),
    )


def balanced_job_bounds(network: ClosedNetwork, customers: Column) -> ThroughputBounds:
    """Tighter bounds, which hold where `mean_values` is exact.

    A network waits least if its demand is spread evenly over the stations, most if all of it lies
    at as few stations as are as busy as the bottleneck.

    Args:
        network: what a customer does; at least one demand is above 0, and no paces.
        customers: numbers of them, each at least 1. [customers]

    Source: lazowska1984, section 5.4.
    """
    if network.bottleneck is None:
        raise InputError("balanced_job_bounds needs a demand above 0 s; here nobody waits.")
    if network.paces:
        raise InputError("balanced_job_bounds knows stations of one pace only; see the asymptotic.")
    demand, think, others = network.demand, network.think, customers - 1.0
    crowded = others / network.capacity / (1.0 + think / (customers * demand))
    spread = others * demand / len(network.demands) / (1.0 + think / demand)
    return ThroughputBounds(
        low=customers / (network.alone + crowded),
        high=np.minimum(customers / (network.alone + spread), network.capacity),
    )


def check_station(name: str, network: ClosedNetwork, *, where: str) -> None:
    """Refuse a station that the network does not have."""
    if name not in network.demands:
        raise InputError(f"{where}: unknown station {name!r}. Known: {', '.join(network.demands)}.")


def check_customers(customers: int) -> None:
    """Refuse a network without customers."""
    if not customers >= 1:
        raise InputError(f"a closed network needs at least 1 customer, got {customers}.")
