"""Exhaustive search: price every legal plan, limits first."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from foretrain.cluster.offer import Offer
from foretrain.cost.setting import Setting
from foretrain.plan.choices import Question, question_of
from foretrain.plan.enumeration import plan_tables
from foretrain.plan.orders import order_counts
from foretrain.plan.study import Study
from foretrain.search.found import Found
from foretrain.search.regions import layered, regions_of
from foretrain.search.table import keep_freed_memory, price, that_fit


def every_plan(
    study: Study,
    settings: Mapping[Offer, Setting],
    *,
    found: Found,
    tell: Callable[[], None],
    stop: Callable[[], bool],
) -> None:
    """Look at every plan of a space on the clusters of some offers.

    Args:
        study: space, objective and limits.
        settings: the study's workload on the whole of each offer, with coefficients.
        found: takes what is found.
        tell: called after every table.
        stop: asked before every table; true ends the search with what was found.
    """
    keep_freed_memory()
    question = question_of(study.workload, study.space)
    for offer in settings:
        found.survey(*layered(question, offer.cluster, devices=offer.devices))
    waiting = dict(settings)
    for offer, setting in settings.items():
        tables = plan_tables(study.workload, offer.cluster, study.space, devices=offer.devices)
        for plans in tables:
            if found.best and stop():
                _leave(study, waiting, question=question, found=found)
                return
            orders = order_counts(plans, offer.cluster, study.space)
            held, memory, rows = that_fit(study, setting, plans, many=orders, found=found)
            few = held.take(rows, plans.take(rows))
            price(study, setting, few, memory=memory[rows], found=found)
            tell()
        del waiting[offer]
    found.bound = np.inf


def _leave(
    study: Study, settings: Mapping[Offer, Setting], *, question: Question, found: Found
) -> None:
    """Bound what any plan on some offers may have, be it priced by now or not."""
    least = [np.inf]
    for offer, setting in settings.items():
        aside = Found(keep=1)
        regions = regions_of(study, setting, question=question, devices=offer.devices, found=aside)
        found.leave(regions.bounds)
        least += regions.bounds.value[:1].tolist()
    found.bound = min(least)
