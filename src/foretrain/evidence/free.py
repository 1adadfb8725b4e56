"""Free coefficients: what a fit may move, and how far it is plausible that it moves.

A fit works on scores: how many standard deviations a value lies from its prior. Shares of
something are spaced as log odds, so that they stay between 0 and 1; everything else as
logarithms, so that it stays above 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log

import numpy as np
from numpy.typing import NDArray

from foretrain.coefficients.coefficient import Coefficient
from foretrain.errors import InputError

TENTH = 1.2816
"""Standard deviations between the median and the ninetieth percentile of a normal distribution."""

FARTHEST = 3.0
"""Standard deviations that no fit goes beyond, whatever the rows say."""

EDGE = 0.01
"""How near 0 and 1 the plausible range of a share is taken to end."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Free:
    """A coefficient that a fit may move.

    Attributes:
        name: of the coefficient (`links.nvlink`).
        centre: the prior on the scale of the fit.
        spread: its standard deviation there.
        share: whether the value lies between 0 and 1.
    """

    name: str
    centre: float
    spread: float
    share: bool

    def value(self, score: float) -> float:
        """The coefficient at so many standard deviations from its prior."""
        place = self.centre + self.spread * score
        return 1.0 / (1.0 + exp(-place)) if self.share else exp(place)

    def score(self, value: float) -> float:
        """How many standard deviations a value lies from the prior."""
        return (_place(value, share=self.share) - self.centre) / self.spread


def free_of(name: str, prior: Coefficient) -> Free:
    """A coefficient that may move as far as its prior's interval says.

    Raises:
        InputError: the interval has no width, or leaves what its unit allows.
    """
    share = prior.unit == "1" and prior.high <= 1.0
    least = EDGE if share else 0.0
    if not 0.0 < max(prior.low, least) < prior.high:
        raise InputError(f"coefficient '{name}': cannot be fitted, its prior has no width above 0.")
    low, high = (_place(end, share=share) for end in (max(prior.low, least), prior.high))
    return Free(
        name=name,
        centre=_place(prior.value, share=share),
        spread=(high - low) / (2.0 * TENTH),
        share=share,
    )


def values_of(free: Sequence[Free], scores: Floats) -> Mapping[str, float]:
    """The coefficients at some scores, by name."""
    return {each.name: each.value(float(score)) for each, score in zip(free, scores, strict=True)}


def _place(value: float, *, share: bool) -> float:
    if not share:
        return log(value)
    inside = min(max(value, EDGE), 1.0 - EDGE)
    return log(inside / (1.0 - inside))
