"""A finite source: machines that break down and repairers who mend them; one server's workers.

The oldest closed network: each of some machines runs for a while, then waits for repair. With one
repairer any law of repair times can be had exactly, if running times are exponential.
"""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import NDArray

from foretrain.errors import InputError
from foretrain.queueing.birth_death import StationLoad, shared_pace, station_load


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
