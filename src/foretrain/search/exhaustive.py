"""Exhaustive search: price every legal plan, limits first."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from foretrain.cluster.offer import Offer
from foretrain.cost.setting import Setting
from foretrain.plan.enumeration import plan_tables
from foretrain.plan.orders import order_counts
from foretrain.plan.study import Study
from foretrain.search.found import Found
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
    for offer, setting in settings.items():
        tables = plan_tables(study.workload, offer.cluster, study.space, devices=offer.devices)
        for plans in tables:
            if found.best and stop():
                found.complete = False
                return
            orders = order_counts(plans, offer.cluster, study.space)
            found.survey(plans, orders)
            held, memory, rows = that_fit(study, setting, plans, many=orders, found=found)
            few = held.take(rows, plans.take(rows))
            price(study, setting, few, memory=memory[rows], found=found)
            tell()
