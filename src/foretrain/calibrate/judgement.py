"""Judgement: whether measured runs may be believed, and whether what was learned of them helps.

Sources: stone1974 (what a fit is worth is seen on rows that were left out of it); hastie2009,
section 7.10 (of two models the plainer, unless the other is better by a standard error).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log

import numpy as np
from numpy.typing import NDArray

from foretrain.calibrate.fit import Fit, Predict, Rows, refit
from foretrain.calibrate.free import TENTH, Floats

FARTHEST = 4.0
"""Standard deviations of a prediction beyond which a figure is not believed without a word.

Of 1,940 published steps, each predicted without its publisher, 36 lie farther off.
"""

FEWEST = 5
"""Different configurations without which none is left out."""

FOLDS = 5
"""Parts of the configurations, each of which is left out once."""


def deviations(measured: float, predicted: float, ends: tuple[float, float]) -> float:
    """How far a figure lies from a prediction, in standard deviations; above 0 where it is slower.

    Args:
        measured: seconds.
        predicted: seconds.
        ends: tenth and ninetieth percentile of the prediction.
    """
    low, high = ends
    end = high if measured > predicted else low
    width = abs(log(end / predicted)) / TENTH
    return log(measured / predicted) / width


def folds_of(configurations: Sequence[str]) -> NDArray[np.int_] | None:
    """The part of each row, one configuration in one part; None for too few of them. [row]"""
    names, place = np.unique(np.asarray(configurations), return_inverse=True)
    return None if len(names) < FEWEST else place % FOLDS


def standard_error(values: Floats, configurations: Sequence[str]) -> float:
    """Of the mean of some values, those of one configuration taken together."""
    names, place, times = np.unique(
        np.asarray(configurations), return_inverse=True, return_counts=True
    )
    means = np.bincount(place, values) / times
    return float(np.std(means, ddof=1) / np.sqrt(len(names)))


def left_out(known: Fit, rows: Rows, predict: Predict, *, folds: NDArray[np.int_]) -> Floats:
    """Log predictions of each row by a fit without its part. [row]

    Args:
        known: the fit to all rows.
        rows: what was measured.
        predict: as for `fit`.
        folds: part of each row. [row]
    """
    found = np.zeros(len(rows.measured))
    for part in np.unique(folds):
        out = folds == part
        made = refit(known, replace(rows, weight=np.where(out, 0.0, rows.weight)), predict)
        found[out] = made.predicted[out]
    return found
