"""Stations whose pace depends on how many are there.

Birth and death: customers who think, and one station whose pace depends on how many are there.

A server with several cores, a link that no single worker can fill, a link whose goodput falls with
the number of flows. The chain of its queue lengths is solved in logarithms, in a time that grows
with the number of customers only.

A finite source: machines that break down and repairers who mend them; one server's workers.

The oldest closed network: each of some machines runs for a while, then waits for repair. With one
repairer any law of repair times can be had exactly, if running times are exponential.

Convolution: closed networks whose stations are quicker or slower the more customers are there.

Weights of states multiply over stations, so those of a network are a convolution of those of its
stations. All weights are positive and kept as logarithms: nothing is ever subtracted, and nothing
overflows, which mean-value analysis with load-dependent stations cannot say of itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foretrain.errors import InputError


def shared_pace(most: float) -> tuple[float, ...]:
    """Paces of a station that serves several customers at once, each as quickly as one alone.

    Args:
        most: how many it so serves, at least 1: cores of a server; or a link's bandwidth over what
            one worker can take of it, which need not be a whole number.

    Returns:
        How many times as quick it is with 1, 2, ... customers there; the last holds for more.
    """
    if not 1 <= most < inf:
        raise InputError(f"a station must serve at least 1 customer at a time, got {most}.")
    return tuple(min(float(number), float(most)) for number in range(1, int(np.ceil(most)) + 1))


def check_pace(name: str, pace: Sequence[float]) -> None:
    """Refuse a pace that is not relative to one customer alone.

    Args:
        name: of the station, for messages.
        pace: how many times as quick the station is with 1, 2, ... customers there.
    """
    if not pace or pace[0] != 1:
        raise InputError(f"the pace of {name} must begin with 1, that of one customer.")
    for number, each in enumerate(pace, start=1):
        if not 0 < each <= number:
            raise InputError(
                f"the pace of {name} with {number} customers must be above 0 and at most {number},"
                f" got {each}: none is served more quickly than alone."
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StationLoad:
    """How one station fares in the long run.

    Attributes:
        throughput: customers served per second.
        chances: probability of 0, 1, ... customers there. [customers + 1]
        queue: customers there on average, those in service included.
        response: seconds from arrival to departure on average.
    """

    throughput: float
    chances: NDArray[np.float64]
    queue: float
    response: float


def station_load(
    customers: int, *, think: float, service: float, pace: Sequence[float] = (1.0,)
) -> StationLoad:
    """The long run of customers who think, are served at one station, and think again.

    Args:
        customers: how many, at least 1.
        think: seconds away from the station on average, at least 0.
        service: seconds of service for a customer that is alone, above 0.
        pace: how many times as quick the station is with 1, 2, ... customers there; the last
            holds for more.

    Exact for exponential service, and for any law where the station shares itself equally among
    its customers; thinking may have any law.

    Source: kleinrock1975, section 3.8: a finite population, with death rates by state.
    """
    if not customers >= 1:
        raise InputError(f"customers must be at least 1, got {customers}.")
    if not (0 <= think < inf and 0 < service < inf):
        raise InputError(
            f"think must be at least 0 s and service above 0 s, got {think} and {service}."
        )
    check_pace("the station", pace)
    there = np.arange(1, customers + 1)
    rates = np.array(pace, np.float64)[np.minimum(there, len(pace)) - 1] / service
    # Relative to the state in which all are there, which exists even if nobody thinks.
    with np.errstate(divide="ignore"):
        steps = np.log(rates) + np.log(think / (customers - there + 1.0))
    weights = np.concatenate([np.cumsum(steps[::-1])[::-1], [0.0]])
    chances = np.exp(weights - weights.max())
    chances /= chances.sum()
    throughput = float(chances[1:] @ rates)
    queue = float(chances[1:] @ there)
    return StationLoad(
        throughput=throughput, chances=chances, queue=queue, response=queue / throughput
    )


def machine_repair(
    machines: int, *, running: float, repair: float, repairers: int = 1
) -> StationLoad:
    """How machines fare that run, break down, and wait for one of several repairers.

    Args:
        machines: how many, at least 1.
        running: seconds until one breaks down, on average.
        repair: seconds of a repair, exponential with this mean.
        repairers: each mends one machine at a time, at least 1.

    Source: kleinrock1975, section 3.10: M/M/m with a finite population.
    """
    return station_load(machines, think=running, service=repair, pace=shared_pace(repairers))


def repair_throughput(
    customers: int, *, think: float, service: float, variation: float = 1.0
) -> float:
    """Cycles per second of customers who think exponentially and share one server, in turn.

    Args:
        customers: how many, at least 1.
        think: seconds away from the server on average, above 0.
        service: seconds of service on average, above 0.
        variation: squared coefficient of variation of the service time, at least 0.

    Exact for service times of a gamma law: constant (0), Erlang (1/k), exponential (1), and above.
    Other laws of the same variation come close.

    Source: takacs1962, chapter 5: the busy share of one repairer, by the transform of the repair
    time at whole multiples of the breakdown rate.
    """
    if not customers >= 1:
        raise InputError(f"customers must be at least 1, got {customers}.")
    for name, value in (("think", think), ("service", service)):
        if not 0 < value < inf:
            raise InputError(f"{name} must be above 0 s, got {value}.")
    if not 0 <= variation < inf:
        raise InputError(f"variation must be at least 0, got {variation}.")
    return float(np.exp(-_log_cycle(customers, think, service=service, variation=variation)))


def _log_cycle(customers: int, think: float, *, service: float, variation: float) -> float:
    """Logarithm of the seconds between two ends of service.

    Of the time between two starts of a busy period the server is idle for think / customers; how
    many services a busy period has on average is a sum over how many others are away at its start.
    """
    from scipy.special import gammaln, logsumexp

    others = np.arange(customers, dtype=np.float64)
    exponents = _log_transform(others[1:] / think, service=service, variation=variation)
    ratios = np.concatenate([[0.0], np.cumsum(exponents + np.log(-np.expm1(-exponents)))])
    choices = gammaln(customers) - gammaln(others + 1.0) - gammaln(customers - others)
    services = logsumexp(ratios + choices)
    return float(np.logaddexp(np.log(service), np.log(think / customers) - services))


def _log_transform(
    rates: NDArray[np.float64], *, service: float, variation: float
) -> NDArray[np.float64]:
    """Minus the logarithm of the Laplace transform of a gamma law. [rate]"""
    if variation == 0.0:
        return rates * service
    return np.log1p(rates * service * variation) / variation


Logs = NDArray[np.float64]

NOTHING = -np.inf
"""Logarithm of the weight of a state that never is."""


class Convolved(NamedTuple):
    """What a network does for 1, 2, ... customers.

    Attributes:
        throughput: cycles per second. [customers]
        queues: customers at each station, those in service included. [station, customers]
    """

    throughput: NDArray[np.float64]
    queues: NDArray[np.float64]


def convolved(
    customers: int, *, think: float, demands: Sequence[float], paces: Sequence[Sequence[float]]
) -> Convolved:
    """Throughput and queues of every number of customers up to one, exactly.

    Args:
        customers: at least 1.
        think: seconds away from all stations, at least 0.
        demands: seconds of service in a cycle for a customer that is alone. [station]
        paces: how many times as quick each station is with 1, 2, ... customers there; the last
            holds for more. [station]

    Source: buzen1973, section "load-dependent servers", in logarithms.
    """
    numbers = np.arange(1, customers + 1)
    stations = [
        _weights(demand / np.array(pace)[np.minimum(numbers, len(pace)) - 1])
        for demand, pace in zip(demands, paces, strict=True)
    ]
    delay = _weights(think / numbers)
    whole = reduce(_convolve, stations, delay)
    counts = np.concatenate([[NOTHING], np.log(numbers)])
    queues = [
        _convolve(station + counts, others)[1:] - whole[1:]
        for station, others in zip(stations, _without_each(delay, stations), strict=True)
    ]
    return Convolved(
        throughput=np.exp(whole[:-1] - whole[1:]),
        queues=np.exp(np.array(queues)).reshape(len(stations), customers),
    )


def _weights(seconds: NDArray[np.float64]) -> Logs:
    """Weights of 0, 1, ... customers at a station, by the seconds to the next end of service."""
    with np.errstate(divide="ignore"):
        return np.concatenate([[0.0], np.cumsum(np.log(seconds))])


def _without_each(delay: Logs, stations: Sequence[Logs]) -> list[Logs]:
    """Weights of the network without its first station, without its second, and so on.

    Those before a station and those after it are convolved once for all.
    """
    nobody = np.where(np.arange(len(delay)) == 0, 0.0, NOTHING)
    before, after = [delay], [nobody]
    for station in stations[:-1]:
        before.append(_convolve(before[-1], station))
    for station in stations[:0:-1]:
        after.append(_convolve(after[-1], station))
    return [_convolve(left, right) for left, right in zip(before, reversed(after), strict=True)]


def _convolve(left: Logs, right: Logs) -> Logs:
    """Logarithms of the sums over all ways to part 0, 1, ... customers into two groups."""
    sums = np.full(len(left), NOTHING)
    for number in range(len(left)):
        terms = left[: number + 1] + right[number::-1]
        largest = terms.max()
        if largest > NOTHING:
            sums[number] = largest + np.log(np.exp(terms - largest).sum())
    return sums
