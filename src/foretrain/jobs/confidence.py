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

PARTS = 20
"""Consecutive parts of one run, whose means tell how sure its mean is. Source: law2015, 9.5.3."""

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
    count = len(means)
    return _around(fmean(means), means, like=float(count)) if count >= 2 else None


def of_one_run(values: Sequence[float]) -> Interval | None:
    """The interval that holds the mean, from the values of one run, which depend on each other.

    Args:
        values: above 0, in the order of time. Means of consecutive `PARTS` of them, as equally
            long as can be, hardly depend on each other any more.

    Returns:
        Two values above 0; None where there are fewer than two values to a part, or parts depend
        so much on each other that the run is too short to tell.

    Source: law2015, section 9.5.3: batch means; bayley1946: how many independent values tell as
    much; kendall1954: by how much a short series shows too little correlation.
    """
    if len(values) < 2 * PARTS:
        return None
    ends = [place * len(values) // PARTS for place in range(PARTS + 1)]
    means = [fmean(values[start:end]) for start, end in pairwise(ends)]
    like = independent(means)
    return _around(fmean(values), means, like=like) if like >= LEAST else None


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


def _around(middle: float, values: Sequence[float], *, like: float) -> Interval:
    """The interval of a mean, by values that tell as much of it as some independent ones."""
    error = stdev(values) / sqrt(like) / middle
    reach = exp(student_quantile(CONFIDENCE, freedom=max(1, floor(like) - 1)) * error)
    return middle / reach, middle * reach
