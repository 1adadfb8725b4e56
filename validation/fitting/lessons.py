"""Lessons: what residuals of published runs teach about the width of intervals.

The residuals are of predictions whose own publisher was left out, so an interval says what to
expect of somebody whose runs nobody has seen.

Sources: lei2018, section 5.2 (residuals over a spread that depends on the case); dunn2022,
section 3 (rows come in groups: every group weighs the same, and one more is to come).

Scores of intervals: how many measured times they hold, and how wide they are.

Source: gneiting2007, section 6.2 (the interval score).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import log
from statistics import fmean, median

import numpy as np
from numpy.typing import NDArray
from validation.fitting.decisions import repeat_scatter
from validation.fitting.scores import Scored, anchored, grouped
from validation.parts.families import kinds_of

from foretrain.coefficients.intervals import (
    FEATURES,
    LEVEL,
    Situation,
    after_anchor,
    covered,
    spread,
)
from foretrain.coefficients.uncertainty import Covers, Uncertainty
from foretrain.errors import InputError
from foretrain.measured.run import MeasuredRun

Columns = NDArray[np.float64]

TRUST = 0.2
"""Standard deviation of what is known of a widening before it is fitted, as a logarithm."""

SOURCE_ROWS = 5.0
"""Rows that a source counts as beside what is known before: its rows err alike."""

EASY = (0.02, 1.0)
"""Bounds of the mean absolute residual of an easy case."""

LEAST = 0.01
"""Width to either side below which no run repeats itself."""

UNSTEADY = 0.1
"""Scatter of its own repeats from which on a source says little of predictions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """A prediction that was held against a measurement.

    Attributes:
        source_id: rows of one source weigh as much as those of any other.
        publisher: whose rows, or what other group of them, were left out of the fit that predicted
            it.
        residual: logarithm of measured / predicted, without the publisher's rows in any fit.
        situation: what was predicted.
        groups: all that it is left out with, `publisher` among it; that alone if empty.
    """

    source_id: str
    publisher: str
    residual: float
    situation: Situation
    groups: frozenset[str] = frozenset()

    def of(self, group: str) -> bool:
        """Whether it is left out with a group."""
        return group in self.groups or group == self.publisher


Group = Callable[[MeasuredRun], str]


