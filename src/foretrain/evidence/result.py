"""What `calibrate` answers, and how its runs are judged.

What differs from place to place, and what may be wrong with a measured step.

Places: what differs from one place to the next, and how far: pace, host and what hides traffic.

Devices of one kind compute alike wherever they stand. Beside that, who runs a training has software
with a pace of its own, hosts of some speed, and a network that hides more or less of what is sent.
A few runs tell of these and of nothing else.

Causes: what may be wrong with a measured step that no prediction comes near.

Judgement: whether measured runs may be believed, and whether what was learned of them helps.

Sources: stone1974 (what a fit is worth is seen on rows that were left out of it); hastie2009,
section 7.10 (of two models the plainer, unless the other is better by a standard error).

What `calibrate` answers: a set of coefficients, and what it rests on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log, sqrt
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from foretrain.coefficients.coefficients import Calibration
from foretrain.evidence.fit import TENTH, Fit, Floats, Free, Predict, Rows, free_of, refit
from foretrain.show.table import label, labelled
from foretrain.show.words import whole

FACTOR: Final = "step.factor"
"""The pace of everything: what a measured step moves, and what runs of one place have in common."""

OWN: Final[Mapping[str, float]] = MappingProxyType(
    {
        "host.launch": 0.3,
        "host.graph_launch": 0.3,
        "overlap.gradients": 0.7,
        "overlap.tensor": 0.7,
    }
)
"""What is moved beside the pace, and by how much it differs at least from place to place.

Standard deviations on the scale of a fit: logarithms of seconds, of which 0.3 is what processors of
2018 and of 2023 differ by on one thread; log odds of shares, of which 0.7 is a half against a third
(both are judgements: no source measured one trainer on many hosts).
"""

PACE: Final = 0.1
"""Standard deviation of the logarithm of a place's own pace.

Of the mean residuals of 26 sources with 12 rows or more, each predicted without its publisher:
their mean square, less what the rows of a source would make of it that had no pace of its own (its
variance over as many rows as it has models on devices, for these err together): 0.097.
"""

SCATTER: Final = 0.21
"""Standard deviation of the logarithm of one of a place's rows about its pace, averaged likewise.

Runs of one place differ by model, software and plan, each of which is mispredicted in its own way.
"""

BELIEVED: Final = 7.0
"""Rows that `SCATTER` counts as, beside a place's own: by the moments of 22 such variances."""


def scatter(residual: Floats) -> float:
    """Standard deviation of the logarithm of one row about its place's pace, as its rows tell it.

    Args:
        residual: log of what was measured over what was predicted before. [row]

    Source: gelman2013, section 2.6 (a scaled inverse chi-squared prior of a variance).
    """
    apart = float(np.sum((residual - np.mean(residual)) ** 2))
    return sqrt((BELIEVED * SCATTER**2 + apart) / (BELIEVED + len(residual) - 1))


def of_one_place(rows: Rows, known: Calibration) -> tuple[tuple[Free, ...], Rows]:
    """What runs of one place may move, and the runs without paces of single trainers.

    Args:
        rows: what was measured.
        known: the set before.
    """
    pace = Free(name=FACTOR, centre=log(known.known[FACTOR].value), spread=PACE, share=False)
    free = [free_of(name, known.known[name]) for name in OWN]
    wide = [replace(each, spread=max(each.spread, OWN[each.name])) for each in free]
    return (pace, *wide), replace(rows, trainer=np.zeros((len(rows.measured), 0)))


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What a fit did to one coefficient.

    Attributes:
        name: of the coefficient.
        prior: its value before.
        value: its value now.
        low: tenth percentile of what it may be.
        high: ninetieth percentile.
        unit: of all of them; "1" for a ratio.
        score: standard deviations between prior and value.
        rows: runs that it makes a difference to.
    """

    name: str = field(metadata=label("coefficient"))
    prior: float
    value: float
    low: float
    high: float
    unit: str
    score: float = field(
        metadata=label(
            "moved",
            "{:+.2f}".format,
            meaning="standard deviations of what was known; above 3 is odd",
        )
    )
    rows: int = field(metadata=label("runs", whole, meaning="that tell of it"))

    @property
    @labelled("before", number=True)
    def before(self) -> str:
        """The prior with its unit."""
        return self._written(self.prior)

    @property
    @labelled("after", number=True)
    def after(self) -> str:
        """The value with its unit."""
        return self._written(self.value)

    @property
    @labelled("interval")
    def interval(self) -> str:
        """What it may be."""
        return f"{self.low:.4g} to {self.high:.4g}"

    def _written(self, value: float) -> str:
        return f"{value:.4g}" if self.unit == "1" else f"{value:.4g} {self.unit}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Odd:
    """A figure that is hard to believe.

    Attributes:
        run: id of the run, or what it is called.
        measured: seconds.
        predicted: seconds, before anything was learned.
        deviations: standard deviations of the prediction between the two; above 0 where the run
            was slower.
    """

    run: str
    measured: float
    predicted: float
    deviations: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """How far off predictions are of runs that were left out of a fit.

    Attributes:
        rows: runs, each of which was left out once.
        before: mean of |log(predicted / measured)| with the set before.
        after: the same with sets fitted to the other runs.
        error: standard error of the difference of the two, configuration by configuration.
    """

    rows: int
    before: float
    after: float
    error: float

    @property
    def helps(self) -> bool:
        """Whether what was learned makes the others better, by more than chance moves them."""
        return self.before - self.after > self.error


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """A fit of coefficients to measured runs.

    Attributes:
        calibration: the set, every coefficient with interval, rows and source.
        moved: the fitted coefficients.
        folds: the set that was fitted without each publisher.
        rows: ids of the runs fitted to.
        error: root mean square of log(predicted / measured) over them.
        judged: on runs left out of the fit; None where they are too few, or of publishers.
        odd: runs farther from their predictions than can be believed.
        doubts: why the set should not be used, in words; empty if nothing speaks against it.
        accepted: whether it may be used: without doubts, or because the caller says so.
    """

    calibration: Calibration
    moved: tuple[Moved, ...]
    folds: Mapping[str, Calibration]
    rows: tuple[str, ...]
    error: float
    judged: Judged | None = None
    odd: tuple[Odd, ...] = ()
    doubts: tuple[str, ...] = ()
    accepted: bool = True
