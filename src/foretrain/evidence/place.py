"""Places: what differs from one place to the next, and how far: pace, host and what hides traffic.

Devices of one kind compute alike wherever they stand. Beside that, who runs a training has software
with a pace of its own, hosts of some speed, and a network that hides more or less of what is sent.
A few runs tell of these and of nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import log, sqrt
from types import MappingProxyType
from typing import Final

import numpy as np

from foretrain.coefficients.calibration import Calibration
from foretrain.evidence.fit import Rows
from foretrain.evidence.free import Floats, Free, free_of

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
