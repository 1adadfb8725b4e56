"""What `calibrate` answers: a set of coefficients, and what it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from foretrain.coefficients.calibration import Calibration


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

    name: str
    prior: float
    value: float
    low: float
    high: float
    unit: str
    score: float
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """A fit of coefficients to measured runs.

    Attributes:
        calibration: the set, every coefficient with interval, rows and source.
        moved: the fitted coefficients.
        folds: the set that was fitted without each publisher.
        rows: ids of the runs fitted to.
        error: root mean square of log(predicted / measured) over them.
    """

    calibration: Calibration
    moved: tuple[Moved, ...]
    folds: Mapping[str, Calibration]
    rows: tuple[str, ...]
    error: float