def observed(
    rows: Iterable[Scored], *, moved: bool = False, group: Group | None = None
) -> tuple[Observed, ...]:
    """Scored rows as residuals.

    Args:
        rows: those that have a situation.
        moved: whether one run of their framework has moved the predictions, and with them what
            choices that sources do not state make of all.
        group: what was left out of the fit that predicted a row, where that is not its publisher.
    """
    return tuple(
        Observed(
            source_id=row.run.source_id,
            publisher=row.publisher if group is None else group(row.run),
            residual=row.residual,
            situation=replace(row.situation, lower=0.0, higher=0.0) if moved else row.situation,
            groups=kinds_of(row.run) | {row.publisher},
        )
        for row in rows
        if row.situation is not None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Lessons:
    """What intervals are learned from.

    Attributes:
        prior: widths known before.
        rows: as predicted.
        anchored: those whose framework one run has moved.
    """

    prior: Uncertainty
    rows: Sequence[Observed]
    anchored: Sequence[Observed]

    def without(self, publisher: str) -> Lessons:
        """The same but for the rows of a publisher."""
        return replace(
            self,
            rows=[it for it in self.rows if not it.of(publisher)],
            anchored=[it for it in self.anchored if not it.of(publisher)],
        )


def lessons_of(
    scored: Sequence[Scored],
    prior: Uncertainty,
    *,
    besides: Sequence[tuple[Sequence[Scored], Group]] = (),
) -> Lessons:
    """What scored rows teach, but for those of sources whose repeats do not agree.

    Args:
        scored: rows that were predicted without their publisher.
        prior: widths known before.
        besides: the same rows predicted without something else: their software, say.
    """
    scatter = repeat_scatter(scored)

    def steady(rows: Sequence[Scored]) -> list[Scored]:
        return [row for row in rows if scatter.get(row.run.source_id, 0.0) < UNSTEADY]

    rows = observed(steady(scored))
    for others, group in besides:
        rows += observed(steady(others), group=group)
    moved = observed(anchored(steady(scored)), moved=True)
    return Lessons(prior=prior, rows=rows, anchored=moved)


def learned(lessons: Lessons) -> Uncertainty:
    """The widths of intervals, before and after an anchor.

    Raises:
        InputError: there are fewer than two publishers, so none could be left out.
    """
    whole = fitted(lessons.rows, lessons.prior)
    return with_anchor(lessons.anchored, whole) if lessons.anchored else whole


def fitted(observed: Sequence[Observed], prior: Uncertainty) -> Uncertainty:
    """Widths that hold what was observed, every source weighing the same.

    Widenings stay near the prior unless many sources speak against it, and are never below 0:
    what is harder is not predicted more surely. Of the publisher to come nothing is known: it
    weighs as much as each of the others, above all that was observed.

    Raises:
        InputError: there are fewer than two publishers, so none could be left out.
    """
    difficulties, weights = _difficulties(observed), _weights(observed)
    sizes = np.array([abs(it.residual) / it.situation.vague for it in observed])
    sources = len({it.source_id for it in observed})
    widenings = _fit(difficulties, sizes, (weights, _named(prior)), sources=sources)
    net = _net(observed) / np.exp(_wider(difficulties, widenings))
    values = dict(zip(FEATURES, widenings.tolist(), strict=True))
    publishers = len({it.publisher for it in observed})
    time = _quantile(net, weights, level=LEVEL * (publishers + 1) / publishers)
    return replace(prior, **values, time=time)


def with_anchor(observed: Sequence[Observed], uncertainty: Uncertainty) -> Uncertainty:
    """The same with the widths after an anchor, from residuals that one run each has moved.

    What a publisher's runs have in common is gone with the anchor, and with it what hides that
    those on more devices are rather slower: either end has a percentile of its own.
    """
    wider = _wider(_difficulties(observed), _named(uncertainty))
    net = np.array([it.residual / it.situation.vague for it in observed]) / np.exp(wider)
    weights, end = _weights(observed), (1.0 + LEVEL) / 2.0
    slower = max(LEAST, _quantile(net, weights, level=end))
    quicker = max(LEAST, _quantile(-net, weights, level=end))
    return replace(uncertainty, anchored=slower, anchored_quicker=quicker / slower)


def _named(uncertainty: Uncertainty) -> Columns:
    return np.array([getattr(uncertainty, name) for name in FEATURES])


def _difficulties(observed: Sequence[Observed]) -> Columns:
    """Features of every row against what the other publishers' rows cover. [rows, features]"""
    publishers = sorted({it.publisher for it in observed})
    if len(publishers) < 2:
        raise InputError("intervals need the rows of two publishers or more.")
    others = {
        name: covered([it.situation for it in observed if not it.of(name)]) for name in publishers
    }
    return np.array(
        [
            [feature(it.situation, others[it.publisher]) for feature in FEATURES.values()]
            for it in observed
        ]
    )


def _weights(observed: Sequence[Observed]) -> Columns:
    """Weights that add up to 1, every source's to the same."""
    many = {name: len(its) for name, its in grouped(observed, lambda it: it.source_id).items()}
    return np.array([1.0 / many[it.source_id] / len(many) for it in observed])


def _wider(difficulties: Columns, widenings: Columns) -> Columns:
    """Logarithms of the factors on the width of an easy case: variances add up. [rows]"""
    logarithms: Columns = 0.5 * np.log1p(_added(difficulties, widenings).sum(axis=1))
    return logarithms


def _added(difficulties: Columns, widenings: Columns) -> Columns:
    """What each feature adds to the variance of an easy case, over that. [rows, features]"""
    added: Columns = np.expm1(2.0 * difficulties * widenings)
    return added


def _net(observed: Sequence[Observed]) -> Columns:
    """What of a residual an unknown choice among plans leaves to be explained."""
    sizes = [
        (abs(it.residual), it.situation.lower if it.residual < 0 else it.situation.higher)
        for it in observed
    ]
    left = np.array([max(0.0, size**2 - choice**2) ** 0.5 for size, choice in sizes])
    net: Columns = left / np.array([it.situation.vague for it in observed])
    return net


def _fit(
    difficulties: Columns, sizes: Columns, known: tuple[Columns, Columns], *, sources: int
) -> Columns:
    """The widenings that are likeliest, beside the mean residual of an easy case.

    Residuals are taken to have a Laplace distribution whose scale is the width; `known` are the
    weights of the rows and the widenings expected before.
    """
    from scipy.optimize import minimize

    weights, expected = known
    trust = 1.0 / (2.0 * sources * SOURCE_ROWS * TRUST**2)

    def loss(values: Columns) -> tuple[float, Columns]:
        added = _added(difficulties, values[1:])
        variance = 1.0 + added.sum(axis=1, keepdims=True)
        wide = values[0] + 0.5 * np.log(variance[:, 0])
        over = sizes * np.exp(-wide)
        apart = values[1:] - expected
        slope = weights * (1.0 - over)
        steps = (difficulties * (1.0 + added) / variance).T @ slope + 2.0 * trust * apart
        return float(weights @ (wide + over) + trust * apart @ apart), np.r_[slope.sum(), steps]

    least, most = (log(end) for end in EASY)
    bounds = [(least, most), *[(0.0, None)] * len(expected)]
    start = np.r_[(least + most) / 2.0, expected]
    found = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B")
    fitted_widenings: Columns = found.x[1:]
    return fitted_widenings


def _quantile(values: Columns, weights: Columns, *, level: float) -> float:
    """The least of the values that is no less than a share of all, or the largest."""
    return float(np.quantile(values, min(level, 1.0), weights=weights, method="inverted_cdf"))


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
