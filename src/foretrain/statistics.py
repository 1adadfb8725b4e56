"""Statistics: what the slowest of many takes, and how sure a mean is.

A job whose members wait for one another goes at the pace of the slowest, whose expected time is
that of a largest order statistic. Values of one simulation depend on each other, those of long
batches hardly do, and two policies are best told apart on the same jobs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import sqrt
from statistics import NormalDist, fmean, stdev
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from foretrain.errors import InputError

Floats = NDArray[np.float64]

# What SciPy knows comes from scipy.special: scipy.stats says it in more words and takes a second
# to import, which every command would wait for.

REACH = 40
"""Standard deviations to each side that integrals over an order statistic cover."""

GRID = 8
"""Their points per standard deviation."""


def largest_normal(count: int, *, mean: float, deviation: float) -> float:
    """Expected maximum of independent normal values.

    Args:
        count: how many values, at least 1.
        mean: of each.
        deviation: standard deviation of each, at least 0.

    Source: david2003, section 3.1.
    """
    hazards, weights = order_weights(count, count)
    return mean + deviation * float(weights @ normal_at_hazard(hazards))


def normal_at_hazard(hazards: Floats) -> Floats:
    """What a standard normal value exceeds with probability exp(-hazard). [hazard]"""
    from scipy.special import ndtri_exp

    return np.asarray(-ndtri_exp(-hazards))


class OrderStatistic(NamedTuple):
    """The k-th smallest of independent values.

    Attributes:
        mean: its expected value.
        variance: expected squared distance from it; infinite where the tail is too heavy.
    """

    mean: float
    variance: float


def exponential_order(rank: int, count: int) -> OrderStatistic:
    """The k-th smallest of independent exponential values of mean 1.

    Args:
        rank: from 1, the smallest, to `count`, the largest.
        count: how many values.

    Source: david2003, section 2.5: between two of them lies an exponential time of the rate of
    those that are left.
    """
    gaps = 1.0 / left_at_each(rank, count)
    return OrderStatistic(float(gaps.sum()), float(gaps @ gaps))


def left_at_each(rank: int, count: int) -> Floats:
    """How many of `count` values are left before the k-th smallest is reached, fewest first."""
    _check(count)
    if not 1 <= rank <= count:
        raise InputError(f"rank must lie from 1 to {count}, the number of values, got {rank}.")
    return np.arange(count - rank + 1.0, count + 1.0)


@lru_cache(maxsize=256)
def order_weights(rank: int, count: int) -> tuple[Floats, Floats]:
    """Points and weights of integrals over the k-th smallest exponential value of mean 1.

    Any distribution is a rising function of an exponential value, its cumulative hazard, so the
    same points and weights serve all. The trapezoidal rule in the logarithm of the value, about its
    mean, is good to some twelve digits for functions as smooth as distributions are.

    Args:
        rank: from 1, the smallest, to `count`, the largest.
        count: how many values.

    Source: david2003, section 2.1, for the density.
    """
    middle = exponential_order(rank, count)
    step = np.sqrt(middle.variance) / middle.mean / GRID
    hazards = middle.mean * np.exp(step * np.arange(-REACH * GRID, REACH * GRID + 1))
    below = (rank - 1) * np.log(-np.expm1(-hazards)) if rank > 1 else 0.0
    density = below - (count - rank + 1) * hazards + np.log(hazards)
    weights = np.exp(density - density.max())
    counted = weights > 0
    return hazards[counted], weights[counted] / weights.sum()


@overload
def harmonic(count: float) -> float: ...
@overload
def harmonic(count: Floats) -> Floats: ...
def harmonic(count: float | Floats) -> float | Floats:
    """1 + 1/2 + ... + 1/count, of a number or of a column of them."""
    _check(np.min(count))
    from scipy.special import digamma

    found: Floats = digamma(count + 1.0) + np.euler_gamma
    return found if np.ndim(count) else float(found)


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
    score = middle / (spread / sqrt(len(gaps)))
    return Paired(middle, low, high, student_chance(score, freedom=len(gaps) - 1))


def student_chance(score: float, *, freedom: int) -> float:
    """How likely Student's t is as far from 0, to both sides.

    Args:
        score: a mean over its standard error.
        freedom: degrees of freedom, at least 1.
    """
    from scipy.special import stdtr

    return 2.0 * float(stdtr(freedom, -abs(score)))


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


def _check(count: float) -> None:
    if not count >= 1:
        raise InputError(f"{count} values have no largest; give at least 1.")
