"""Intervals: how far from a prediction the measured time may lie.

The width of an interval to either side, in logarithms, is that of an easy case times a factor for
everything that makes a case harder. `lessons` says how both are learned.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, expm1, hypot, sqrt

from foretrain.calibrate.difficulty import FEATURES, outside
from foretrain.coefficients.covers import Covers
from foretrain.coefficients.uncertainty import Uncertainty
from foretrain.results.situation import Situation

LEVEL = 0.8
"""Share of measured times that an interval is to hold: from the 10th to the 90th percentile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """An interval around a prediction.

    Attributes:
        low_factor: its lower end over the prediction.
        high_factor: its upper end over the prediction.
        inside: whether runs like this one were fitted to.
        reason: what is unlike them; empty if nothing is.
    """

    low_factor: float
    high_factor: float
    inside: bool
    reason: str


def spread(situation: Situation, uncertainty: Uncertainty, covers: Covers) -> Spread:
    """The interval of a prediction.

    Args:
        situation: what was predicted.
        uncertainty: how wide intervals are.
        covers: what the predictions' coefficients were fitted to.
    """
    slower = width(situation, uncertainty, covers)
    unlike = outside(situation, covers)
    return Spread(
        low_factor=exp(-hypot(slower * uncertainty.quicker, situation.lower)),
        high_factor=exp(hypot(slower, situation.higher)),
        inside=not unlike,
        reason="; ".join(unlike),
    )


def width(situation: Situation, uncertainty: Uncertainty, covers: Covers) -> float:
    """How far up the interval reaches, as a logarithm, where the plan is known exactly.

    What makes a case harder errs on its own account: variances add up.
    """
    added = (
        expm1(2.0 * getattr(uncertainty, name) * feature(situation, covers))
        for name, feature in FEATURES.items()
    )
    return uncertainty.time * situation.vague * sqrt(1.0 + sum(added))


def after_anchor(uncertainty: Uncertainty) -> Uncertainty:
    """The same once a measured run has moved the factor of its framework."""
    return replace(uncertainty, time=uncertainty.anchored, quicker=uncertainty.anchored_quicker)
