"""How sure a choice is: what predictions tell apart, and coefficients that nobody knows exactly.

Resolution: which plans of one study a prediction can tell apart, and how sure a choice is.

Errors of a prediction that two plans share cancel when they are compared. What is left is an error
of each plan, and one of each value of a field, which all plans with that value share: additive
random effects (laird1982). Plans whose distance is small beside that error are equal.

A plan that was picked as the least of many looks better than it is (smith2006, the optimizer's
curse); by how much is what the same errors make of the same choice (a parametric bootstrap).

robust: does the best plan stay the best while no coefficient is known exactly?
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import exp, inf, isfinite, log, sqrt
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from foretrain.coefficients.coefficients import Coefficients
from foretrain.coefficients.uncertainty import PlanErrors
from foretrain.plan.legality import within
from foretrain.plan.plan import Plan
from foretrain.plan.study import Objective, Study
from foretrain.plan.table import Column, table_of
from foretrain.search.result import Robust, SearchResult, Swing
from foretrain.search.table import valued
from foretrain.step.ends import with_input
from foretrain.step.held import hold
from foretrain.step.memory import heaviest_total, host_full, room
from foretrain.step.result import Ranked
from foretrain.step.software import study_setting
from foretrain.step.step import factors, step_time
from foretrain.study.coefficients import DEFAULT

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


WIDTHS = ("uncertainty.", "memory_errors", "plan_errors.")
"""How the coefficients begin that move no prediction."""

ROUNDING = 1e-9
"""Change of a regret that is nothing but the rounding of floats."""


def robust(study: Study, answer: SearchResult, *, coefficients: Coefficients = DEFAULT) -> Robust:
    """What the best plans lose against one another, each coefficient in turn at either end.

    A plan is priced by the closed form, times what the event simulation made of it in the search.

    Args:
        study: the question that was searched.
        answer: what the search answered.
        coefficients: those of the search.
    """
    plans = answer.plans
    given = _regrets(study, plans, coefficients)
    found = [
        (swing, regrets)
        for swing, changed in _ends(coefficients)
        for regrets in [_regrets(study, plans, changed)]
        if not np.allclose(regrets, given, rtol=0.0, atol=ROUNDING)
    ]
    found.sort(key=lambda each: (-each[1][0], each[0].coefficient, each[0].end))
    every = np.array([given, *(regrets for _, regrets in found)])
    worst = every.max(axis=0)
    where_it_fits = np.where(np.isfinite(every), every, 0.0).max(axis=0)
    return Robust(
        plans=tuple(each.plan for each in plans),
        swings=tuple(replace(swing, regrets=_known(regrets)) for swing, regrets in found),
        worst=_known(worst),
        choice=int(np.lexsort((where_it_fits, worst))[0]),
    )


def _ends(coefficients: Coefficients) -> Iterator[tuple[Swing, Coefficients]]:
    """Every end of every interval, with the set in which that coefficient stands there."""
    for name, source in coefficients.sources.items():
        if name.startswith(WIDTHS):
            continue
        for end, value in (("low", source.low), ("high", source.high)):
            if value != source.value:
                unit = source.unit
                swing = Swing(coefficient=name, end=end, value=value, unit=unit, regrets=())
                yield swing, coefficients.changed({name: value})


def _regrets(study: Study, plans: Sequence[Ranked], coefficients: Coefficients) -> Column:
    """By what part each plan has more than the best; infinite for one that does not fit. [plan]"""
    values = np.array([_value(study, each, coefficients) for each in plans])
    least = values.min()
    regrets: Column = values / least - 1.0 if isfinite(least) else values
    return regrets


def _value(study: Study, entry: Ranked, coefficients: Coefficients) -> float:
    """What a plan has of the objective; infinite where it does not fit."""
    cluster = next(
        offer.of(entry.plan.devices)
        for offer in within(study.choices, study.limit)
        if offer.cluster.name == entry.cluster and entry.nodes in offer.nodes
    )
    known, plans = study_setting(study, cluster, coefficients), table_of([entry.plan])
    held = hold(known, plans)
    memory = heaviest_total(known, held)
    # Under other coefficients it is enough that the plan is predicted to fit.
    if memory[0] > room(known, replace(study.limit, fits=0.0)) or host_full(known, held)[0]:
        return inf
    seconds = with_input(known, plans, step_time(known, factors(known, held)))
    closed = float(valued(study, known, plans, seconds=seconds, memory=memory).value[0])
    if study.objective is Objective.MEMORY:
        return closed
    return closed * (entry.estimate.step_time / entry.estimate.closed_form)


def _known(regrets: Column) -> tuple[float | None, ...]:
    return tuple(regret if isfinite(regret) else None for regret in regrets.tolist())
