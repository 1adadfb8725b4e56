"""Excess: what a plan needs more of than there is, or than a study allows.

Room: which plans the memory of a cluster holds.

Remedies: changes of one kind with which a plan that does not fit would.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.offer import divisible, part
from foretrain.plan.choices import divisors
from foretrain.plan.legality import problems
from foretrain.plan.plan import Offload, Plan, Recompute, Schedule, Sharding
from foretrain.plan.spelling import changed
from foretrain.plan.study import Limit
from foretrain.plan.table import Flags, PlanTable, table_of
from foretrain.search.result import Excess
from foretrain.step.held import hold
from foretrain.step.memory import (
    HOST_MEMORY,
    MEMORY,
    MEMORY_LIMIT,
    RISK,
    heaviest_total,
    host_full,
    host_total,
    room,
    safe,
)
from foretrain.step.result import Estimate
from foretrain.step.setting import Setting, setting
from foretrain.workload.operator import Attention

MEMORIES = (MEMORY, HOST_MEMORY)
"""What a plan must have to run at all; everything else is the study's limit."""

ROOMS = (*MEMORIES, RISK, MEMORY_LIMIT)
"""What a plan may be too large for."""


def excesses(setting: Setting, estimate: Estimate, limit: Limit) -> Iterator[Excess]:
    """Everything that a plan exceeds, memory first.

    Args:
        setting: where it would run, on a cluster of as many devices as it uses.
        estimate: what it takes there.
        limit: what the study allows.
    """
    cluster, host = setting.cluster, setting.cluster.host
    memory = estimate.memory.total
    offloaded = host_total(setting, hold(setting, table_of([estimate.plan])))
    needs = (
        (MEMORY, memory, cluster.device.memory),
        (HOST_MEMORY, float(offloaded[0]), None if host is None else host.memory),
        (RISK, memory if memory <= cluster.device.memory else None, safe(setting, limit.fits)),
        (MEMORY_LIMIT, memory, limit.memory),
        ("deadline", estimate.time_to_train, limit.deadline),
        ("cost limit", estimate.cost_to_train, limit.cost),
        ("device limit", float(cluster.devices), limit.devices),
        ("power limit", cluster.draw, limit.power),
    )
    for name, needed, allowed in needs:
        if needed is not None and allowed is not None and needed > allowed:
            yield Excess(limit=name, needed=needed, allowed=float(allowed))


def roomy(setting: Setting, plans: PlanTable, limit: Limit) -> Flags:
    """Whether device and host have room for each plan, and the limit allows it. [plan]"""
    held = hold(setting, plans)
    fits = heaviest_total(setting, held) <= room(setting, limit)
    return np.logical_and(fits, ~host_full(setting, held))


MOST_GROWTH = 1024
"""Times as many nodes as there are, up to which a plan is given more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A changed plan, and the cluster on which it fits."""

    plan: Plan
    cluster: Cluster

    def lines(self, plan: Plan, cluster: Cluster) -> tuple[str, ...]:
        """The lines of a study that make this of a plan on a cluster."""
        nodes = f"cluster.nodes = {self.cluster.nodes}"
        more = self.cluster.nodes != cluster.nodes
        return (*((nodes,) * more), *changed(plan, self.plan))


def remedies(here: Setting, plan: Plan, limit: Limit) -> tuple[Changed, ...]:
    """Of each kind of change the smallest with which a plan runs and fits.

    Args:
        here: where it does not fit.
        plan: the plan.
        limit: whose limits on memory and devices count.
    """
    workload, cluster = here.workload, here.cluster
    changes = _changes(plan, experts=bool(workload.model.experts))
    found = [_first(here, [each for each in plans if each != plan], limit) for plans in changes]
    most = np.inf if limit.devices is None else limit.devices
    for axis in ("pipeline", "data"):
        # The plan on twice the nodes, four times, and so on, all of them along one axis.
        times, wider = 2, None
        while not wider and divisible(cluster) and times <= MOST_GROWTH:
            if times * cluster.devices > most:
                break
            more = setting(workload, part(cluster, times * cluster.nodes), here.coefficients)
            wider = _first(more, [replace(plan, **{axis: times * getattr(plan, axis)})], limit)
            times *= 2
        found.append(wider)
    return tuple(dict.fromkeys(each for each in found if each))


def _first(setting: Setting, plans: Sequence[Plan], limit: Limit) -> Changed | None:
    """The first of some plans that is legal and fits."""
    workload, cluster = setting.workload, setting.cluster
    legal = [plan for plan in plans if not problems(workload, cluster, plan)]
    if not legal:
        return None
    rows = np.flatnonzero(roomy(setting, table_of(legal), limit))
    return Changed(plan=legal[rows[0]], cluster=cluster) if len(rows) else None


def _changes(plan: Plan, *, experts: bool) -> Iterator[list[Plan]]:
    """Of each kind of change the plans that it leads to, the smallest change first."""
    # More of the activations computed twice, at last of all layers.
    yield [
        replace(plan, recompute=kind, recompute_layers=0)
        for kind in Recompute
        if kind > plan.recompute or plan.recompute_layers
    ]
    # More of what belongs to parameters divided, and the same among more devices, at last all.
    yield [replace(plan, sharding=kind) for kind in Sharding if kind > plan.sharding]
    replicas = divisors(plan.data * plan.context)
    yield [replace(plan, shard=each) for each in replicas if plan.shard and each > plan.shard]
    # Gathered parameters dropped between passes.
    yield [] if plan.reshard else [replace(plan, reshard=True)]
    yield [replace(plan, micro_batch=size) for size in divisors(plan.micro_batch)[-2::-1]]
    divided = plan.tensor == 1 or plan.sequence_parallel
    yield [] if divided else [replace(plan, sequence_parallel=True)]
    # Fewer replicas of more devices each: stages, where need be without interleaving.
    times = divisors(plan.data)[1:]
    fewer = [(each, replace(plan, data=plan.data // each)) for each in times]
    deeper = [replace(rest, pipeline=each * plan.pipeline) for each, rest in fewer]
    yield [each for longer in deeper for each in (longer, replace(longer, interleaving=1))]
    whole = experts and (plan.expert_tensor > 1 or plan.tensor == plan.expert == 1)
    wider = [replace(rest, tensor=each * plan.tensor) for each, rest in fewer]
    yield [replace(each, expert_tensor=each.tensor) if whole else each for each in wider]
    # A grid says how the context axis divides pictures; a longer axis would need another one.
    yield [replace(rest, context=each * plan.context) for each, rest in fewer if not plan.grid]
    spread = divisors(plan.tensor * plan.context * plan.data)[1:] if experts else []
    yield [replace(plan, expert=each * plan.expert) for each in spread]
    # What keeps fewer micro-batches in flight, and the kernel that keeps no scores.
    yield [replace(plan, interleaving=each) for each in divisors(plan.interleaving)[-2::-1]]
    yield [replace(plan, schedule=Schedule.ONE_F_ONE_B)]
    yield [replace(plan, attention=Attention.FLASH)]
    # More of what waits in the host's memory.
    more = [kind for kind in Offload if kind > plan.offload and kind & plan.offload == plan.offload]
    yield [replace(plan, offload=kind) for kind in more]
