"""Queues of requests that come from outside, fork, join, and wait for one another.

Queues with arrivals from outside: first come first served, and shared by all who are there.

Erlang's delay formula, Pollaczek and Khinchine's mean, and that of processor sharing.

Fork and join: a request that goes to several servers at once and waits for all of them.

A worker whose parameters lie on several servers is such a request. Shards of one request are served
independently, and the last of them counts.

Barriers: how long until so many of several workers have come.

A synchronous step waits for the slowest worker, or, with backup workers, for all but the slowest
few. What it waits for is an order statistic of the workers' times.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import NamedTuple

import numpy as np

from foretrain.distributions import Constant, Distribution, Exponential, Floats, Pareto, Samples
from foretrain.errors import InputError
from foretrain.queueing.closed import ClosedMeans, ClosedNetwork, check_station, means_of, recursion
from foretrain.statistics import (
    OrderStatistic,
    exponential_order,
    harmonic,
    left_at_each,
    order_weights,
)


def waits(offered: float, *, servers: int) -> float:
    """Probability that a job that arrives has to wait, of Poisson arrivals and M/M/c service.

    Args:
        offered: load in erlangs, arrivals per second times mean service seconds; below `servers`.
        servers: devices that each serve one job, at least 1.

    Source: erlang1917, the second formula (Erlang C), by the recursion of Erlang B.
    """
    check(offered / servers)
    lost = 1.0
    for busy in range(1, servers + 1):
        lost = offered * lost / (busy + offered * lost)
    return lost / (1.0 - offered / servers * (1.0 - lost))


def exponential_response(arrivals: float, *, mean: float, servers: int) -> float:
    """Mean response time of M/M/c in seconds; of M/M/1 with one server.

    Args:
        arrivals: jobs per second.
        mean: of the service time, in seconds.
        servers: devices that each serve one job.

    Source: kleinrock1975, section 3.5.
    """
    offered = arrivals * mean
    return mean + waits(offered, servers=servers) * mean / (servers - offered)


def general_response(arrivals: float, *, mean: float, square: float) -> float:
    """Mean response time of M/G/1 in seconds.

    Args:
        arrivals: jobs per second.
        mean: of the service time, in seconds.
        square: mean of its square, in seconds squared.

    Source: kleinrock1975, equation 5.72: the Pollaczek-Khinchine mean-value formula.
    """
    check(arrivals * mean)
    return mean + arrivals * square / (2.0 * (1.0 - arrivals * mean))


def shared_response(arrivals: float, *, mean: float) -> float:
    """Mean response time of M/G/1 where all jobs share the server equally, in seconds.

    Args:
        arrivals: jobs per second.
        mean: of the service time, in seconds; its law does not matter.

    Source: kleinrock1976, section 4.4: processor sharing.
    """
    check(arrivals * mean)
    return mean / (1.0 - arrivals * mean)


def check(load: float) -> None:
    """Refuse a load under which the queue grows for ever.

    Args:
        load: share of the servers' time that is asked for.
    """
    if not 0 <= load < 1:
        raise InputError(
            f"a queue has a mean response time only at loads from 0 to below 1, got {load:g}."
        )


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


def barrier(compute: Distribution, *, workers: int, backup: int = 0) -> OrderStatistic:
    """Seconds until all workers have come but for the slowest few: mean and variance.

    Args:
        compute: seconds of one worker, independent of the others.
        workers: how many compute, at least 1.
        backup: of them, whom nobody waits for; less than all.

    Source: chen2016-backup, section 3, for what it is good for.
    """
    if not 0 <= backup < workers:
        raise InputError(
            f"backup must be at least 0 and below the {workers} workers, got {backup}."
        )
    return order_statistic(compute, rank=workers - backup, count=workers)


def best_backup(compute: Distribution, *, workers: int, rest: float = 0.0) -> int:
    """The number of backup workers with which most gradients are used per second.

    Args:
        compute: seconds of one worker, independent of the others.
        workers: how many compute, backup workers included, at least 1.
        rest: seconds of a step beside the barrier, the same whatever the number.
    """

    def used_per_second(backup: int) -> float:
        step = barrier(compute, workers=workers, backup=backup).mean + rest
        return (workers - backup) / step if step > 0 else inf

    return max(range(workers), key=used_per_second)


def order_statistic(of: Distribution, *, rank: int, count: int) -> OrderStatistic:
    """Mean and variance of the k-th smallest of independent values.

    Args:
        of: what each is drawn from. The part of a normal distribution below 0 counts as it is.
        rank: from 1, the smallest, to `count`, the largest.
        count: how many values, at least 1.

    Exact to rounding for constants, exponential and Pareto distributions and samples; the others
    are integrated over the order statistic of an exponential value, to some ten digits.

    Source: david2003, sections 2.1 and 3.1.
    """
    left = left_at_each(rank, count)
    match of:
        case Constant():
            return OrderStatistic(of.value, 0.0)
        case Exponential():
            mean, variance = exponential_order(rank, count)
            scale = of.mean - of.least
            return OrderStatistic(of.least + scale * mean, scale * scale * variance)
        case Pareto():
            return _of_pareto(of, left)
        case Samples():
            values = np.sort(of.values)
            weights = _chances(rank, count, samples=len(values))
        case _:
            hazards, weights = order_weights(rank, count)
            values = of.at_hazard(hazards)
    middle = float(weights @ values)
    return OrderStatistic(middle, float(weights @ (values - middle) ** 2))


def _of_pareto(of: Pareto, left: Floats) -> OrderStatistic:
    """Antilogarithms of exponential gaps multiply, so means are products over those left.

    Source: david2003, section 2.5.
    """
    shares = 1.0 / (of.shape * left)
    middle = of.least * float(np.exp(-np.log1p(-shares).sum()))
    if shares.max() >= 0.5:
        return OrderStatistic(middle, inf)
    spread = np.expm1(np.log1p(shares * shares / (1.0 - 2.0 * shares)).sum())
    return OrderStatistic(middle, middle * middle * float(spread))


def _chances(rank: int, count: int, *, samples: int) -> Floats:
    """Probability that the k-th smallest of values drawn is each of the sorted samples. [sample]"""
    from scipy.special import betainc

    return np.diff(betainc(rank, count - rank + 1.0, np.linspace(0.0, 1.0, samples + 1)))


def shared_by(
    one: tuple[float, float], other: tuple[float, float], *, cores: int, grouped: bool = False
) -> float:
    """Seconds until two kinds of processes that begin together are done.

    Args:
        one: core-seconds of each process of a kind, and how many there are; perhaps none.
        other: likewise.
        cores: on which they run; each uses one at most.
        grouped: whether the two kinds get equal shares, with what one leaves for the other;
            otherwise all processes do.

    Source: kleinrock1976, section 4.4: processor sharing.
    """
    kinds = [(seconds, count) for seconds, count in (one, other) if count]
    if len(kinds) < 2:
        return max((seconds * max(1.0, count / cores) for seconds, count in kinds), default=0.0)
    (first, few), (second, many) = kinds
    if grouped:
        shares = (max(cores / 2, cores - many), max(cores / 2, cores - few))
    else:
        shares = (cores * few / (few + many), cores * many / (few + many))
    # Cores of each process while both kinds are at work, and of one whose kind is left alone.
    speeds = [min(1.0, share / count) for share, (_, count) in zip(shares, kinds, strict=True)]
    alone = [min(1.0, cores / count) for _, count in kinds]
    ends = min(first / speeds[0], second / speeds[1])
    left = ((first - ends * speeds[0]) / alone[0], (second - ends * speeds[1]) / alone[1])
    return ends + max(0.0, *left)
