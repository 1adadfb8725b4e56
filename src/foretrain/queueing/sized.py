"""One server that looks at sizes: what is left of jobs, what they got, or everybody alike.

All formulas are of Poisson arrivals and interruption without cost. Each is an integral over sizes,
done by Gauss-Legendre quadrature after mapping sizes to the share size / (size + scale).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from foretrain.queueing.fifo import check
from foretrain.queueing.service import Exponentials, Sizes

PANELS = 128
"""Pieces of the integral, of equal width in the mapped size."""

NODES = 16
"""Points of the quadrature in each."""


def shared_response(arrivals: float, *, mean: float) -> float:
    """Mean response time of M/G/1 where all jobs share the server equally, in seconds.

    Args:
        arrivals: jobs per second.
        mean: of the service time, in seconds; its law does not matter.

    Source: kleinrock1976, section 4.4: processor sharing.
    """
    check(arrivals * mean)
    return mean / (1.0 - arrivals * mean)


def srtf_response(arrivals: float, *, service: Exponentials) -> float:
    """Mean response time of M/G/1 where the job with the least time left runs, in seconds.

    Args:
        arrivals: jobs per second.
        service: law of service times.

    A job waits for work that is done before it, then is interrupted by ever shorter jobs only.

    Source: schrage1966, equation for the mean flow time.
    """
    check(arrivals * service.mean)
    size, weight = _sizes(service)
    idle = 1.0 - arrivals * service.mean_up_to(size)
    waiting = arrivals * _truncated(service, size) / (2.0 * idle * idle)
    return float(np.sum(weight * (service.density(size) * waiting + service.above(size) / idle)))


def las_response(arrivals: float, *, service: Exponentials) -> float:
    """Mean response time of M/G/1 where the job that got least runs, in seconds.

    Args:
        arrivals: jobs per second.
        service: law of service times.

    To a job of some size every other job looks as if it were at most of that size.

    Source: kleinrock1976, section 4.6: foreground-background, in the limit of small quanta.
    """
    check(arrivals * service.mean)
    size, weight = _sizes(service)
    idle = 1.0 - arrivals * (service.mean_up_to(size) + size * service.above(size))
    waiting = arrivals * _truncated(service, size) / (2.0 * idle)
    return float(np.sum(weight * service.density(size) * (waiting + size) / idle))


def las_levels_response(
    arrivals: float, *, service: Exponentials, levels: Sequence[float]
) -> float:
    """Mean response time of M/G/1 under least attained service in levels, in seconds.

    Args:
        arrivals: jobs per second.
        service: law of service times.
        levels: seconds of service at which a job falls to the next level, ascending.

    Within a level the first to arrive runs. A job waits for what was there of its own level and
    those before, and is then interrupted by newcomers until they leave the levels before its own.

    Source: kleinrock1976, section 4.7: multilevel processor sharing with first come first served
    in each level.
    """
    check(arrivals * service.mean)
    bounds = np.array([0.0, *levels, np.inf])
    ends = np.minimum(bounds, 1e6 * service.mean)
    above = service.above(ends)
    idle = 1.0 - arrivals * (service.mean_up_to(ends) + ends * above)
    before, through = idle[:-1], idle[1:]
    waiting = arrivals * _truncated(service, ends[1:]) / (2.0 * through)
    share = above[:-1] - above[1:]
    sizes = np.diff(service.mean_up_to(ends))
    return float(np.sum((waiting * share + sizes) / before))


def _truncated(service: Exponentials, size: Sizes) -> Sizes:
    """Mean of the square of a time of which only what lies below a size counts. [size]"""
    return service.square_up_to(size) + size * size * service.above(size)


def _sizes(service: Exponentials) -> tuple[Sizes, Sizes]:
    """Sizes in seconds and the weight of each in an integral over all of them."""
    place, weight = _places()
    return service.mean * place / (1.0 - place), service.mean * weight / (1.0 - place) ** 2


@cache
def _places() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Points and weights of the quadrature from 0 to 1."""
    point, weight = np.polynomial.legendre.leggauss(NODES)
    left = np.arange(PANELS)[:, None]
    return ((left + 0.5 * (point + 1.0)) / PANELS).ravel(), np.tile(0.5 * weight / PANELS, PANELS)
