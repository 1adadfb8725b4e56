"""Warm start: the best plans of a similar question exclude much before any is found here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from foretrain.cluster.offer import Offer
from foretrain.plan.choices import LAYERS, PARAMETERS, STAGES, Question, question_of
from foretrain.plan.enumeration import degrees, with_choices
from foretrain.plan.plan import Plan
from foretrain.plan.study import Study
from foretrain.plan.table import PlanTable, distinct, table_of
from foretrain.search.found import Incumbents
from foretrain.search.table import price, that_fit
from foretrain.step.setting import Setting

DEGREES: tuple[str, ...] = ("tensor", "context", "pipeline")
"""Axes of a plan that stay; its data axis follows devices."""


def recall(
    study: Study,
    settings: Mapping[Offer, Setting],
    plans: Iterable[Plan],
    *,
    found: Incumbents,
) -> Incumbents:
    """What plans of another answer take here, as far as they are in the space and fit.

    Args:
        study: space, objective and limits.
        settings: the study's workload on the whole of each offer, with coefficients.
        plans: they need not be legal here.
        found: takes them; as empty as that of the search.
    """
    question = question_of(study.workload, study.space)
    known = [
        plan
        for plan in dict.fromkeys(plans)
        if plan.cut in study.space.cut and plan.grid in question.grids
    ]
    used = {plan.devices for plan in known}
    for offer, setting in settings.items() if known else ():
        devices = [each for each in offer.devices if each in used] or offer.devices[-1:]
        here = among(question, devices, known)
        if not len(here):
            continue
        one = np.ones(len(here), np.intp)
        found.survey(here, one)
        held, memory, rows = that_fit(study, setting, here, many=one, found=found)
        few = held.take(rows, here.take(rows))
        price(study, setting, few, memory=memory[rows], found=found)
    return found


def among(question: Question, devices: Sequence[int], plans: Sequence[Plan]) -> PlanTable:
    """The plans of a space that agree with one of some plans in all but data axis and order."""
    cuts, grids = question.space.cut, question.grids
    wanted = table_of(plans).but(
        cut=np.array([float(cuts.index(plan.cut)) for plan in plans]),
        cuts=cuts,
        grid=np.array([float(grids.index(plan.grid)) for plan in plans]),
        grids=grids,
    )
    names = DEGREES
    found = _agreeing(degrees(question, devices), wanted, names)
    for dimension in (*LAYERS, *PARAMETERS, *STAGES):
        names = (*names, *dimension.names)
        found = _agreeing(with_choices(question, found, dimension)[0], wanted, names)
    return found


def _agreeing(plans: PlanTable, wanted: PlanTable, names: Sequence[str]) -> PlanTable:
    """Those plans that have the fields of a wanted one."""
    both = [np.concatenate([getattr(plans, name), getattr(wanted, name)]) for name in names]
    _, index = distinct(both)
    return plans.take(np.flatnonzero(np.isin(index[: len(plans)], index[len(plans) :])))
