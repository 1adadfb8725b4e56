"""Intervals of transfer times: how far off strangers' predictions are, and what that teaches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

import numpy as np
from validation.fitting.collectives import LEAST, Timed, fitted, quickest

from foretrain.coefficients.coefficients import Coefficient, Coefficients, Origin, TransferErrors
from foretrain.coefficients.intervals import LEVEL
from foretrain.evidence.fit import TENTH
from foretrain.step.collective import transfers

MOVING, WAITING = "transfer_errors.moving", "transfer_errors.waiting"
TERMS: Final = (MOVING, WAITING)
COMMAND: Final = "python -m validation.transfers"
"""What learns them."""

OUTSIDE: Final = 2.0 / (1.0 - LEVEL)
"""What a measured value outside of an interval counts, over the interval's width."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """A prediction by terms that were fitted without the row's source, and what was measured.

    Attributes:
        row: what was timed.
        waiting: share of the predicted time that starts and hops take.
        error: logarithm of what was measured over what was predicted.
        name: of the algorithm and protocol.
    """

    row: Timed
    waiting: float
    error: float
    name: str

    def inside(self, errors: TransferErrors) -> bool:
        """Whether an interval of such widths holds what was measured."""
        return bool(abs(self.error) <= widths(errors, np.array([self.waiting]))[0])


def widths(errors: TransferErrors, waiting: np.ndarray) -> np.ndarray:
    """Half of an interval, as a logarithm. [row]"""
    found: np.ndarray = np.hypot(errors.moving, errors.waiting * np.sqrt(waiting))
    return found


def without(
    sources: Sequence[str],
    rows: Sequence[Timed],
    *,
    priors: Mapping[str, Coefficient],
    before: Coefficients,
) -> Coefficients:
    """The set that rows of other sources ask for, quicker repeats, none of short messages."""
    others = [row for row in rows if row.source not in sources and row.size >= LEAST]
    terms = fitted(quickest(others), priors, before)
    return before.changed({name: term.value for name, term in terms.items()})


def missed(rows: Sequence[Timed], known: Coefficients) -> Iterator[Missed]:
    """How far off a set is."""
    for row in rows:
        found = transfers(row.cluster, known, row.pattern, sizes=[row.size], together=row.together)
        yield Missed(
            row=row,
            waiting=float(found.waiting[0]),
            error=float(np.log(row.seconds / found.seconds[0])),
            name=found.names[0],
        )


def learned(found: Sequence[Missed], priors: Mapping[str, Coefficient]) -> TransferErrors:
    """The widths of the best score: narrow, and what falls outside costs OUTSIDE times how far.

    Every source weighs the same.

    Source: gneiting2007, section 6.2, the interval score.
    """
    from scipy.optimize import minimize

    rows = Counter(each.row.source for each in found)
    weight = np.array([1.0 / rows[each.row.source] for each in found]) / len(rows)
    off = np.abs([each.error for each in found])
    waiting = np.array([each.waiting for each in found])

    def score(logarithms: np.ndarray) -> float:
        wide = widths(_errors(logarithms), waiting)
        return float(weight @ (2.0 * wide + OUTSIDE * np.maximum(0.0, off - wide)))

    start = np.log([priors[name].value for name in TERMS])
    tries = [start + step for step in ((0.0, 0.0), (0.7, -0.7), (-0.7, 0.7))]
    best = min((minimize(score, at, method="Nelder-Mead") for at in tries), key=lambda it: it.fun)
    return _errors(best.x)


def _errors(logarithms: np.ndarray) -> TransferErrors:
    moving, waiting = map(float, np.exp(logarithms))
    return TransferErrors(moving=moving, waiting=waiting)


def as_known(
    errors: TransferErrors, found: Sequence[Missed], priors: Mapping[str, Coefficient]
) -> Mapping[str, Coefficient]:
    """Widths as coefficients, whose intervals say how much they hang on single sources."""
    sources = sorted({each.row.source for each in found})
    apart = [
        learned([each for each in found if each.row.source != source], priors) for source in sources
    ]
    ids = tuple(sorted(each.row.id for each in found))

    def term(name: str) -> Coefficient:
        field = name.partition(".")[2]
        value, others = getattr(errors, field), [getattr(each, field) for each in apart]
        spread = float(np.std(np.log(others))) * np.sqrt(len(others) - 1.0)
        factor = float(np.exp(TENTH * spread))
        return replace(
            priors[name],
            value=value,
            low=value / factor,
            high=value * factor,
            kind=Origin.MEASURED,
            source=COMMAND,
            rows=ids,
        )

    return MappingProxyType({name: term(name) for name in TERMS})
