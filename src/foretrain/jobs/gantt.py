"""Gantt charts: which job held how many devices when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from foretrain.jobs.result import Span
from foretrain.show.axis import PlotAxis, Ticks
from foretrain.show.words import written
from foretrain.units import SECONDS

SHADES = 5
"""Of the style sheet, the darkest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stripe:
    """A span: per cent from the left, from the top, and its width; the more devices, the darker."""

    x: float
    y: float
    width: float
    shade: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Gantt:
    """Jobs below each other.

    Attributes:
        x: ticks of time.
        rows: height of one job, per cent.
        stripes: the spans.
    """

    x: Ticks
    rows: float
    stripes: tuple[Stripe, ...]


def gantt(spans: Sequence[Span]) -> Gantt:
    """Spans of jobs, the first to start on top."""
    end = max(span.end for span in spans) or 1.0
    jobs = list(dict.fromkeys(span.job for span in sorted(spans, key=lambda span: span.start)))
    height = 100 / len(jobs)
    sizes = sorted({span.devices for span in spans})
    # The darker, the more devices; jobs of one size lie in between.
    steps = max(1, len(sizes) - 1)
    shades = [round((SHADES - 1) * (1 - place / steps)) for place in range(len(sizes))]
    shade = dict(zip(sizes, shades if len(sizes) > 1 else [1], strict=True))
    stripes = (
        Stripe(
            x=100 * span.start / end,
            y=jobs.index(span.job) * height,
            width=max(0.1, 100 * (span.end - span.start) / end),
            shade=shade[span.devices],
            text=(
                f"{span.job}: {span.devices:g} devices from {written(SECONDS, span.start)}"
                f" to {written(SECONDS, span.end)}"
            ),
        )
        for span in spans
    )
    clock = PlotAxis(low=0.0, high=end, quantity=SECONDS)
    return Gantt(
        x=Ticks(ticks=clock.linear, logarithmic=False), rows=height, stripes=tuple(stripes)
    )
