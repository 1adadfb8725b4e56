"""Axes: where values and round ticks stand, in per cent of the drawing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, inf, log10

from foretrain.report.words import written
from foretrain.units import Quantity

WIDE = 8.0  # an axis is logarithmic where its ends differ by more than this factor
MARGIN = 0.06
APART_TICKS = 1.5  # a tick nearer to the next unit's first one gives way to it: 50 s to 1 min


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticks:
    """What a drawing shows of an axis."""

    ticks: tuple[tuple[float, str], ...]
    logarithmic: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One axis of a plot, from `low` to `high`."""

    low: float
    high: float
    quantity: Quantity

    @property
    def logarithmic(self) -> bool:
        """Whether equal ratios are equally long."""
        return self.high > WIDE * self.low

    def place(self, value: float) -> float:
        """Per cent of the way from `low` to `high`."""
        if self.logarithmic:
            return 100 * log10(value / self.low) / log10(self.high / self.low)
        return 100 * (value - self.low) / (self.high - self.low)

    @property
    def ticks(self) -> tuple[tuple[float, str], ...]:
        """Places and texts of round values."""
        rounds = self._decades() if self.logarithmic else self._steps()
        inside = ((value, text) for value, text in rounds if self.low <= value <= self.high)
        return tuple((self.place(value), text) for value, text in inside)

    @property
    def linear(self) -> tuple[tuple[float, str], ...]:
        """Places and texts of round values where equal differences are equally long."""
        span = self.high - self.low
        inside = ((value, text) for value, text in self._steps() if value <= self.high)
        return tuple((100 * (value - self.low) / span, text) for value, text in inside)

    def _steps(self) -> Iterator[tuple[float, str]]:
        """Multiples of 1, 2 or 5 times a power of ten, at most seven of them, all in one unit."""
        unit = self.quantity.unit_of(self.low or self.high / 2)
        size = self.quantity.units[unit]
        rough = (self.high - self.low) / size / 7
        power = 10.0 ** floor(log10(rough))
        step = next(power * nice for nice in (1, 2, 5, 10) if power * nice >= rough)
        first, last = ceil(self.low / size / step), floor(self.high / size / step)
        values = (number * step for number in range(first, last + 1))
        return ((value * size, f"{value:,.6g} {unit}") for value in values)

    def _decades(self) -> Iterator[tuple[float, str]]:
        """1, 2 and 5 times powers of ten, each in the unit in which it is round."""
        sizes = [self.quantity.units[unit] for unit in self.quantity.shown]
        for size, larger in zip(sizes, [*sizes[1:], inf], strict=True):
            for times in (1, 2, 5, 10, 20, 50, 100, 200, 500):
                if APART_TICKS * times * size < larger:
                    yield times * size, written(self.quantity, times * size)


def axis_of(values: Sequence[float], quantity: Quantity) -> Axis:
    """An axis that holds the values with some air at both ends."""
    low, high = min(values), max(values)
    air = 1 + MARGIN if high > WIDE * low else 1.0
    pad = 0.0 if air > 1 else MARGIN * (high - low) or MARGIN * high
    return Axis(low=(low - pad) / air, high=(high + pad) * air, quantity=quantity)
