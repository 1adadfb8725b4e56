"""Statistics: what the slowest of many takes, and how sure a mean is.

A job whose members wait for one another goes at the pace of the slowest, whose expected time is
that of a largest order statistic.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from math import erfc, exp, fsum, log, log1p, pi, sqrt
from statistics import NormalDist, fmean, stdev

from foretrain.errors import InputError

EULER = 0.5772156649015329
"""Euler's constant: the harmonic numbers less the logarithm, in the limit."""

SUMMED = 100
"""Harmonic numbers up to this one are summed; the series is exact to a float beyond it."""

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
    terms = (
        point * exp(log_density + (count - 1) * log_share)
        for point, log_density, log_share in _normal()
    )
    return mean + deviation * count * fsum(terms) / GRID


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
    shares = [(rank / len(samples)) ** count for rank in range(len(samples) + 1)]
    chances = (high - low for low, high in pairwise(shares))
    return fsum(chance * value for chance, value in zip(chances, sorted(samples), strict=True))


def harmonic(count: int) -> float:
    """1 + 1/2 + ... + 1/count."""
    _check(count)
    if count <= SUMMED:
        return fsum(1.0 / number for number in range(1, count + 1))
    square = float(count) * count
    return log(count) + EULER + 0.5 / count - 1.0 / (12.0 * square) + 1.0 / (120.0 * square**2)


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


@cache
def _normal() -> tuple[tuple[float, float, float], ...]:
    """Points, logarithms of the normal density there and of the share below."""
    points = (place / GRID for place in range(-REACH * GRID, REACH * GRID + 1))
    return tuple((x, -0.5 * x * x - 0.5 * log(2.0 * pi), _log_share(x)) for x in points)


def _log_share(point: float) -> float:
    """Logarithm of the share of a normal distribution below a point, exact in both tails."""
    tail = 0.5 * erfc(abs(point) / sqrt(2.0))
    return log1p(-tail) if point > 0 else log(tail)


def _check(count: int) -> None:
    if not count >= 1:
        raise InputError(f"the maximum of {count} values does not exist; give at least 1.")
