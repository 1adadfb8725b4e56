"""Scores of intervals: how many measured times they hold, and how wide they are.

Source: gneiting2007, section 6.2 (the interval score).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import log
from statistics import fmean, median

from foretrain.calibrate.difficulty import covered
from foretrain.calibrate.intervals import LEVEL, after_anchor, spread
from foretrain.calibrate.lessons import Lessons, Observed, learned
from foretrain.calibrate.scores import grouped
from foretrain.coefficients.covers import Covers
from foretrain.coefficients.uncertainty import Uncertainty


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A residual and the interval that was to hold it, as logarithms.

    Attributes:
        observed: the row.
        low: lower end over the prediction.
        high: upper end over the prediction.
    """

    observed: Observed
    low: float
    high: float

    @property
    def inside(self) -> bool:
        """Whether it does."""
        return self.low <= self.observed.residual <= self.high

    @property
    def score(self) -> float:
        """The width, and ten times what the measured time lies outside: less is better."""
        miss = max(self.low - self.observed.residual, self.observed.residual - self.high, 0.0)
        return self.high - self.low + 2.0 / (1.0 - LEVEL) * miss


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalScore:
    """What intervals are worth.

    Attributes:
        coverage: share of all rows inside.
        sources: the same of every source with at least 20 rows.
        ratio: median of upper over lower end, as a logarithm.
        score: mean interval score.
        constant: the same of the one width for all that covers as many.
    """

    coverage: float
    sources: dict[str, float]
    ratio: float
    score: float
    constant: float


LARGE = 20
"""Rows of a source whose coverage is looked at on its own."""


def held_out(
    lessons: Lessons, judged: Iterable[Observed], *, moved: bool = False
) -> tuple[Held, ...]:
    """Every row with the interval that the other publishers' rows give.

    Args:
        lessons: rows of three publishers or more.
        judged: rows to give intervals to.
        moved: whether a run of the same framework has moved their predictions.
    """
    by_publisher = grouped(judged, lambda it: it.publisher)
    return tuple(
        _held(it, uncertainty, covers)
        for publisher, its in sorted(by_publisher.items())
        for others in [lessons.without(publisher)]
        for covers in [covered([row.situation for row in others.rows])]
        for whole in [learned(others)]
        for uncertainty in [after_anchor(whole) if moved else whole]
        for it in its
    )


def _held(row: Observed, uncertainty: Uncertainty, covers: Covers) -> Held:
    wide = spread(row.situation, uncertainty, covers)
    return Held(observed=row, low=log(wide.low_factor), high=log(wide.high_factor))


def interval_score(rows: Sequence[Held]) -> IntervalScore:
    """What the intervals of at least one row are worth."""
    by_source = grouped(rows, lambda row: row.observed.source_id)
    coverage = fmean(row.inside for row in rows)
    half = _constant(rows, coverage)
    return IntervalScore(
        coverage=coverage,
        sources={
            name: fmean(row.inside for row in its)
            for name, its in sorted(by_source.items())
            if len(its) >= LARGE
        },
        ratio=median(row.high - row.low for row in rows),
        score=fmean(row.score for row in rows),
        constant=fmean(replace(row, low=-half, high=half).score for row in rows),
    )


def _constant(rows: Sequence[Held], coverage: float) -> float:
    """Half of the one width that holds as many rows."""
    sizes = sorted(abs(row.observed.residual) for row in rows)
    return sizes[max(0, round(coverage * len(sizes)) - 1)]
