"""Excess: what a plan needs more of than there is, or than a study allows.

Room: which plans the memory of a cluster holds.

Remedies: changes of one kind with which a plan that does not fit would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.offer import divisible, part
from foretrain.plan.choices import divisors
from foretrain.plan.legality import problems
from foretrain.plan.plan import Offload, Plan, Recompute, Schedule, Sharding, changed
from foretrain.plan.study import Limit
from foretrain.plan.table import Flags, PlanTable, table_of
from foretrain.search.result import Excess
from foretrain.step.held import hold
from foretrain.step.memory import heaviest_total, host_full, host_total
from foretrain.step.result import Estimate
from foretrain.step.setting import Setting, setting
from foretrain.workload.operator import Attention
from foretrain.workload.workload import Workload

MEMORIES = ("device memory", "host memory")
"""What a plan must have to run at all; everything else is the study's limit."""


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
        ("device memory", memory, cluster.device.memory),
        ("host memory", float(offloaded[0]), None if host is None else host.memory),
        ("memory limit", memory, limit.memory),
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
    fits = heaviest_total(setting, held) <= limit.room(setting.cluster.device)
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


def remedies(setting: Setting, plan: Plan, limit: Limit) -> tuple[Changed, ...]:
    """Of each kind of change the smallest with which a plan runs and fits.

    Args:
        setting: where it does not fit.
        plan: the plan.
        limit: whose limits on memory and devices count.
    """
    here = (list_of(setting.workload, plan) for list_of in KINDS.values())
    found = [_first(setting, [*plans], limit) for plans in here]
    wider = (_grown(setting, plan, limit=limit, axis=axis) for axis in ("pipeline", "data"))
    return tuple(dict.fromkeys(each for each in (*found, *wider) if each))


def _first(setting: Setting, plans: Sequence[Plan], limit: Limit) -> Changed | None:
    """The first of some plans that is legal and fits."""
    workload, cluster = setting.workload, setting.cluster
    legal = [plan for plan in plans if not problems(workload, cluster, plan)]
    if not legal:
        return None
    rows = np.flatnonzero(roomy(setting, table_of(legal), limit))
    return Changed(plan=legal[rows[0]], cluster=cluster) if len(rows) else None


def _grown(known: Setting, plan: Plan, *, limit: Limit, axis: str) -> Changed | None:
    """The plan on twice the nodes, four times, and so on, all of them along one axis."""
    cluster, times = known.cluster, 2
    most = np.inf if limit.devices is None else limit.devices
    while divisible(cluster) and times <= MOST_GROWTH and times * cluster.devices <= most:
        wider = setting(known.workload, part(cluster, times * cluster.nodes), known.coefficients)
        longer = replace(plan, **{axis: times * getattr(plan, axis)})
        if found := _first(wider, [longer], limit):
            return found
        times *= 2
    return None


def _recompute(workload: Workload, plan: Plan) -> Iterator[Plan]:
    """More of the activations computed twice."""
    for kind in Recompute:
        if kind > plan.recompute or plan.recompute_layers:
            yield replace(plan, recompute=kind, recompute_layers=0)


def _sharding(workload: Workload, plan: Plan) -> Iterator[Plan]:
    """More of what belongs to parameters divided."""
    for kind in Sharding:
        if kind > plan.sharding:
            yield replace(plan, sharding=kind)


def _shard(workload: Workload, plan: Plan) -> Iterator[Plan]:
    """The same divided among more devices, at last among all."""
    for shard in divisors(plan.data * plan.context):
        if plan.shard and shard > plan.shard:
            yield replace(plan, shard=shard)


def _reshard(workload: Workload, plan: Plan) -> Iterator[Plan]:
    """Gathered parameters dropped between passes."""
    if not plan.reshard:
        yield replace(plan, reshard=True)


def _micro_batch(workload: Workload, plan: Plan) -> Iterator[Plan]:
    """Fewer samples at once."""
    for size in reversed(divisors(plan.micro_batch)[:-1]):
        yield replace(plan, micro_batch=size)


def _sequence_parallel(workload: Workload, plan: Plan) -> Iterator[Plan]:
    """Tokens divided by the tensor axis."""
    if plan.tensor > 1 and not plan.sequence_parallel:
        yield replace(plan, sequence_parallel=True)


def _deeper(workload: Workload, plan: Plan) -> Iterator[Plan]:
    """More stages and fewer replicas, where need be without interleaving."""
    for times in divisors(plan.data)[1:]:
        longer = replace(plan, pipeline=times * plan.pipeline, data=plan.data // times)
        yield longer
        yield replace(longer, interleaving=1)


def _tensor(workload: Workload, plan: Plan) -> Iterator[Plan]:
    """Operators divided among more devices, and fewer replicas."""
    for times in divisors(plan.data)[1:]:
        tensor = times * plan.tensor
        divided = plan.expert_tensor > 1 or plan.tensor == plan.expert == 1
        experts = tensor if workload.model.experts and divided else plan.expert_tensor
        yield replace(plan, tensor=tensor, data=plan.data // times, expert_tensor=experts)


def _context(workload: Workload, plan: Plan) -> Iterator[Plan]:
    """Samples shared by more devices, and fewer replicas."""
    for times in divisors(plan.data)[1:]:
        yield replace(plan, context=times * plan.context, data=plan.data // times)


def _expert(workload: Workload, plan: Plan) -> Iterator[Plan]:
    """Experts spread over more devices."""
    for times in divisors(plan.tensor * plan.context * plan.data)[1:]:
        if workload.model.experts:
            yield replace(plan, expert=times * plan.expert)


def _interleaving(workload: Workload, plan: Plan) -> Iterator[Plan]:
    """Fewer chunks per stage, which keep fewer micro-batches in flight."""
    for chunks in reversed(divisors(plan.interleaving)[:-1]):
        yield replace(plan, interleaving=chunks)


def _schedule(workload: Workload, plan: Plan) -> Iterator[Plan]:
    """The schedule that keeps fewest micro-batches in flight."""
    if plan.schedule is not Schedule.ONE_F_ONE_B:
        yield replace(plan, schedule=Schedule.ONE_F_ONE_B)


def _attention(workload: Workload, plan: Plan) -> Iterator[Plan]:
    """The kernel that keeps no scores."""
    if plan.attention is not Attention.FLASH:
        yield replace(plan, attention=Attention.FLASH)


def _offload(workload: Workload, plan: Plan) -> Iterator[Plan]:
    """More of what waits in the host's memory."""
    for kind in Offload:
        if kind > plan.offload and kind & plan.offload == plan.offload:
            yield replace(plan, offload=kind)


KINDS: Mapping[str, Callable[[Workload, Plan], Iterator[Plan]]] = MappingProxyType(
    {
        "recompute": _recompute,
        "sharding": _sharding,
        "shard": _shard,
        "reshard": _reshard,
        "micro_batch": _micro_batch,
        "sequence_parallel": _sequence_parallel,
        "pipeline": _deeper,
        "tensor": _tensor,
        "context": _context,
        "expert": _expert,
        "interleaving": _interleaving,
        "schedule": _schedule,
        "attention": _attention,
        "offload": _offload,
    }
)
"""Kinds of change, each with the plans that it leads to, the smallest change first."""
