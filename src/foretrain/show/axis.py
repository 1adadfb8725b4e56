"""Axes: where values and round ticks stand, in per cent of the drawing.

Shades: a few colours from the best to the worst, and what each stands for.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, inf, log10

from foretrain.show.words import written
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
class PlotAxis:
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


def axis_of(values: Sequence[float], quantity: Quantity) -> PlotAxis:
    """An axis that holds the values with some air at both ends."""
    low, high = min(values), max(values)
    air = 1 + MARGIN if high > WIDE * low else 1.0
    pad = 0.0 if air > 1 else MARGIN * (high - low) or MARGIN * high
    return PlotAxis(low=(low - pad) / air, high=(high + pad) * air, quantity=quantity)


SHADES = 6
"""Colours that the style sheet has, `--shade-0` for the best."""

SLOWER = (0.02, 0.05, 0.10, 0.25, 0.50, inf)
"""Up to which part more than the best each shade of a map goes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Which shade a value has.

    Attributes:
        tops: the largest value of each shade, ascending.
        texts: what the legend says of each shade.
    """

    tops: tuple[float, ...]
    texts: tuple[str, ...]

    def shade(self, value: float) -> int:
        """The first shade that goes as far as the value, which is at most the last one's."""
        return bisect_left(self.tops, value)


def distances() -> Scale:
    """Shades of how much more a value is than the best, as a part of the best."""
    texts = [f"up to {100 * top:.0f} %" for top in SLOWER[:-1]]
    return Scale(tops=SLOWER, texts=(*texts, "more"))


def amounts(values: Sequence[float], write: Callable[[float], str]) -> Scale:
    """Shades of values: one for each while there are few, else as many of them on each shade."""
    ascending = sorted(set(values))
    if len(ascending) <= SHADES:
        return Scale(tops=tuple(ascending), texts=tuple(write(value) for value in ascending))
    last = (len(ascending) * (shade + 1) // SHADES - 1 for shade in range(SHADES))
    tops = tuple(ascending[place] for place in last)
    return Scale(tops=tops, texts=tuple(f"up to {write(top)}" for top in tops))
