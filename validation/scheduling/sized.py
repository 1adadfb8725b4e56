"""Service times: how long jobs run once they have their device.

Formulas that look at sizes need shares and moments of the jobs up to a size, so a law of service
times says these, for one size or for an array of them.

One server that looks at sizes: what is left of jobs, what they got, or everybody alike.

All formulas are of Poisson arrivals and interruption without cost. Each is an integral over sizes,
done by Gauss-Legendre quadrature after mapping sizes to the share size / (size + scale).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import fsum, isclose, sqrt

import numpy as np
from numpy.typing import NDArray

from foretrain.errors import InputError
from foretrain.queueing.fork_join import check

Sizes = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exponentials:
    """A mixture of exponential times: one of several kinds of job, each memoryless.

    Attributes:
        shares: of the jobs of each kind; they add up to 1.
        means: seconds that a job of each kind runs on average.

    Source: kleinrock1975, section 4.7: the hyperexponential law.
    """

    shares: tuple[float, ...]
    means: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.shares) != len(self.means) or not self.means:
            raise InputError("Exponentials needs as many shares as means, at least one.")
        if not (min(self.shares) >= 0 and isclose(fsum(self.shares), 1.0)):
            raise InputError(f"Exponentials.shares must add up to 1, got {self.shares}.")
        if not min(self.means) > 0:
            raise InputError(f"Exponentials.means must be above 0 s, got {self.means}.")

    @property
    def mean(self) -> float:
        """Seconds that a job runs on average."""
        return fsum(share * mean for share, mean in self._kinds())

    @property
    def square(self) -> float:
        """Mean of the square of the time, in seconds squared."""
        return fsum(2.0 * share * mean * mean for share, mean in self._kinds())

    def density(self, size: Sizes) -> Sizes:
        """Share of the jobs per second of size. [size]"""
        return self._sum(size, lambda scaled, mean: np.exp(-scaled) / mean)

    def above(self, size: Sizes) -> Sizes:
        """Share of the jobs that run longer. [size]"""
        return self._sum(size, lambda scaled, mean: np.exp(-scaled))

    def mean_up_to(self, size: Sizes) -> Sizes:
        """Mean of the time of a job if it is at most the size, else of 0. [size]"""
        return self._sum(
            size, lambda scaled, mean: -mean * (np.expm1(-scaled) + scaled * np.exp(-scaled))
        )

    def square_up_to(self, size: Sizes) -> Sizes:
        """Mean of the squared time of a job if it is at most the size, else of 0. [size]"""

        def kind(scaled: Sizes, mean: float) -> Sizes:
            rest = np.exp(-scaled) * (0.5 * scaled * scaled + scaled)
            return -2.0 * mean * mean * (np.expm1(-scaled) + rest)

        return self._sum(size, kind)

    def _kinds(self) -> zip[tuple[float, float]]:
        return zip(self.shares, self.means, strict=True)

    def _sum(self, size: Sizes, kind: Callable[[Sizes, float], Sizes]) -> Sizes:
        total = np.zeros_like(size)
        for share, mean in self._kinds():
            total = total + share * kind(size / mean, mean)
        return total


def exponential(mean: float) -> Exponentials:
    """Memoryless service times of a mean in seconds."""
    return Exponentials(shares=(1.0,), means=(mean,))


def hyperexponential(mean: float, *, variation: float) -> Exponentials:
    """Many short jobs and a few long ones, each kind with half of all the work.

    Args:
        mean: seconds.
        variation: squared coefficient of variation, at least 1.

    Source: kleinrock1975, section 4.7, with the means balanced.
    """
    if not variation >= 1:
        raise InputError(f"variation must be at least 1, got {variation}.")
    skew = sqrt((variation - 1.0) / (variation + 1.0))
    shares = (0.5 * (1.0 + skew), 0.5 * (1.0 - skew))
    return Exponentials(shares=shares, means=(0.5 * mean / shares[0], 0.5 * mean / shares[1]))


PANELS = 128
"""Pieces of the integral, of equal width in the mapped size."""

NODES = 16
"""Points of the quadrature in each."""


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
