"""Statistics: what the slowest of many takes, and how sure a mean is.

A job whose members wait for one another goes at the pace of the slowest, whose expected time is
that of a largest order statistic. Values of one simulation depend on each other, those of long
batches hardly do, and two policies are best told apart on the same jobs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import sqrt
from statistics import NormalDist, fmean, stdev
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foretrain.errors import InputError

# What SciPy knows comes from scipy.special: scipy.stats says it in more words and takes a second
# to import, which every command would wait for.

REACH = 12
"""Standard deviations that the integral over a normal distribution covers."""

GRID = 64
"""Its points per standard deviation."""


def largest_normal(count: int, *, mean: float, deviation: float) -> float:
    """Expected maximum of independent normal values.

    Args:
        count: how many values, at least 1.
        mean: of each.
        deviation: standard deviation of each, at least 0.

    Source: david2003, section 3.1: the integral of x n f(x) F(x)^(n - 1), by the trapezoidal rule.
    """
    _check(count)
    points, log_density, log_share = _normal()
    terms = points * np.exp(log_density + (count - 1) * log_share)
    return mean + deviation * count * float(terms.sum()) / GRID


def largest_exponential(count: int, *, mean: float) -> float:
    """Expected maximum of independent exponential values of one mean.

    Source: david2003, section 2.5: the mean times the harmonic number of `count`.
    """
    return mean * harmonic(count)


def largest_of_samples(count: int, samples: Sequence[float]) -> float:
    """Expected maximum of values drawn, with replacement, from what was measured.

    Args:
        count: how many are drawn, at least 1.
        samples: what was measured.

    The k-th smallest of m samples is the maximum with probability (k/m)^n - ((k - 1)/m)^n.

    Source: david2003, section 2.1, for the empirical distribution.
    """
    _check(count)
    if not samples:
        raise InputError("largest_of_samples needs at least one sample.")
    shares = np.linspace(0.0, 1.0, len(samples) + 1) ** count
    return float(np.diff(shares) @ np.sort(samples))


def harmonic(count: int) -> float:
    """1 + 1/2 + ... + 1/count."""
    _check(count)
    from scipy.special import digamma

    return float(digamma(count + 1.0) + np.euler_gamma)


def mean_interval(values: Sequence[float], *, confidence: float = 0.95) -> tuple[float, float]:
    """The interval that holds the mean of what many independent values were drawn from.

    Args:
        values: at least two; a few dozen for the normal approximation to hold.
        confidence: chance that the interval holds it, between 0 and 1.
    """
    if len(values) < 2:
        raise InputError(f"mean_interval needs at least two values, got {len(values)}.")
    half = NormalDist().inv_cdf(0.5 + confidence / 2.0) * stdev(values) / sqrt(len(values))
    middle = fmean(values)
    return middle - half, middle + half


def batch_means(values: Sequence[float], *, batches: int, skip: float = 0.0) -> list[float]:
    """Means of consecutive batches of what a simulation gave, the warm-up removed.

    Args:
        values: in the order of time.
        batches: how many; values that do not fill them are left out with the warm-up.
        skip: share of the values, from the first on, that the simulation took to warm up.

    Source: law2015, section 9.5.3: the method of batch means.
    """
    if not (batches >= 1 and 0 <= skip < 1):
        raise InputError(f"give at least 1 batch and a skip below 1, got {batches} and {skip}.")
    length = int(len(values) * (1.0 - skip)) // batches
    if not length:
        raise InputError(f"{len(values)} values do not fill {batches} batches.")
    first = len(values) - batches * length
    return [fmean(values[at : at + length]) for at in range(first, len(values), length)]


def student_interval(values: Sequence[float], *, confidence: float = 0.95) -> tuple[float, float]:
    """The interval that holds the mean of what a few independent normal values were drawn from.

    Args:
        values: at least two, such as means of batches or of runs with other seeds.
        confidence: chance that the interval holds it, between 0 and 1.

    Source: student1908.
    """
    if len(values) < 2:
        raise InputError(f"student_interval needs at least two values, got {len(values)}.")
    half = student_quantile(confidence, freedom=len(values) - 1) * stdev(values)
    middle = fmean(values)
    return middle - half / sqrt(len(values)), middle + half / sqrt(len(values))


class Paired(NamedTuple):
    """How two things differ that were tried on the same cases.

    Attributes:
        difference: mean of the second less the first.
        low: what it exceeds with high confidence.
        high: what it stays below.
        chance: probability of a difference as large if there was none in truth.
    """

    difference: float
    low: float
    high: float
    chance: float


def paired(first: Sequence[float], second: Sequence[float], *, confidence: float = 0.95) -> Paired:
    """Compare two things on the same cases, such as two policies on the same jobs.

    Source: student1908: the paired t-test, two-sided.
    """
    gaps = [after - before for before, after in zip(first, second, strict=True)]
    low, high = student_interval(gaps, confidence=confidence)
    middle, spread = fmean(gaps), stdev(gaps)
    if not spread:
        return Paired(middle, low, high, 0.0 if middle else 1.0)
    from scipy.special import stdtr

    score = abs(middle) / (spread / sqrt(len(gaps)))
    return Paired(middle, low, high, 2.0 * float(stdtr(len(gaps) - 1, -score)))


def student_quantile(confidence: float, *, freedom: int) -> float:
    """How many standard deviations to both sides of its mean Student's t keeps with a confidence.

    Args:
        confidence: between 0 and 1.
        freedom: degrees of freedom, at least 1.
    """
    from scipy.special import stdtrit

    if not (0 < confidence < 1 and freedom >= 1):
        raise InputError(
            f"confidence must lie between 0 and 1 and freedom be at least 1, got {confidence:g}"
            f" and {freedom}."
        )
    return float(stdtrit(freedom, 0.5 + confidence / 2.0))


@cache
def _normal() -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Points, logarithms of the normal density there and of the share below. [points]"""
    from scipy.special import log_ndtr

    points = np.arange(-REACH * GRID, REACH * GRID + 1) / GRID
    return points, -0.5 * points * points - 0.5 * np.log(2.0 * np.pi), log_ndtr(points)


def _check(count: int) -> None:
    if not count >= 1:
        raise InputError(f"the maximum of {count} values does not exist; give at least 1.")
