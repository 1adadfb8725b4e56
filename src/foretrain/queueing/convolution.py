"""Convolution: closed networks whose stations are quicker or slower the more customers are there.

Weights of states multiply over stations, so those of a network are a convolution of those of its
stations. All weights are positive and kept as logarithms: nothing is ever subtracted, and nothing
overflows, which mean-value analysis with load-dependent stations cannot say of itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
