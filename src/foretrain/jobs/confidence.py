"""Confidence: how sure a mean of times is, of which none is below 0.

The logarithm of the mean is taken to be about normal, so that the interval ends above 0 and its
upper part, where a mean of few jobs is likelier to have gone wrong, is the longer one.

Parts of one run depend on those before them. That is told by the correlation of each with the
next, which says how many independent values would tell as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import exp, floor, fsum, sqrt
from statistics import fmean, stdev

from foretrain.statistics import student_quantile

Interval = tuple[float, float]

CONFIDENCE = 0.95

LEAST = 3.0
"""Independent values from which on a mean is said to be known with an interval."""


def of_runs(means: Sequence[float]) -> Interval | None:
    """The interval that holds the mean, from runs that do not depend on each other.

    Args:
        means: of each run, above 0.

    Returns:
        Two values above 0; None for fewer than two runs.

    Source: oehlert1992: the delta method; student1908.
    """
    return _around(means, like=float(len(means))) if len(means) >= 2 else None


def of_parts(means: Sequence[float]) -> Interval | None:
    """The interval that holds the mean, from consecutive parts of one run.

    Args:
        means: of each part, above 0; about twenty of equal length.

    Returns:
        Two values above 0; None where the parts depend so much on each other that the run is too
        short to tell.

    Source: law2015, section 9.5.3: batch means; bayley1946: how many independent values tell as
    much; kendall1954: by how much a short series shows too little correlation.
    """
    like = independent(means)
    return _around(means, like=like) if like >= LEAST else None


def independent(values: Sequence[float]) -> float:
    """How many independent values tell as much of a mean as these do, in the order of time.

    Each value is taken to depend on the one before it alone; at most as many as there are.
    """
    count, middle = len(values), fmean(values)
    gaps = [value - middle for value in values]
    spread = fsum(gap * gap for gap in gaps)
    if count <= 3 or not spread:
        return float(count)
    shown = fsum(before * after for before, after in pairwise(gaps)) / spread
    likely = min(max((count * shown + 1.0) / (count - 3.0), 0.0), 1.0)
    return count * (1.0 - likely) / (1.0 + likely)


def _around(values: Sequence[float], *, like: float) -> Interval:
    """The interval of the mean of values that tell as much as some independent ones."""
    middle = fmean(values)
    error = stdev(values) / sqrt(like) / middle
    reach = exp(student_quantile(CONFIDENCE, freedom=max(1, floor(like) - 1)) * error)
    return middle / reach, middle * reach
