"""Service times: how long jobs run once they have their device.

Formulas that look at sizes need shares and moments of the jobs up to a size, so a law of service
times says these, for one size or for an array of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import fsum, isclose, sqrt

import numpy as np
from numpy.typing import NDArray

from foretrain.errors import InputError

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
