"""Tables of plans through all formulas: what fits, what it takes, what keeps the limits."""

from __future__ import annotations

import numpy as np

from foretrain.cluster.cluster import energy
from foretrain.plan.enumeration import order_counts, with_orders
from foretrain.plan.study import Study
from foretrain.plan.table import Column, PlanTable, Rows
from foretrain.search.candidate import Priced, counts_energy, over_limits, value
from foretrain.search.found import Incumbents
from foretrain.step.ends import with_input
from foretrain.step.held import Held, hold
from foretrain.step.memory import (
    HOST_MEMORY,
    errors_of,
    heaviest_total,
    host_full,
    probabilities,
    rooms,
)
from foretrain.step.passes import computing_seconds
from foretrain.step.setting import Setting
from foretrain.step.step import factors, step_time
from foretrain.trainers.chosen import chosen_of, excluded

TRAINER = "the trainer"
"""What refuses plans that the study's software cannot run."""

NOBODY = "no trainer known"
"""What refuses plans that no trainer of the catalogue can run."""

TIMED = 32_768
"""Plans that are timed at once, at most. Columns of many more would be given back and asked for
again, and fit no cache; fewer take longer to start on than to work out."""


def keep_freed_memory() -> None:
    """Let the allocator keep what columns free, instead of giving it back and asking again.

    The C library keeps as much as twice the largest block that was ever freed, up to this size;
    touching fresh pages for every column would take longer than the arithmetic.
    """
    np.empty(4_000_000)


def that_fit(
    study: Study, setting: Setting, plans: PlanTable, *, many: Rows, found: Incumbents
) -> tuple[Held, Column, Rows]:
    """What plans hold, bytes of their heaviest stage, and the rows of those that fit on a device.

    Args:
        study: limits and space.
        setting: workload, cluster and coefficients.
        plans: the plans.
        many: how many plans each of them stands for, in the counts of what is refused.
        found: takes what does not fit.
    """
    held = hold(setting, plans)
    memory = heaviest_total(setting, held)
    chosen = chosen_of(study)
    if chosen is not None and chosen.trainer.excludes:
        # Refused as if they needed more than there is, so that each plan counts once.
        wrong = excluded(chosen.trainer, plans)
        found.reject(TRAINER, int(many[wrong].sum()))
        many = np.where(wrong, 0, many)
        memory = np.where(wrong, np.inf, memory)
    rows = found.fitting(memory, rooms(setting, study.limit), many=many)
    if any(study.space.offload):
        full = host_full(setting, held)[rows]
        found.reject(HOST_MEMORY, int(many[rows[full]].sum()))
        rows = rows[~full]
    return held, memory, rows


def price(study: Study, setting: Setting, held: Held, *, memory: Column, found: Incumbents) -> None:
    """Time plans in all their orders, drop those over a limit, rank the rest."""
    if not len(memory):
        return
    if found.runners is not None:
        # No order of the axes is beyond a trainer.
        can = found.runners.can(held.plans)
        if not can.all():
            orders = order_counts(held.plans, setting.cluster, study.space)
            found.reject(NOBODY, int(orders[~can].sum()))
            rows = np.flatnonzero(can)
            few = held.take(rows, held.plans.take(rows))
            price(study, setting, few, memory=memory[rows], found=found)
            return
    ordered, source = with_orders(held.plans, setting.cluster, study.space)
    # Of one schedule each: a table without the others is spared their formulas.
    alike = [np.flatnonzero(ordered.schedule == each) for each in np.unique(ordered.schedule)]
    pieces = [piece for rows in alike for piece in np.array_split(rows, -(-len(rows) // TIMED))]
    for rows in pieces:
        some = held.take(source[rows], ordered.take(rows))
        # Time plans in the orders that they have, drop those over a limit, rank the rest.
        plans = some.plans
        seconds = with_input(setting, plans, step_time(setting, factors(setting, some)))
        priced = valued(study, setting, plans, seconds=seconds, memory=memory[source[rows]])
        kept = np.ones(len(seconds), bool)
        limits = over_limits(study, setting.cluster, devices=plans.devices, seconds=seconds)
        for reason, over in limits.items():
            found.reject(reason, int((kept & over).sum()))
            kept &= ~over
        found.add(priced if kept.all() else priced.take(np.flatnonzero(kept)))


def valued(
    study: Study, setting: Setting, plans: PlanTable, *, seconds: Column, memory: Column
) -> Priced:
    """Plans with what they take and what it is worth."""
    devices, cluster = plans.devices, setting.cluster
    busy, joules = None, None
    if counts_energy(study):
        busy = computing_seconds(setting, plans)
        joules = energy(cluster, seconds, computing=busy, devices=devices)
    return Priced(
        cluster=cluster,
        plans=plans,
        value=worth_of(
            study, setting, devices=devices, seconds=seconds, memory=memory, computing=busy
        ),
        step_time=seconds,
        memory=memory,
        energy=joules,
    )


def worth_of(
    study: Study,
    setting: Setting,
    *,
    devices: Column,
    seconds: Column,
    memory: Column,
    computing: Column | None,
) -> Column:
    """What is minimised of plans; what a failed start is expected to cost counts too. [plan]

    More bytes make a failed start likelier, so that a bound of seconds and bytes is one of this.
    Seconds of computing, which only energy asks for, are known of a region.
    """
    counted = seconds
    if study.failed_start is not None:
        assert study.workload.samples, "a failed start beside no amount was not refused"
        steps = study.workload.samples / study.workload.global_batch
        likely = probabilities(
            memory,
            setting.cluster.device.memory,
            errors_of(setting),
            spread=study.workload.model.spread,
        )
        counted = seconds + (1.0 - likely) * (study.failed_start / steps)
    return value(
        study.objective,
        setting.cluster,
        devices=devices,
        step_time=counted,
        memory=memory,
        computing=computing,
    )
