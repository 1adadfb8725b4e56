"""Distributions: how long something takes that does not take the same time each time.

Compute of a worker, service of a server, stragglers. Every distribution says its mean, its
variance, the share of values below a time, and draws values; so formulas and simulations read the
same noun.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, gamma, inf, log, sqrt
from random import Random
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from foretrain.errors import InputError
from foretrain.statistics import normal_at_hazard

Floats = NDArray[np.float64]

WIDEST = 1e6
"""Deviation over the mean beyond which squares of values are no numbers any more."""


class Distribution(Protocol):
    """Seconds, never negative but for the far tail of a normal distribution."""

    @property
    def mean(self) -> float:
        """Expected value in seconds."""
        ...

    @property
    def variance(self) -> float:
        """Expected squared distance from the mean; infinite where the tail is too heavy."""
        ...

    def below(self, seconds: Floats) -> Floats:
        """Probability of a value of at most so many seconds. [time]"""
        ...

    def at_hazard(self, hazards: Floats) -> Floats:
        """Seconds that a value exceeds with probability exp(-hazard). [hazard]

        So the distribution is that of this function of an exponential value of mean 1.
        """
        ...

    def draw(self, random: Random) -> float:
        """One value, in seconds."""
        ...

    def __hash__(self) -> int:
        """Laws are frozen, so that what was worked out of one can be kept."""
        ...


@dataclass(frozen=True, slots=True)
class Constant:
    """The same time each time.

    Attributes:
        value: seconds, at least 0.
    """

    value: float

    def __post_init__(self) -> None:
        _at_least("Constant.value", self.value)

    @property
    def mean(self) -> float:
        """The value."""
        return self.value

    @property
    def variance(self) -> float:
        """None."""
        return 0.0

    def below(self, seconds: Floats) -> Floats:
        """A step at the value. [time]"""
        return (seconds >= self.value).astype(np.float64)

    def at_hazard(self, hazards: Floats) -> Floats:
        """Seconds that a value exceeds with probability exp(-hazard). [hazard]"""
        return np.full_like(hazards, self.value)

    def draw(self, random: Random) -> float:
        """The value."""
        return self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Exponential:
    """A fixed part and an exponential one.

    Attributes:
        mean: seconds, the fixed part included.
        least: the fixed part, in seconds, below the mean.
    """

    mean: float
    least: float = 0.0

    def __post_init__(self) -> None:
        _at_least("Exponential.least", self.least)
        _above("Exponential.mean", self.mean, bound=self.least)

    @property
    def variance(self) -> float:
        """Of the exponential part."""
        return (self.mean - self.least) ** 2

    def below(self, seconds: Floats) -> Floats:
        """Probability of at most so many seconds. [time]"""
        rest = np.maximum(seconds - self.least, 0.0)
        return -np.expm1(-rest / (self.mean - self.least))

    def at_hazard(self, hazards: Floats) -> Floats:
        """Seconds that a value exceeds with probability exp(-hazard). [hazard]"""
        return self.least + (self.mean - self.least) * hazards

    def draw(self, random: Random) -> float:
        """One value."""
        return self.least + random.expovariate(1.0 / (self.mean - self.least))


@dataclass(frozen=True, slots=True, kw_only=True)
class Normal:
    """Values about a mean.

    Attributes:
        mean: seconds, above 0.
        deviation: standard deviation in seconds, at most a third of the mean: with more, a value in
            a thousand would be below 0.
    """

    mean: float
    deviation: float

    def __post_init__(self) -> None:
        _above("Normal.mean", self.mean)
        if not 0 < self.deviation <= self.mean / 3.0:
            raise InputError(
                f"Normal.deviation must be above 0 s and at most a third of the mean,"
                f" {self.mean / 3.0:g} s, got {self.deviation}. For more, say lognormal."
            )

    @property
    def variance(self) -> float:
        """Square of the deviation."""
        return self.deviation**2

    def below(self, seconds: Floats) -> Floats:
        """Probability of at most so many seconds. [time]"""
        from scipy.special import ndtr

        return np.asarray(ndtr((seconds - self.mean) / self.deviation))

    def at_hazard(self, hazards: Floats) -> Floats:
        """Seconds that a value exceeds with probability exp(-hazard). [hazard]"""
        return self.mean + self.deviation * normal_at_hazard(hazards)

    def draw(self, random: Random) -> float:
        """One value; the tail below 0 is cut off."""
        return max(0.0, random.gauss(self.mean, self.deviation))


@dataclass(frozen=True, slots=True, kw_only=True)
class LogNormal:
    """Values whose logarithm is normal.

    Attributes:
        mean: seconds, above 0.
        deviation: standard deviation of the values themselves, in seconds, above 0.
    """

    mean: float
    deviation: float

    def __post_init__(self) -> None:
        _above("LogNormal.mean", self.mean)
        _above("LogNormal.deviation", self.deviation)
        if not self.deviation <= WIDEST * self.mean:
            raise InputError(
                f"LogNormal.deviation must be at most {WIDEST:,.0f} times the mean,"
                f" {WIDEST * self.mean:g} s, got {self.deviation}."
            )

    @property
    def variance(self) -> float:
        """Square of the deviation."""
        return self.deviation**2

    @property
    def _logarithm(self) -> tuple[float, float]:
        """Mean and deviation of the logarithm."""
        spread = log(1.0 + (self.deviation / self.mean) ** 2)
        return log(self.mean) - spread / 2.0, sqrt(spread)

    def below(self, seconds: Floats) -> Floats:
        """Probability of at most so many seconds. [time]"""
        from scipy.special import ndtr

        middle, deviation = self._logarithm
        with np.errstate(divide="ignore"):
            return np.asarray(ndtr((np.log(np.maximum(seconds, 0.0)) - middle) / deviation))

    def at_hazard(self, hazards: Floats) -> Floats:
        """Seconds that a value exceeds with probability exp(-hazard). [hazard]"""
        middle, deviation = self._logarithm
        return np.exp(middle + deviation * normal_at_hazard(hazards))

    def draw(self, random: Random) -> float:
        """One value."""
        middle, deviation = self._logarithm
        return exp(random.gauss(middle, deviation))


@dataclass(frozen=True, slots=True, kw_only=True)
class Weibull:
    """Weibull's distribution: heavier than exponential below shape 1, lighter above.

    Attributes:
        mean: seconds, above 0.
        shape: above 0; 1 is exponential.
    """

    mean: float
    shape: float

    def __post_init__(self) -> None:
        _above("Weibull.mean", self.mean)
        _above("Weibull.shape", self.shape, unit="")

    @property
    def scale(self) -> float:
        """Seconds below which 63 % of values lie."""
        return self.mean / gamma(1.0 + 1.0 / self.shape)

    @property
    def variance(self) -> float:
        """Expected squared distance from the mean."""
        return self.scale**2 * gamma(1.0 + 2.0 / self.shape) - self.mean**2

    def below(self, seconds: Floats) -> Floats:
        """Probability of at most so many seconds. [time]"""
        return np.asarray(-np.expm1(-((np.maximum(seconds, 0.0) / self.scale) ** self.shape)))

    def at_hazard(self, hazards: Floats) -> Floats:
        """Seconds that a value exceeds with probability exp(-hazard). [hazard]"""
        return np.asarray(self.scale * hazards ** (1.0 / self.shape))

    def draw(self, random: Random) -> float:
        """One value."""
        return random.weibullvariate(self.scale, self.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pareto:
    """Pareto's distribution: a tail that falls as a power.

    Attributes:
        mean: seconds, above 0.
        shape: the power, above 1: below, there is no mean.
    """

    mean: float
    shape: float

    def __post_init__(self) -> None:
        _above("Pareto.mean", self.mean)
        if not self.shape > 1:
            raise InputError(
                f"Pareto.shape must be above 1, got {self.shape}: with less there is no mean."
            )

    @property
    def least(self) -> float:
        """The smallest value."""
        return self.mean * (self.shape - 1.0) / self.shape

    @property
    def variance(self) -> float:
        """Infinite up to a shape of 2."""
        if self.shape <= 2:
            return inf
        return self.least**2 * self.shape / ((self.shape - 1.0) ** 2 * (self.shape - 2.0))

    def below(self, seconds: Floats) -> Floats:
        """Probability of at most so many seconds. [time]"""
        return np.asarray(1.0 - (self.least / np.maximum(seconds, self.least)) ** self.shape)

    def at_hazard(self, hazards: Floats) -> Floats:
        """Seconds that a value exceeds with probability exp(-hazard). [hazard]"""
        return self.least * np.exp(hazards / self.shape)

    def draw(self, random: Random) -> float:
        """One value."""
        return self.least * random.paretovariate(self.shape)


@dataclass(frozen=True, slots=True)
class Samples:
    """What was measured, each value as likely as another.

    Attributes:
        values: seconds, at least 0; at least one.
    """

    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.values:
            raise InputError("Samples.values needs at least one value.")
        for value in self.values:
            _at_least("Samples.values", value)

    @property
    def mean(self) -> float:
        """Of the values."""
        return float(np.mean(self.values))

    @property
    def variance(self) -> float:
        """Of the values, as the whole population."""
        return float(np.var(self.values))

    def below(self, seconds: Floats) -> Floats:
        """Share of the values of at most so many seconds. [time]"""
        ranks = np.searchsorted(np.sort(self.values), seconds, side="right")
        return np.asarray(ranks / len(self.values), np.float64)

    def at_hazard(self, hazards: Floats) -> Floats:
        """Seconds that a value exceeds with probability exp(-hazard). [hazard]"""
        ranks = np.ceil(-np.expm1(-hazards) * len(self.values)).astype(int)
        return np.asarray(np.sort(self.values)[np.maximum(ranks, 1) - 1])

    def draw(self, random: Random) -> float:
        """One of the values."""
        return random.choice(self.values)


def stretched(of: Distribution, factor: float) -> Distribution:
    """The law of values that each take so many times as long.

    Args:
        of: what they are drawn from.
        factor: above 0.
    """
    match of:
        case Constant():
            return Constant(factor * of.value)
        case Samples():
            return Samples(tuple(factor * value for value in of.values))
        case Exponential():
            return Exponential(mean=factor * of.mean, least=factor * of.least)
        case Normal() | LogNormal():
            return replace(of, mean=factor * of.mean, deviation=factor * of.deviation)
        case Weibull() | Pareto():
            return replace(of, mean=factor * of.mean)
    raise AssertionError(f"the law {of} cannot be stretched")


def _at_least(name: str, value: float) -> None:
    if not 0 <= value < inf:
        raise InputError(f"{name} must be at least 0 s, got {value}.")


def _above(name: str, value: float, *, bound: float = 0.0, unit: str = " s") -> None:
    if not bound < value < inf:
        raise InputError(f"{name} must be above {bound:g}{unit}, got {value}.")
