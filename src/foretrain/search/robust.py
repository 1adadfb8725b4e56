"""robust: does the best plan stay the best while no coefficient is known exactly?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf, isfinite

import numpy as np

from foretrain.coefficients.coefficients import Coefficients
from foretrain.plan.legality import within
from foretrain.plan.study import Objective, Study
from foretrain.plan.table import Column, table_of
from foretrain.search.result import Robust, SearchResult, Swing
from foretrain.search.table import valued
from foretrain.step.held import hold
from foretrain.step.input import with_input
from foretrain.step.memory import heaviest_total, host_full, room
from foretrain.step.result import Ranked
from foretrain.step.software import study_setting
from foretrain.step.step import factors, step_time
from foretrain.study.coefficients import DEFAULT

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
