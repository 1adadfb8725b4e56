"""Fit: coefficients that explain measured runs, no farther from their priors than the runs demand.

Least squares of log(predicted / measured), every source weighing the same, with what was known
before as one more observation of each coefficient. Large residuals count by their size, not by its
square, so that a few odd rows do not decide.

Sources: huber1964 (the loss); hoerl1970 (priors as a ridge); bjorck1996, chapter 9 (Gauss-Newton).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from foretrain.calibrate.free import FARTHEST, TENTH, Floats, Free

NOISE = 0.12
"""Standard deviation of the logarithm of one run about a model that is right in the mean.

Runs of one configuration scatter by some 6 %; a model leaves out as much again and more.
"""

BEND = 1.5
"""Standard deviations from which on a residual counts by its size."""

SOURCE_ROWS = 12.0
"""Rows that one source counts as, however many it has."""

STEP = 0.25
"""Standard deviations by which a coefficient is moved to see what it does."""

ROUNDS = 6
STILL = 0.02
"""Standard deviations below which a fit has come to rest."""

Predict = Callable[[Sequence[Floats]], Sequence[Floats]]
"""Log seconds of every run, for some vectors of scores; rows over processes, if there are any."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """The measured side of a fit. [row]

    Attributes:
        measured: log of what was measured.
        weight: what a row counts.
    """

    measured: Floats
    weight: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fit:
    """What a fit found.

    Attributes:
        scores: of the free coefficients. [free]
        slopes: of log predictions by score, at the end. [row, free]
        predicted: log predictions at the end. [row]
        covariance: of the scores. [free, free]
    """

    scores: Floats
    slopes: Floats
    predicted: Floats
    covariance: Floats

    def interval(self, free: Sequence[Free], place: int) -> tuple[float, float]:
        """Tenth and ninetieth percentile of a coefficient."""
        half = TENTH * float(np.sqrt(self.covariance[place, place]))
        score = float(self.scores[place])
        return free[place].value(score - half), free[place].value(score + half)


def weights(groups: Sequence[str], repeats: Sequence[str]) -> Floats:
    """What each row counts: sources alike, and runs of one configuration as one. [row]

    Args:
        groups: source of each row.
        repeats: configuration of each row.
    """
    names, source = np.unique(np.asarray(groups), return_inverse=True)
    _, same, times = np.unique(np.asarray(repeats), return_inverse=True, return_counts=True)
    alone = 1.0 / times[same]
    counted = np.bincount(source, alone, minlength=len(names))
    found: Floats = alone * np.minimum(1.0, SOURCE_ROWS / counted)[source]
    return found


def fit(rows: Rows, predict: Predict, *, start: Floats) -> Fit:
    """Coefficients by Gauss-Newton, from a start.

    Args:
        rows: what was measured.
        predict: log seconds at some scores; slopes are differences of it.
        start: scores to begin with. [free]
    """
    scores, found = start, None
    for _ in range(ROUNDS):
        predicted, slopes = _slopes(predict, scores)
        found = _stepped(rows, scores, predicted, slopes=slopes)
        moved = float(np.max(np.abs(found.scores - scores), initial=0.0))
        scores = found.scores
        if moved < STILL:
            break
    assert found is not None
    (predicted,) = predict([scores])
    return replace(found, predicted=predicted)


def refit(whole: Fit, rows: Rows, predict: Predict) -> Fit:
    """The fit of some rows from that of all, with the slopes of the whole: what a fold needs.

    Rows that are left out have weight 0. Slopes change little between the two, so that only
    predictions are made anew.
    """
    found, scores = whole, whole.scores
    for _ in range(ROUNDS):
        (predicted,) = predict([scores])
        found = _stepped(rows, scores, predicted, slopes=whole.slopes)
        moved = float(np.max(np.abs(found.scores - scores), initial=0.0))
        scores = found.scores
        if moved < STILL:
            break
    (predicted,) = predict([scores])
    return replace(found, predicted=predicted)


def _slopes(predict: Predict, scores: Floats) -> tuple[Floats, Floats]:
    """Log predictions, and what each score does to them. [row], [row, free]"""
    moves = STEP * np.eye(len(scores))
    here, *there = predict([scores, *(scores + move for move in moves)])
    slopes = [(each - here) / STEP for each in there]
    return here, np.stack(slopes, axis=1) if slopes else np.zeros((len(here), 0))


def _stepped(rows: Rows, scores: Floats, predicted: Floats, *, slopes: Floats) -> Fit:
    """One step of Gauss-Newton, with the weights that the residuals before it deserve."""
    residual = (rows.measured - predicted) / NOISE
    size = np.maximum(np.abs(residual), BEND)
    weight = rows.weight * BEND / size
    scaled = slopes / NOISE
    curvature = scaled.T @ (weight[:, np.newaxis] * scaled) + np.eye(len(scores))
    pull = scaled.T @ (weight * residual) - scores
    covariance: Floats = np.asarray(np.linalg.inv(curvature))
    return Fit(
        scores=np.clip(scores + covariance @ pull, -FARTHEST, FARTHEST),
        slopes=slopes,
        predicted=predicted,
        covariance=covariance,
    )
