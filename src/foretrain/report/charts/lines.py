"""Lines over time: how much of a fleet was busy, how many jobs waited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from foretrain.report.charts.axis import Axis, Ticks
from foretrain.units import SECONDS

COLOURS = ("forward", "tensor", "parameters", "bubble", "pipeline", "backward", "gradients")
"""Of the lines, by names of the style sheet; further ones share the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
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
    lines: tuple[Line, ...]


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
    clock = Axis(low=0.0, high=end, quantity=SECONDS)
    drawn = (
        Line(
            name=name,
            colour=COLOURS[min(place, len(COLOURS) - 1)],
            points=" ".join(_stairs(times, values, end=end, top=top)),
        )
        for place, (name, times, values) in enumerate(runs)
    )
    ticks = (0.0, 0.25, 0.5, 0.75, 1.0)
    upwards = tuple((100 * at, f"{at:.0%}" if share else f"{at * top:,.3g}") for at in ticks)
    return Lines(
        x=Ticks(ticks=clock.linear, logarithmic=False),
        y=Ticks(ticks=upwards, logarithmic=False),
        lines=tuple(drawn),
    )


def _stairs(
    times: Sequence[float], values: Sequence[float], *, end: float, top: float
) -> list[str]:
    """A line that stays where it is until it jumps."""
    found, level = [], 0.0
    for time, value in zip(times, values, strict=True):
        x = 100 * time / end
        found.append(f"{x:.2f},{100 - 100 * level / top:.2f}")
        found.append(f"{x:.2f},{100 - 100 * value / top:.2f}")
        level = value
    return found
