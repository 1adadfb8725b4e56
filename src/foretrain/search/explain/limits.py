"""Limits: what bounds a plan, operator by operator, and what it needs more of than there is.

Limits: what bounds each operator on the slowest stage of a plan.

What limits the kernels of an operator is found by asking its formula twice: with a device that
computes a tenth faster, and with one whose memory does. Whichever helps more is what it waits for.

Excess: what a plan needs more of than there is, or than a study allows.

Room: which plans the memory of a cluster holds.

Remedies: changes of one kind with which a plan that does not fit would.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.device import Device, Peak
from foretrain.cluster.offer import divisible, part
from foretrain.plan.choices import divisors
from foretrain.plan.legality import problems
from foretrain.plan.plan import Offload, Plan, Recompute, Schedule, Sharding
from foretrain.plan.study import Limit
from foretrain.plan.table import Flags, PlanTable, changed, table_of
from foretrain.search.result import Excess
from foretrain.show.table import label
from foretrain.show.words import percent
from foretrain.step.compute import launches, operator_times
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
from foretrain.step.rates import rates
from foretrain.step.result import Estimate
from foretrain.step.schedule import straggling
from foretrain.step.setting import Setting, setting
from foretrain.step.step import Factors, factors, stage_columns
from foretrain.step.strategies import share_of, transfers_of
from foretrain.step.work import DeviceWork
from foretrain.units import SECONDS
from foretrain.workload.operator import Attention

Floats = NDArray[np.float64]

MORE = 1.1
"""What a resource is multiplied by to see what depends on it."""


class BoundBy(StrEnum):
    """What an operator waits for."""

    COMPUTE = "compute"
    MEMORY = "memory traffic"
    HOST = "host"
    NETWORK = "network"
    MEASURED = "as measured"
    """Somebody measured its seconds; no formula says what limits it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundOperator:
    """An operator on the slowest stage of a plan, all its passes of a step together.

    Attributes:
        layer: in which it stands.
        operator: its name.
        device: seconds of its kernels, forward and backward.
        exchanged: seconds of what members of an axis exchange for it, before compute hides any.
        host: seconds in which the host calls it.
        share: of the step, of its kernels.
        kernels: what limits its kernels.
        bound: what it waits for most.
    """

    layer: str = field(metadata=label("layer"))
    operator: str = field(metadata=label("operator"))
    device: float = field(metadata=label("kernels", SECONDS, group="amount"))
    exchanged: float = field(metadata=label("exchanges", SECONDS, group="amount", spare=2))
    host: float = field(metadata=label("host", SECONDS, group="amount", spare=1))
    share: float = field(metadata=label("share", percent, meaning="of the step"))
    kernels: BoundBy
    bound: BoundBy = field(metadata=label("bound by"))


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowestStage:
    """The stage of a plan that computes longest.

    Attributes:
        layers: of each kind on it. [kind]
        micro_batches: passes of a step.
        straggling: time of the slowest replica's passes over that of their mean.
        operators: everything that it runs.
    """

    layers: tuple[float, ...]
    micro_batches: float
    straggling: float
    operators: tuple[BoundOperator, ...]


def slowest_stage(known: Setting, plan: Plan, *, step_time: float) -> SlowestStage:
    """What the slowest stage of a plan runs in a step, and what bounds each of it.

    Args:
        known: workload, cluster and coefficients.
        plan: a plan that can run.
        step_time: seconds of its step.
    """
    plans = table_of([plan])
    priced = factors(known, hold(known, plans))
    busy = [float(np.ravel(it.forward + it.backward)[0]) for it in stage_columns(known, priced)]
    held = priced.held
    layers = held.cuts.layers[busy.index(max(busy)), :, held.cut[0]]
    slower = float(np.ravel(straggling(known, plans))[0])
    passes = float(known.workload.micro_batches(plan.data, plan.micro_batch))
    times = passes * slower * layers[list(known.operators.layer)]
    device = times * _device(known, plans, known.cluster.device)
    kernels = _kernels(known, plans, known.cluster.device)
    host, exchanged = times * _host(known, plan), times * _exchanged(known, plans, priced)
    # Kernels wait in a queue: the host holds a pass up only where it is slower over all of it.
    held_up = host * (float(host.sum()) > float(device.sum()))
    # Software keeps other sizes than the library; names and order are the same.
    found = (
        BoundOperator(
            layer=layer.name,
            operator=operator.name,
            device=float(device[row]),
            exchanged=float(exchanged[row]),
            host=float(host[row]),
            share=float(device[row]) / step_time,
            kernels=kernels[row],
            bound=_longest(
                {
                    kernels[row]: device[row],
                    BoundBy.HOST: held_up[row],
                    BoundBy.NETWORK: exchanged[row],
                }
            ),
        )
        for row, (layer, operator) in enumerate(known.workload.model.operators)
        if device[row]
    )
    return SlowestStage(
        layers=tuple(map(float, layers)),
        micro_batches=passes,
        straggling=slower,
        operators=tuple(found),
    )


