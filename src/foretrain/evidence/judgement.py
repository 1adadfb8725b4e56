"""Causes: what may be wrong with a measured step that no prediction comes near.

Judgement: whether measured runs may be believed, and whether what was learned of them helps.

Sources: stone1974 (what a fit is worth is seen on rows that were left out of it); hastie2009,
section 7.10 (of two models the plainer, unless the other is better by a standard error).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import log

import numpy as np
from numpy.typing import NDArray

from foretrain.evidence.fit import Fit, Predict, Rows, refit
from foretrain.evidence.free import TENTH, Floats

NEAR = 0.4
"""Logarithm of a ratio within which a mistake explains a figure: predictions are off by as much."""


def causes(ratio: float, *, micro_batches: float, devices: int, mfu: float) -> Iterator[str]:
    """What may explain a figure, the mistakes that would lead to just such a one first.

    Args:
        ratio: measured over predicted.
        micro_batches: of each replica in a step.
        devices: that the plan uses.
        mfu: FLOP of the model per second over the devices' peak, if the figure is right.
    """
    if mfu > 1.0:
        yield f"the devices would compute at {mfu:.0%} of their peak, which none can"
    factors = {
        "seconds written for milliseconds": 1000.0,
        "milliseconds written for seconds": 1 / 1000.0,
        f"one of the step's {micro_batches:,.0f} micro-batches was timed": 1 / micro_batches,
        f"the time of one device counted for each of {devices:,}": float(devices),
    }
    for words, factor in factors.items():
        if factor != 1.0 and abs(log(ratio / factor)) < NEAR:
            yield words
    yield "another batch, sequence, number of devices, precision or recomputation than the study's"
    yield "steps that wait for samples, checkpoints or a start-up"


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
