"""Statistics: what the slowest of many takes, and how sure a mean is.

A job whose members wait for one another goes at the pace of the slowest, whose expected time is
that of a largest order statistic. Values of one simulation depend on each other, those of long
batches hardly do, and two policies are best told apart on the same jobs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from math import atan, cos, erfc, exp, fsum, log, log1p, pi, sin, sqrt
from statistics import NormalDist, fmean, stdev
from typing import NamedTuple

from foretrain.errors import InputError

EULER = 0.5772156649015329
"""Euler's constant: the harmonic numbers less the logarithm, in the limit."""

SUMMED = 100
"""Harmonic numbers up to this one are summed; the series is exact to a float beyond it."""

REACH = 12
"""Standard deviations that the integral over a normal distribution covers."""

GRID = 64
"""Its points per standard deviation."""

HALVINGS = 60
"""Of the interval in which a quantile is looked for: as fine as a float."""


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
    score = abs(middle) / (spread / sqrt(len(gaps)))
    return Paired(middle, low, high, 1.0 - _student(score, len(gaps) - 1))


@cache
def student_quantile(confidence: float, *, freedom: int) -> float:
    """How many standard deviations to both sides of its mean Student's t keeps with a confidence.

    Args:
        confidence: between 0 and 1.
        freedom: degrees of freedom, at least 1.
    """
    if not (0 < confidence < 1 and freedom >= 1):
        raise InputError(
            f"confidence must lie between 0 and 1 and freedom be at least 1, got {confidence:g}"
            f" and {freedom}."
        )
    low, high = 0.0, 1.0
    while _student(high, freedom) < confidence:
        low, high = high, 2.0 * high
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if _student(middle, freedom) < confidence:
            low = middle
        else:
            high = middle
    return high


def _student(score: float, freedom: int) -> float:
    """Probability that Student's t lies within a score to both sides of 0.

    Source: abramowitz1964, equations 26.7.3 and 26.7.4.
    """
    angle = atan(score / sqrt(freedom))
    square, odd = cos(angle) ** 2, freedom % 2
    term, total = (cos(angle), 0.0) if odd else (1.0, 0.0)
    for step in range(1 + odd, freedom, 2):
        total += term
        term *= square * step / (step + 1.0)
    if odd:
        return 2.0 / pi * (angle + sin(angle) * total)
    return sin(angle) * total


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
