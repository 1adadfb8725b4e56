"""Exhaustive search: price every legal plan, limits first."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from foretrain.cost.factors import factors
from foretrain.cost.held import Held, hold
from foretrain.cost.input import with_input
from foretrain.cost.memory import heaviest_total, host_total
from foretrain.cost.setting import Setting
from foretrain.cost.step import step_time
from foretrain.plan.enumeration import order_counts, plan_tables, with_orders
from foretrain.plan.study import Study
from foretrain.plan.table import Column, PlanTable
from foretrain.search.ranking import Found, Priced, over_limits, value

MEMORY = "device memory"
HOST_MEMORY = "host memory"


def exhaustive(
    study: Study,
    setting: Setting,
    *,
    keep: int,
    progress: Callable[[int], None],
    stop: Callable[[], bool],
) -> Found:
    """The best plans of a space.

    Args:
        study: space, objective and limits.
        setting: the study's workload and cluster, with coefficients.
        keep: how many of the best plans to keep.
        progress: told the number of plans looked at.
        stop: asked before every table; true ends the search with what was found.
    """
    found = Found(keep=keep)
    _keep_freed_memory()
    for plans in plan_tables(study.workload, study.cluster, study.space):
        if stop():
            found.complete = False
            break
        held, memory = _that_fit(study, setting, plans, found=found)
        if len(memory):
            _price(study, setting, held, memory=memory, found=found)
        progress(found.space)
    return found


def _keep_freed_memory() -> None:
    """Let the allocator keep what columns free, instead of giving it back and asking again.

    The C library keeps as much as twice the largest block that was ever freed, up to this size;
    touching fresh pages for every column would take longer than the arithmetic.
    """
    np.empty(4_000_000)


def _that_fit(
    study: Study, setting: Setting, plans: PlanTable, *, found: Found
) -> tuple[Held, Column]:
    """The plans of a table whose heaviest stage fits on a device, in all their orders."""
    held = hold(setting, plans)
    memory = heaviest_total(setting, held)
    fits = memory <= study.cluster.device.memory
    orders = order_counts(plans, study.cluster, study.space)
    found.space += int(orders.sum())
    found.reject(MEMORY, int(orders[~fits].sum()))
    found.miss(plans, memory)
    host = study.cluster.host
    if host is not None and any(study.space.offload):
        full = fits & (host_total(setting, held) > host.memory)
        found.reject(HOST_MEMORY, int(orders[full].sum()))
        fits &= ~full
    rows = np.flatnonzero(fits)
    if not len(rows):
        return held, memory[rows]
    ordered, source = with_orders(plans.take(rows), study.cluster, study.space)
    return held.take(rows[source], ordered), memory[rows[source]]


def _price(study: Study, setting: Setting, held: Held, *, memory: Column, found: Found) -> None:
    """Time the plans, drop those over a limit, rank the rest."""
    seconds = with_input(setting, held.plans, step_time(setting, factors(setting, held)))
    priced = Priced(
        plans=held.plans,
        value=value(study, seconds, memory),
        step_time=seconds,
        memory=memory,
    )
    kept = np.ones(len(seconds), bool)
    for reason, over in over_limits(study, seconds).items():
        found.reject(reason, int((kept & over).sum()))
        kept &= ~over
    found.add(priced if kept.all() else priced.take(np.flatnonzero(kept)))
