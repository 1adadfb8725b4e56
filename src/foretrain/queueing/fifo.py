"""Queues with arrivals from outside: first come first served, and shared by all who are there.

Erlang's delay formula, Pollaczek and Khinchine's mean, and that of processor sharing.
"""

from __future__ import annotations

from foretrain.errors import InputError


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
