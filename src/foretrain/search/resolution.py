"""Resolution: which plans of one study a prediction can tell apart, and how sure a choice is.

Errors of a prediction that two plans share cancel when they are compared. What is left is an error
of each plan, and one of each value of a field, which all plans with that value share: additive
random effects (laird1982). Plans whose distance is small beside that error are equal.

A plan that was picked as the least of many looks better than it is (smith2006, the optimizer's
curse); by how much is what the same errors make of the same choice (a parametric bootstrap).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from foretrain.coefficients.uncertainty import PlanErrors
from foretrain.plan.plan import Plan

FIELDS: Final = (
    "tensor",
    "pipeline",
    "context",
    "expert",
    "micro_batch",
    "interleaving",
    "sharding",
    "recompute",
)
"""What published plans state, the data axis apart, which follows from the others."""

EQUAL: Final = 0.6
"""Share of the pairs of published plans at some predicted distance that come in the predicted
order, up to which plans are equal: little better than a coin."""

DRAWS: Final = 4_096
"""Draws of all errors; a probability is known to within 0.8 points."""

SEED: Final = 0
"""Of the draws, so that an answer is the same each time."""

Floats = NDArray[np.float64]


def spread(errors: PlanErrors, one: Plan, other: Plan) -> float:
    """Standard deviation of how far the logarithms of two predictions err apart."""
    differ = sum(getattr(one, name) != getattr(other, name) for name in FIELDS)
    return sqrt(errors.alike**2 + differ * errors.apart**2)


def distance(errors: PlanErrors, one: Plan, other: Plan) -> float:
    """The least ratio of two plans' values, less 1, at which they are told apart."""
    return exp(NormalDist().inv_cdf(EQUAL) * spread(errors, one, other)) - 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Chances:
    """What becomes of a choice among some plans.

    Attributes:
        best: how likely each plan has truly the least. [plan]
        optimism: how much more than predicted, as a logarithm, the plan has on average that is
            predicted to have the least: what choosing it adds to its error.
    """

    best: tuple[float, ...]
    optimism: float


def chances(errors: PlanErrors, plans: Sequence[Plan], values: Sequence[float]) -> Chances:
    """How likely each of some plans is the best, and what the least of them conceals.

    Args:
        errors: how far predictions of two plans err apart.
        plans: the plans, at least one. [plan]
        values: what is minimised, as predicted, above 0. [plan]
    """
    if len(plans) == 1:
        return Chances(best=(1.0,), optimism=0.0)
    told: Floats = np.array([log(value) for value in values])
    drawn = _errors(errors, plans)
    least = np.argmin(told + drawn, axis=1)
    # The same choice, were the predictions the truth: whoever is picked errs by what hid the rest.
    hidden = drawn[np.arange(DRAWS), np.argmin(told - drawn, axis=1)]
    counts = np.bincount(least, minlength=len(plans))
    return Chances(best=tuple((counts / DRAWS).tolist()), optimism=max(0.0, float(hidden.mean())))


def _errors(errors: PlanErrors, plans: Sequence[Plan]) -> Floats:
    """Draws of the errors of plans. [draw, plan]"""
    from numpy.random import default_rng

    random = default_rng(SEED)
    drawn: Floats = random.standard_normal((DRAWS, len(plans))) * (errors.alike / sqrt(2.0))
    for name in FIELDS:
        had = [getattr(plan, name) for plan in plans]
        every = {value: place for place, value in enumerate(dict.fromkeys(had))}
        shared = random.standard_normal((DRAWS, len(every))) * (errors.apart / sqrt(2.0))
        drawn += shared[:, [every[value] for value in had]]
    return drawn
