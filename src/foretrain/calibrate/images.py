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

from foretrain.calibrate.fit import Ask, Fit, Rows, fit, membership, refit, weights
from foretrain.calibrate.free import Floats, Free, values_of
from foretrain.calibrate.observation import Observation
from foretrain.calibrate.single import Measured
from foretrain.coefficients.coefficients import Coefficients


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pictures:
    """Measured steps on pictures. [row]: those on many devices, then those on one.

    Attributes:
        observations: configurations that differ, on many devices.
        place: which of them each run on many devices had. [run]
        measured: its seconds. [run]
        sources: its source. [run]
        publishers: who published it. [run]
        trainers: source and software, which have a pace of their own. [run]
        alone: steps on one device.
    """

    observations: tuple[Observation, ...]
    place: NDArray[np.intp]
    measured: Floats
    sources: tuple[str, ...]
    publishers: tuple[str, ...]
    trainers: tuple[str, ...]
    alone: Measured

    @property
    def rows(self) -> Rows:
        """The measured side of the fit: sources weigh the same, repeats of a run as one."""
        groups = (*self.sources, *self.alone.groups)
        many, every = len(self.place), len(groups)
        repeats = (*map(str, self.place), *(f"alone {row}" for row in range(every - many)))
        return Rows(
            measured=np.log(np.concatenate([self.measured, self.alone.seconds])),
            weight=weights(groups, repeats),
            trainer=membership((*self.trainers, *self.alone.groups)),
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
        values: fitted to everything, by name.
        without: fitted without a publisher, by publisher and name.
        cold: seconds of each run on many devices, predicted without its publisher. [run]
        warm: the same by what everything was fitted to. [run]
    """

    values: Mapping[str, float]
    without: Mapping[str, Mapping[str, float]]
    cold: Floats
    warm: Floats


def fitted(pictures: Pictures, free: Sequence[Free], base: Coefficients) -> Fitted:
    """What all runs say, and what they say without each publisher.

    Args:
        pictures: what was measured.
        free: coefficients that the fit moves.
        base: the values of all others.
    """

    def predict(asks: Sequence[Ask]) -> Sequence[Floats]:
        return [
            pictures.log_seconds(base.changed(values_of(free, scores)), asked)
            for scores, asked in asks
        ]

    rows, many = pictures.rows, len(pictures.place)
    whole = fit(rows, predict, start=np.zeros(len(free)))
    names = np.array([*pictures.publishers, *pictures.alone.groups])
    folds: dict[str, Fit] = {}
    for name in dict.fromkeys(pictures.publishers):
        others = replace(rows, weight=np.where(names == name, 0.0, rows.weight))
        folds[name] = refit(whole, others, predict)
    cold = np.zeros(many)
    for name, fold in folds.items():
        cold = np.where(names[:many] == name, np.exp(fold.predicted[:many]), cold)
    return Fitted(
        values=values_of(free, whole.scores),
        without={name: values_of(free, fold.scores) for name, fold in folds.items()},
        cold=cold,
        warm=np.exp(whole.predicted[:many]),
    )
