"""Room: how sure it is that a plan fits, from how far predictions of memory have been off.

Between the percentiles that are known, and beyond them, the normal score of log(measured /
predicted) is a straight line of that logarithm.
"""

from __future__ import annotations

from dataclasses import astuple
from itertools import pairwise
from math import erf, exp, log, sqrt

from foretrain.coefficients.memory import MemoryErrors

SCORES = (-2.0537, -1.2816, 0.0, 1.2816, 2.0537)
"""Normal scores of the percentiles 2, 10, 50, 90 and 98."""


def interval(total: float, errors: MemoryErrors, *, spread: float = 1.0) -> tuple[float, float]:
    """Bytes that 10 and 90 % of runs stay below.

    Args:
        total: bytes that are predicted.
        errors: percentiles of log(measured / predicted).
        spread: factor by which all of them are wider, at least 1.
    """
    return total * exp(spread * errors.p10), total * exp(spread * errors.p90)


def probability(total: float, room: float, errors: MemoryErrors, *, spread: float = 1.0) -> float:
    """How likely a prediction of `total` bytes stays within `room`, from 0 to 1."""
    margin = log(room / total) / spread
    known = tuple(zip(astuple(errors), SCORES, strict=True))
    pairs = tuple(pairwise(known))
    (first, low), (second, high) = next((pair for pair in pairs if margin <= pair[1][0]), pairs[-1])
    score = low + (margin - first) * (high - low) / (second - first)
    return (1.0 + erf(score / sqrt(2.0))) / 2.0
