"""Plans on a mixed cluster: which devices of two kinds work together, and the legal ways.

By replica: every replica lies on devices of one kind, all replicas are cut alike, and each kind
passes as many micro-batches through each of its replicas as suits its speed. By stage: the first
stages of every replica lie on one kind, the others on the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import gcd

import numpy as np

from foretrain.cluster.mixed import Mixed
from foretrain.plan.choices import chosen, divisors
from foretrain.plan.enumeration import plan_tables
from foretrain.plan.plan import AXES, GroupedBy, Order, Sharding
from foretrain.plan.study import Space
from foretrain.plan.table import Flags, PlanTable
from foretrain.workload.workload import Workload

ORDERS: dict[GroupedBy, Order] = {
    GroupedBy.REPLICA: ("tensor", "context", "pipeline", "data"),
    GroupedBy.STAGE: AXES,
}
"""The order of axes where a study has none: the outermost one is the axis that has both kinds."""


def replica_tables(workload: Workload, mixed: Mixed, space: Space) -> Iterator[PlanTable]:
    """Every distinct legal plan by replica; its batch can be shared in at least one way.

    Both numbers of devices are whole numbers of replicas, so that all degrees are those of a
    cluster with their greatest common divisor of devices. Gradients and parameters that are reduced
    and gathered in every pass are shared by replicas of one kind, or by all in lockstep.
    """
    shared = gcd(*(cluster.devices for cluster in mixed.kinds))
    more = mixed.devices // shared
    data = tuple(each // more for each in space.data or () if each % more == 0) or None
    if space.data is not None and data is None:
        return
    few = replace(space, data=data, sharding=(Sharding.NONE,), shard=None, order=None)
    for plans in plan_tables(workload, mixed.first, few, devices=(shared,)):
        for table in _sharded(workload, plans, space=space, more=more):
            yield from _ordered(table, space, GroupedBy.REPLICA)


def stage_tables(workload: Workload, mixed: Mixed, space: Space) -> Iterator[PlanTable]:
    """Every distinct legal plan by stage.

    Both numbers of devices are whole numbers of stages. How layers are cut follows from the speed
    of the kinds unless the study lists them.
    """
    shared = gcd(*(cluster.devices for cluster in mixed.kinds))
    stages = chosen([mixed.devices // each for each in divisors(shared)], space.pipeline)
    listed = tuple(cut for cut in space.cut if isinstance(cut, tuple))
    if not stages:
        return
    few = replace(space, pipeline=tuple(stages), cut=listed or ("balanced",), order=None)
    for plans in plan_tables(workload, mixed.first, few, devices=(mixed.devices,)):
        yield from _ordered(plans, space, GroupedBy.STAGE)


def lockstep(plans: PlanTable) -> Flags:
    """Whether replicas of both kinds meet in every pass, and so make equally many. [plan]"""
    together: Flags = (plans.sharding >= Sharding.GRADIENTS) & (plans.shard == 0)
    return together


def _sharded(
    workload: Workload, plans: PlanTable, *, space: Space, more: int
) -> Iterator[PlanTable]:
    """Plans that shard nothing, with all replicas and in every way to shard."""
    whole = plans.but(data=plans.data * float(more))
    every = np.unique(plans.replicas).astype(int)
    within = sorted({shard for replicas in every for shard in divisors(int(replicas)) if shard > 1})
    for kind in chosen(list(Sharding), space.sharding):
        if kind is Sharding.NONE:
            yield whole
            continue
        for shard in (0, *within) if space.shard is None else space.shard:
            rows = _may_share(workload, plans, shard, more=more)
            for reshard in space.reshard[: None if kind is Sharding.PARAMETERS else 1]:
                values = {"sharding": kind, "shard": shard, "reshard": reshard}
                columns = {name: np.full(len(plans), float(v)) for name, v in values.items()}
                if rows.any():
                    yield whole.but(**columns).take(rows)


def _may_share(workload: Workload, plans: PlanTable, shard: int, *, more: int) -> Flags:
    """Whether so many neighbours, all of one kind, share one copy. [plan]

    A shard divides those that hold the same experts, or they divide it.
    """
    if not shard:
        return np.ones(len(plans), bool)
    allowed: Flags = (plans.replicas % shard == 0) & (shard > 1)
    if workload.model.experts:
        among = plans.tensor * plans.replicas * more
        same = among / (plans.expert * plans.expert_tensor)
        allowed &= (same % shard == 0) | (shard % same == 0)
    return allowed


def _ordered(plans: PlanTable, space: Space, by: GroupedBy) -> Iterator[PlanTable]:
    """The plans in each of a study's orders that keep what lies on one kind together."""
    outermost = ORDERS[by][-1]
    for order in space.order or (ORDERS[by],):
        if order[-1] == outermost:
            # Without a pipeline two orders are one; it has the name of the usual one.
            usual = (plans.pipeline == 1) & (space.order is None)
            yield plans.but(order=np.where(usual, 1.0, 0.0), orders=(order, AXES))
