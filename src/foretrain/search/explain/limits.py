"""Limits: what bounds each operator on the slowest stage of a plan.

What limits the kernels of an operator is found by asking its formula twice: with a device that
computes a tenth faster, and with one whose memory does. Whichever helps more is what it waits for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from foretrain.cluster.device import Device, Peak
from foretrain.plan.plan import Plan
from foretrain.plan.table import PlanTable, table_of
from foretrain.show.table import label
from foretrain.show.words import percent
from foretrain.step.compute import launches, operator_times
from foretrain.step.held import hold
from foretrain.step.rates import rates
from foretrain.step.schedule import straggling
from foretrain.step.setting import Setting
from foretrain.step.step import Factors, factors, stage_columns
from foretrain.step.strategies import share_of, transfers_of
from foretrain.step.work import DeviceWork
from foretrain.units import SECONDS

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
