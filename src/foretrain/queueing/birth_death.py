"""Birth and death: customers who think, and one station whose pace depends on how many are there.

A server with several cores, a link that no single worker can fill, a link whose goodput falls with
the number of flows. The chain of its queue lengths is solved in logarithms, in a time that grows
with the number of customers only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

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
