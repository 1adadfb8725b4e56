"""Lines: how busy a fleet was over time, how long jobs took, what load and devices change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from foretrain.show.axis import PlotAxis, Ticks, axis_of
from foretrain.units import SECONDS, Quantity

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
    runs: Sequence[tuple[str, Sequence[float], Sequence[float]]], *, share: bool = False
) -> Lines:
    """Lines through points of time.

    Args:
        runs: name, seconds and values of each.
        share: whether values are shares of a whole; otherwise counts.
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
    upwards = tuple((100 * at, f"{at:.0%}" if share else f"{at * top:,.3g}") for at in ticks)
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
        x=Ticks(ticks=axis.ticks, logarithmic=axis.logarithmic),
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


def _line(name: str, place: int, points: Sequence[tuple[float, float]]) -> PlotLine:
    """Points in per cent from the left and from below."""
    return PlotLine(
        name=name,
        colour=COLOURS[min(place, len(COLOURS) - 1)],
        points=" ".join(f"{x:.2f},{100 - y:.2f}" for x, y in points),
    )