def _longest(waits: Mapping[BoundBy, float]) -> BoundBy:
    return max(waits, key=lambda each: waits[each])


def _kernels(known: Setting, plans: PlanTable, device: Device) -> tuple[BoundBy, ...]:
    """What limits the kernels of every operator. [operator]"""
    wider = replace(device, memory_bandwidth=MORE * device.memory_bandwidth)
    compute, memory = (_device(known, plans, each) for each in (quicker(device, times=MORE), wider))
    told = zip(known.operators.measured[:, 0], compute < memory, strict=True)
    return tuple(
        BoundBy.MEASURED if measured else BoundBy.COMPUTE if products else BoundBy.MEMORY
        for measured, products in told
    )


def quicker(device: Device, *, times: float) -> Device:
    """The same device, of which every product is so many times as fast."""
    tops = {each.name: getattr(device.peak, each.name) for each in fields(Peak)}
    more = {name: times * top for name, top in tops.items() if top is not None}
    best = None if device.matmul is None else times * device.matmul
    return replace(device, peak=replace(device.peak, **more), matmul=best)


def _device(known: Setting, plans: PlanTable, device: Device) -> Floats:
    """Seconds of every operator on a device, both passes of one micro-batch. [operator]"""
    workload, operators = known.workload, known.operators
    work = DeviceWork(
        operators=operators,
        share=share_of(operators, plans),
        micro_batch=plans.micro_batch,
        precision=workload.precision,
        added_to=workload.gradients.held_bytes,
    )
    rate = rates(device, workload.precision, known.coefficients, software=known.software)
    found = operator_times(work, rate)
    exists = (operators.attention < 0) | (operators.attention == plans.attention)
    both: Floats = ((found.forward + found.backward) * exists)[:, 0]
    return both


def _host(known: Setting, plan: Plan) -> Floats:
    """Seconds in which the host calls every operator, both passes. [operator]"""
    pictures, kinds = known.workload.model.tokens == 1, len(known.workload.model.layers)
    found = np.zeros(len(known.operators.layer))
    for row in range(len(found)):
        one = known.operators.take(np.array([row]))
        each = launches(one, kinds=kinds, rate=known.rate, pictures=pictures)
        found[row] = (each.forward + each.backward)[:, plan.attention].sum()
        if each.experts is not None:
            own = each.experts.forward + each.experts.backward
            found[row] += own[:, plan.attention].sum() / plan.expert
    return found


def _exchanged(known: Setting, plans: PlanTable, priced: Factors) -> Floats:
    """Seconds of what members exchange for every operator, both passes. [operator]"""
    found = np.zeros(len(known.operators.layer))
    width = known.workload.precision.value_bytes
    for transfer in transfers_of(known.operators, plans):
        axis = priced.placements.axes.get(transfer.axis)
        if axis is None:
            continue
        group = axis.take(priced.group)
        for row in np.flatnonzero(transfer.values.any(axis=1)):
            size = transfer.values[row] * width * plans.micro_batch
            copies = transfer.copies if known.software.once else 1
            once = group.seconds(size, transfer.pattern, copies=copies, limit=transfer.limit)
            found[row] += float(np.ravel(transfer.times * once)[0])
    return found


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
