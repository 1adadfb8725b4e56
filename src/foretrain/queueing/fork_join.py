"""Fork and join: a request that goes to several servers at once and waits for all of them.

A worker whose parameters lie on several servers is such a request. Shards of one request are served
independently, and the last of them counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from foretrain.errors import InputError
from foretrain.queueing.closed import ClosedMeans, ClosedNetwork, check_station, means_of, recursion
from foretrain.queueing.fifo import exponential_response
from foretrain.statistics import harmonic


def fork_join_means(
    network: ClosedNetwork, customers: int, *, shards: Mapping[str, int]
) -> ClosedMeans:
    """Throughput and queues where some stations are several servers that all must serve.

    Args:
        network: of a sharded station the demand is that of one shard at its server.
        customers: solved for every number up to it, at least 1.
        shards: servers by station; stations that are not named have one.

    Returns:
        A queue counts customers of whom a shard is not done yet.

    An approximation, for exponential service, that is exact for one shard and for one customer: who
    arrives waits for those before it as at one server, and then for the slowest of its own shards.
    Beside simulations its throughput is too low near the knee, by 1 % with two servers and 4 %
    with 16.

    Source: varki1999.
    """
    if network.paces:
        raise InputError("fork_join_means knows stations of one pace only; drop the paces.")
    for name, count in shards.items():
        check_station(name, network, where="shards")
        if not count >= 1:
            raise InputError(f"shards must be at least 1, got {count} at {name}.")
    own = [harmonic(shards.get(name, 1)) for name in network.demands]
    return means_of(network, *recursion(network, customers, own=own))


class ResponseBounds(NamedTuple):
    """What a mean response time cannot fall below or exceed, in seconds.

    Attributes:
        low: that of one server.
        high: that of servers whose queues know nothing of one another.
    """

    low: float
    high: float


def fork_join_bounds(arrivals: float, *, mean: float, servers: int) -> ResponseBounds:
    """Bounds of the mean time until all of several servers are done with a request.

    Args:
        arrivals: requests per second, Poisson, each with a shard for every server.
        mean: seconds of service of a shard, exponential.
        servers: how many, at least 1.

    Source: nelson1988, section II.
    """
    one = exponential_response(arrivals, mean=mean, servers=1)
    return ResponseBounds(one, harmonic(servers) * one)


def fork_join_response(arrivals: float, *, mean: float, servers: int) -> float:
    """Mean seconds until all of several servers are done with a request.

    Args:
        arrivals: requests per second, Poisson, each with a shard for every server.
        mean: seconds of service of a shard, exponential.
        servers: how many, at least 1.

    Exact for one and for two servers; for more an approximation, within 5 % up to 32.

    Source: nelson1988, equations for two servers and for their scaling to more.
    """
    one, load = exponential_response(arrivals, mean=mean, servers=1), arrivals * mean
    if servers == 1:
        return one
    two = (12.0 - load) / 8.0 * one
    growth = harmonic(servers) / harmonic(2)
    return (growth + (1.0 - growth) * 4.0 * load / 11.0) * two
