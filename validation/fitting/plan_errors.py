"""How far predictions of two plans of one study err apart, learned from published pairs.

A pair is two plans of a group: runs that differ in nothing but the plan. What its two predictions
share cancels; what is left grows with the number of fields in which the plans differ.

Source: lange1989 (Student's t with four degrees of freedom, so that a few pairs that went wrong
for a reason of their own do not decide the scale).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import exp, log

import numpy as np
from numpy.typing import NDArray
from validation.fitting.decisions import Decision
from validation.fitting.scores import grouped

from foretrain.coefficients.uncertainty import PlanErrors
from foretrain.measured.run import RunLayout

STATED = (
    "tensor",
    "pipeline",
    "context",
    "expert",
    "micro_batch",
    "interleaving",
    "zero_stage",
    "recompute",
)
"""Fields of a layout that stand for those of a plan (`foretrain.search.certainty.FIELDS`)."""

FREEDOM = 4.0
"""Degrees of freedom of the errors of pairs."""

START = (log(0.03), log(0.07))
"""Where the search begins: what was assumed before."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two plans of one group.

    Attributes:
        source_id: who published them.
        differ: fields in which they differ.
        error: difference of their log(measured / predicted).
    """

    source_id: str
    differ: int
    error: float


def pairs(groups: Iterable[Decision]) -> Iterator[Pair]:
    """Every pair of plans of some groups."""
    for group in groups:
        for one, other in combinations(group.choices, 2):
            yield Pair(
                source_id=group.source_id,
                differ=differing(one.run.layout, other.run.layout),
                error=log(one.measured / one.predicted) - log(other.measured / other.predicted),
            )


def differing(one: RunLayout, other: RunLayout) -> int:
    """In how many of the stated fields two layouts differ."""
    return sum(getattr(one, name) != getattr(other, name) for name in STATED)


def fitted(every: Sequence[Pair]) -> PlanErrors:
    """The scales under which some pairs are likeliest; every source counts the same."""
    from scipy.optimize import minimize

    sources: Mapping[str, Sequence[Pair]] = grouped(every, lambda it: it.source_id)
    columns = [
        (np.array([float(it.differ) for it in its]), np.array([it.error for it in its]))
        for its in sources.values()
    ]
    found = minimize(lambda scales: _unlikely(columns, scales), START, method="Nelder-Mead")
    return PlanErrors(alike=exp(found.x[0]), apart=exp(found.x[1]))


def _unlikely(columns: Sequence[tuple[Floats, Floats]], scales: Sequence[float]) -> float:
    """Minus the mean log-likelihood of the pairs of each source, added up."""
    alike, apart = exp(scales[0]), exp(scales[1])
    total = 0.0
    for differ, error in columns:
        variance = alike**2 + differ * apart**2
        tail = np.log1p(error**2 / variance / FREEDOM)
        total += float(np.mean(0.5 * np.log(variance) + 0.5 * (FREEDOM + 1.0) * tail))
    return total
