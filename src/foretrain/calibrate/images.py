"""Coefficients of convolutional networks, fitted to measured steps on many devices and on one.

What kernels over pictures reach cannot be told from tables of many devices alone: those of one
publisher are of one kind of software and few kinds of devices. So trainings on one device are
fitted with them, and each publisher of many devices is left out in turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from foretrain.calibrate.fit import (
    UNTOUCHED,
    Ask,
    Fit,
    Predict,
    Rows,
    fit,
    membership,
    refit,
    weights,
)
from foretrain.calibrate.free import Floats, Free, values_of
from foretrain.calibrate.observation import Observation
from foretrain.calibrate.single import Measured
from foretrain.coefficients.coefficients import Coefficients

NOISE = 0.17
"""As `foretrain.calibrate.fit` has it, of networks of pictures: 1.48 times the median residual.

The fits without a publisher leave 0.15 to 0.19; algorithms of convolutions are chosen at run time.
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pictures:
    """Measured steps on pictures. [row]: those on many devices, then those on one.

    Attributes:
        observations: configurations that differ, on many devices.
        place: which of them each run on many devices had. [run]
        measured: its seconds. [run]
        sources: its source. [run]
        publishers: who published it. [run]
        trainers: the code that ran, which has a pace of its own. [run]
        alike: runs of a source that share what a model gets wrong: those of one network on one
            kind of device in one precision, whatever their batch and number of devices. [run]
        alone: steps on one device.
    """

    observations: tuple[Observation, ...]
    place: NDArray[np.intp]
    measured: Floats
    sources: tuple[str, ...]
    publishers: tuple[str, ...]
    trainers: tuple[str, ...]
    alike: tuple[str, ...]
    alone: Measured

    @property
    def owners(self) -> NDArray[np.str_]:
        """Who is left out together with each row. [row]"""
        return np.array([*self.publishers, *self.alone.groups])

    @property
    def rows(self) -> Rows:
        """The measured side of the fit: sources weigh the same, and so do runs that are alike."""
        groups = (*self.sources, *self.alone.groups)
        alone = (f"alone {row}" for row in range(len(self.alone.groups)))
        return Rows(
            measured=np.log(np.concatenate([self.measured, self.alone.seconds])),
            weight=weights(groups, (*self.alike, *alone)),
            trainer=membership((*self.trainers, *self.alone.groups)),
            noise=NOISE,
        )

    def log_seconds(self, coefficients: Coefficients, asked: NDArray[np.bool_]) -> Floats:
        """Log seconds of the rows asked for, 0 for all others. [row]"""
        many = len(self.place)
        found = np.zeros(len(asked))
        each = np.zeros(len(self.observations))
        for place in np.unique(self.place[asked[:many]]):
            each[place] = self.observations[place].log_seconds(coefficients)
        found[:many] = each[self.place]
        if asked[many:].any():
            found[many:] = self.alone.predict(coefficients)
        return np.where(asked, found, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """Coefficients of networks on pictures.

    Attributes:
        whole: fitted to everything.
        without: fitted without a publisher, by publisher.
    """

    whole: Fit
    without: Mapping[str, Fit]

    def cold(self, pictures: Pictures) -> Floats:
        """Seconds of each run on many devices, predicted without its publisher. [run]"""
        found = np.zeros(len(pictures.place))
        for name, fold in self.without.items():
            mine = np.array(pictures.publishers) == name
            found = np.where(mine, np.exp(fold.predicted[: len(found)]), found)
        return found


def fitted(
    pictures: Pictures,
    free: Sequence[Free],
    base: Coefficients,
    *,
    without: Mapping[str, Coefficients],
) -> Fitted:
    """What all runs say, and what they say without each publisher.

    Args:
        pictures: what was measured.
        free: coefficients that the fit moves.
        base: the values of all others.
        without: the same as they are known without a publisher; `base` for who is not named.
    """
    rows, owners = pictures.rows, pictures.owners
    whole = fit(rows, _predicting(pictures, free, base), start=np.zeros(len(free)))
    folds = {}
    for name in dict.fromkeys(pictures.publishers):
        others = replace(rows, weight=np.where(owners == name, 0.0, rows.weight))
        ask = _predicting(pictures, free, without.get(name, base))
        folds[name] = refit(whole, others, ask)
    return Fitted(whole=whole, without=folds)


def taught_by(found: Fit, pictures: Pictures, place: int, *, without: str = "") -> NDArray[np.intp]:
    """Rows that made a difference to one coefficient, of all but one publisher. [taught]"""
    touched = np.abs(found.slopes[:, place]) > UNTOUCHED
    return np.flatnonzero(touched & (pictures.owners != without) & (pictures.rows.weight > 0))


def _predicting(pictures: Pictures, free: Sequence[Free], base: Coefficients) -> Predict:
    def predict(asks: Sequence[Ask]) -> Sequence[Floats]:
        return [
            pictures.log_seconds(base.changed(values_of(free, scores)), asked)
            for scores, asked in asks
        ]

    return predict
