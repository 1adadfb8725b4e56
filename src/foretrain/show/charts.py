"""Charts: axes with round ticks, and lines over time, load and devices.

Axes: where values and round ticks stand, in per cent of the drawing.

Shades: a few colours from the best to the worst, and what each stands for.

Lines: how busy a fleet was over time, how long jobs took, what load and devices change.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, inf, log10

from foretrain.show.words import written
from foretrain.units import SECONDS, Quantity

WIDE = 8.0  # an axis is logarithmic where its ends differ by more than this factor
MARGIN = 0.06
ROOM_OF_A_TEXT = 11.0  # per cent of a narrow drawing
FEW, MANY = 7, 100  # ticks of an axis at most, and of one that is looked at closely
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

    @property
    def fine(self) -> tuple[tuple[float, str], ...]:
        """Ten times as many and more, for who looks closely; those of `linear` are among them."""
        span, coarse = self.high - self.low, {text for _, text in self.linear}
        steps = ((value, text) for value, text in self._steps(most=MANY) if value <= self.high)
        return tuple(
            (100 * (value - self.low) / span, text) for value, text in steps if text not in coarse
        )

    def _steps(self, most: int = FEW) -> Iterator[tuple[float, str]]:
        """Multiples of 1, 2 or 5 times a power of ten, so many at most, all in one unit."""
        unit = self.quantity.unit_of(self.low or self.high / 2)
        size = self.quantity.units[unit]
        rough = (self.high - self.low) / size / most
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


COLOURS = ("forward", "tensor", "parameters", "bubble", "pipeline", "backward", "gradients")
"""Of the lines, by names of the style sheet; further ones share the last."""


MOST_TICKS = 10
"""Of an axis over many decades."""

SHORTEST = 1.0
"""Seconds below which times are drawn as if they took so long: a logarithm has no 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotLine:
    """One line: points in per cent from the left and from the top, as SVG writes them."""

    name: str
    colour: str
    points: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Several lines over the same time.

    Attributes:
        x: ticks of time.
        y: ticks upwards.
        lines: one per policy.
    """

    x: Ticks
    y: Ticks
    lines: tuple[PlotLine, ...]


def lines(
    runs: Sequence[tuple[str, Sequence[float], Sequence[float]]],
    *,
    share: bool = False,
    quantity: Quantity | None = None,
) -> Lines:
    """Lines through points of time.

    Args:
        runs: name, seconds and values of each.
        share: whether values are shares of a whole.
        quantity: what values are measured in; None for counts and shares.
    """
    end = max(times[-1] for _, times, _ in runs) or 1.0
    top = 1.0 if share else max(1.0, *(max(values) for _, _, values in runs))
    clock = PlotAxis(low=0.0, high=end, quantity=SECONDS)
    drawn = []
    for place, (name, times, values) in enumerate(runs):
        # A line stays where it is until it jumps.
        levels = zip(times, [0.0, *values], values, strict=False)
        corners = [
            (100 * time / end, 100 * level / top)
            for time, before, after in levels
            for level in (before, after)
        ]
        drawn.append(_line(name, place, corners))
    ticks = (0.0, 0.25, 0.5, 0.75, 1.0)
    upwards = tuple((100 * at, f"{at:.0%}") for at in ticks) if share else _whole(top)
    if quantity:
        upwards = PlotAxis(low=0.0, high=top, quantity=quantity).linear
    return Lines(
        x=Ticks(ticks=clock.linear, logarithmic=False),
        y=Ticks(ticks=upwards, logarithmic=False),
        lines=tuple(drawn),
    )


def distribution(runs: Sequence[tuple[str, Sequence[float]]]) -> Lines:
    """Share of jobs that have ended against the time since they came.

    Args:
        runs: name, and times that 0, 1, 2 ... 100 % of the jobs stay below, of each.
    """
    axis = axis_of([max(time, SHORTEST) for _, times in runs for time in times], SECONDS)
    drawn = (
        _line(
            name,
            place,
            [
                (axis.place(max(time, SHORTEST)), 100 * at / (len(times) - 1))
                for at, time in enumerate(times)
            ],
        )
        for place, (name, times) in enumerate(runs)
    )
    return Lines(
        x=Ticks(ticks=_apart(axis.ticks), logarithmic=axis.logarithmic),
        y=Ticks(ticks=tuple((at, f"{at:g} %") for at in (0, 25, 50, 75, 100)), logarithmic=False),
        lines=tuple(drawn),
    )


def growth(runs: Sequence[tuple[str, Sequence[float], Sequence[float]]]) -> Lines:
    """Times against loads.

    Args:
        runs: name, loads and seconds of each, the lowest load first.
    """
    loads = runs[0][1]
    low, span = loads[0], loads[-1] - loads[0]
    axis = axis_of([time for _, _, times in runs for time in times], SECONDS)
    drawn = (
        _line(
            name,
            place,
            [
                (100 * (load - low) / span, axis.place(time))
                for load, time in zip(own, times, strict=True)
            ],
        )
        for place, (name, own, times) in enumerate(runs)
    )
    return Lines(
        x=Ticks(
            ticks=tuple((100 * (load - low) / span, f"{load:g}") for load in loads),
            logarithmic=False,
        ),
        y=Ticks(ticks=axis.ticks, logarithmic=axis.logarithmic),
        lines=tuple(drawn),
    )


def scaling(runs: Sequence[tuple[str, Sequence[int], Sequence[float]]]) -> Lines:
    """Samples per second against devices, both so that doubling is always equally long.

    Args:
        runs: name, devices and samples per second of each, on at least two numbers of devices, the
            same for all and the fewest first.
    """
    counts, rates = runs[0][1], [rate for _, _, own in runs for rate in own]
    low, high = 10.0 ** floor(log10(min(rates))), 10.0 ** ceil(log10(1.01 * max(rates)))

    def across(devices: int) -> float:
        return 100 * log10(devices / counts[0]) / log10(counts[-1] / counts[0])

    def upwards(rate: float) -> float:
        return 100 * log10(rate / low) / log10(high / low)

    drawn = (
        _line(name, place, [(across(n), upwards(rate)) for n, rate in zip(own, some, strict=True)])
        for place, (name, own, some) in enumerate(runs)
    )
    powers = range(round(log10(low)), round(log10(high)) + 1)
    rounds = (nice * 10.0**power for power in powers for nice in (1, 2, 5))
    return Lines(
        x=Ticks(ticks=tuple((across(n), f"{n:,}") for n in counts), logarithmic=True),
        y=Ticks(
            ticks=tuple((upwards(rate), f"{rate:,.6g}") for rate in rounds if rate <= high),
            logarithmic=True,
        ),
        lines=tuple(drawn),
    )


def between(
    runs: Sequence[tuple[str, Sequence[float], Sequence[float]]],
    across: Quantity,
    upwards: Quantity,
) -> Lines:
    """Values of one quantity against those of another.

    Args:
        runs: name, places and values of each, at least two.
        across: what places are measured in.
        upwards: what values are measured in.
    """
    places = [place for _, own, _ in runs for place in own]
    x, y = (
        PlotAxis(low=min(places), high=max(places), quantity=across),
        axis_of([value for _, _, values in runs for value in values], upwards),
    )
    drawn = (
        _line(
            name,
            place,
            [(x.place(at), y.place(value)) for at, value in zip(own, values, strict=True)],
        )
        for place, (name, own, values) in enumerate(runs)
    )
    return Lines(
        x=Ticks(ticks=_few(x.ticks), logarithmic=x.logarithmic),
        y=Ticks(ticks=_few(y.ticks), logarithmic=y.logarithmic),
        lines=tuple(drawn),
    )


def _few(ticks: tuple[tuple[float, str], ...]) -> tuple[tuple[float, str], ...]:
    """Every one, second or third of some ticks: over many decades powers of ten alone are left."""
    return ticks[:: min(3, -(-len(ticks) // MOST_TICKS))]


def _apart(ticks: tuple[tuple[float, str], ...]) -> tuple[tuple[float, str], ...]:
    """Ticks whose texts do not meet on a telephone."""
    kept: list[tuple[float, str]] = []
    for place, text in ticks:
        if not kept or place - kept[-1][0] >= ROOM_OF_A_TEXT:
            kept.append((place, text))
    return tuple(kept)


def _whole(top: float) -> tuple[tuple[float, str], ...]:
    """Places and texts of whole numbers from 0 to a number of at least 1: of things, not shares."""
    power = 10.0 ** floor(log10(top))
    rounds = (nice * power / 10 for nice in (1, 2, 5, 10, 20, 50))
    step = next(each for each in rounds if each >= 1 and top <= each * FEW)
    return tuple(
        (100 * each * step / top, f"{each * step:,.0f}") for each in range(int(top / step) + 1)
    )


def _line(name: str, place: int, points: Sequence[tuple[float, float]]) -> PlotLine:
    """Points in per cent from the left and from below."""
    return PlotLine(
        name=name,
        colour=COLOURS[min(place, len(COLOURS) - 1)],
        points=" ".join(f"{x:.2f},{100 - y:.2f}" for x, y in points),
    )
