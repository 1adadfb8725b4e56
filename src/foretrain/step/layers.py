"""Layers: what one layer of each kind costs one device for one micro-batch, exchanges included.

These are the factors of the cost model: they read few fields of a plan, so they are priced once
per distinct combination of those, and plans gather from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from foretrain.plan.table import PlanTable
from foretrain.step.collective import Exchange
from foretrain.step.compute import operator_times, slowest, together
from foretrain.step.setting import READS as COMPUTE_READS
from foretrain.step.setting import Part, Setting, amounts_in, by_layer, exists_in
from foretrain.step.strategies import boundary_of, context, recompute, share_of, transfers_of
from foretrain.step.strategies.strategy import Axis, Phase, Transfer
from foretrain.step.work import DeviceWork
from foretrain.trainers.software import Execution

READS = (*COMPUTE_READS, "recompute", "recompute_layers")
"""Fields that a layer depends on; its times also on where the groups of its axes lie."""

AXES: Mapping[Axis, str] = {
    Axis.TENSOR: "tensor",
    Axis.CONTEXT: "context",
    Axis.EXPERT: "expert",
    Axis.EXPERT_TENSOR: "expert",
    Axis.GRID: "halo",
    Axis.GRID_1: "halo",
    Axis.GRID_2: "halo",
    Axis.GRID_3: "halo",
}
"""Axes whose members exchange something for operators, and the part of a step that counts it."""

OPERANDS = 3.0
"""Values that a kernel moves for each one that it adds to another: both, and their sum."""

Floats = NDArray[np.float64]
Groups = Mapping[Axis, Exchange]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LayerMemory:
    """What one layer of each kind takes. [kind, combination]

    Attributes:
        weights: bytes of parameters as they are stored. [holding, kind, combination]
        trained: parameters that are trained. [holding, kind, combination]
        kept: bytes of one micro-batch kept for the backward pass.
        transient: bytes of a layer while it is computed again.
        passing: bytes beside what it keeps while its gradients are found.
        unpacked: bytes of the largest product's weights at the precision in which it reads them,
            where they are stored in fewer.
    """

    weights: Floats
    trained: Floats
    kept: Floats
    transient: Floats
    passing: Floats
    unpacked: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LayerTimes:
    """Seconds of one layer of each kind, one micro-batch. [kind, combination]

    Attributes:
        forward: forward pass, collectives apart.
        backward: backward pass, recomputation and collectives apart.
        recompute: forward work done again, its collectives apart.
        tensor: collectives of the tensor axis in both passes, recomputation included.
        context: exposed exchanges of the context axis, the same.
        expert: exchanges of the expert axis, the same.
        halo: what members of a grid exchange of a picture, the same.
        weights: gradients of weights, part of `backward`.
        weights_spare: those of them that hide nothing yet, if all else that may hide does so first.
        forward_pass: the forward pass, all told.
        backward_pass: the backward pass, all told.
        forward_spare: compute of the forward pass that hides nothing yet.
        backward_spare: the same of the backward pass, recomputation included.
        forward_host: what the host takes to start the kernels of the forward pass.
        backward_host: the same of the backward pass, recomputation included.
        weights_host: the same of gradients of weights, part of `backward_host`.
    """

    forward: Floats
    backward: Floats
    recompute: Floats
    tensor: Floats
    context: Floats
    expert: Floats
    halo: Floats
    weights: Floats
    weights_spare: Floats
    forward_pass: Floats
    backward_pass: Floats
    forward_spare: Floats
    backward_spare: Floats
    forward_host: Floats
    backward_host: Floats
    weights_host: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Exchanged:
    """Seconds of transfers of one pass. [kind, plan]

    Attributes:
        parts: exposed ones, by part of a step.
        hidden: those that compute hides.
        spare: compute, attention apart, that hides nothing yet.
    """

    parts: dict[str, Floats]
    hidden: Floats
    spare: Floats

    @property
    def total(self) -> Floats:
        """All exposed ones, in the order of the parts."""
        first, *others = self.parts.values()
        for part in others:
            first = first + part
        return first


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Computed:
    """Seconds of compute; of what selective recomputation repeats; of what attends. [kind, plan]"""

    forward: Floats
    backward: Floats
    weights: Floats
    chosen: Floats
    forward_core: Floats
    backward_core: Floats


def layer_memory(setting: Setting, plans: PlanTable) -> LayerMemory:
    """What every kind of layer takes, for each row of `plans`."""
    everything, dropped, passing, *sums = by_layer(setting.parts, plans, amounts_in)
    model, value_bytes = setting.workload.model, setting.workload.precision.value_bytes
    boundary = boundary_of(setting.operators, plans)
    inputs = np.array([[layer.input] for layer in model.layers])
    handed = recompute.handed_on(setting.software.keeps, inputs, width=value_bytes)
    staying = partial(
        recompute.kept,
        plans,
        everything=everything,
        dropped=dropped,
        boundary=handed * plans.micro_batch / boundary,
    )
    twice, many = _twice(setting, plans), len(setting.holdings)
    return LayerMemory(
        weights=np.stack(sums[:many]),
        trained=np.stack(sums[many:]),
        kept=staying(part=twice),
        # A layer that is computed again is whole, however many others are not.
        transient=everything - staying(part=np.ceil(twice)),
        passing=passing,
        unpacked=_unpacked(setting, plans),
    )


def layer_compute(setting: Setting, plans: PlanTable) -> Floats:
    """Seconds that one layer of each kind computes in both passes, as its host lets it.

    [kind, plan]
    """
    computed, twice = _computed(setting, plans), _twice(setting, plans)
    again = recompute.repeated(plans, full=computed.forward * twice, selective=computed.chosen)
    started, returned, _ = _launched(setting, plans, {}, twice=twice)
    back = together(computed.backward + again, returned)
    return together(computed.forward, started) + back


def layer_work(setting: Setting, plans: PlanTable) -> Floats:
    """Seconds that a device itself computes for one layer in both passes. [kind, plan]"""
    computed, twice = _computed(setting, plans), _twice(setting, plans)
    again = recompute.repeated(plans, full=computed.forward * twice, selective=computed.chosen)
    return computed.forward + computed.backward + again


def layer_times(setting: Setting, plans: PlanTable, *, groups: Groups) -> LayerTimes:
    """Price every kind of layer for each row of `plans`.

    Args:
        setting: workload, cluster and coefficients.
        plans: distinct combinations of what layers depend on.
        groups: collectives of the axes that exchange something for operators. [plan]
    """
    computed = _computed(setting, plans)
    passes = (computed.forward, computed.forward_core), (computed.backward, computed.backward_core)
    after, before = _exchanged(setting, plans, groups, computed=passes)
    twice = _twice(setting, plans)
    again = recompute.repeated(plans, full=computed.forward * twice, selective=computed.chosen)
    parts = {
        part: seconds + before.parts[part] + seconds * twice
        for part, seconds in after.parts.items()
    }
    forward_exchanges = after.total
    started, returned, learned = _launched(setting, plans, groups, twice=twice)
    return LayerTimes(
        forward=computed.forward,
        backward=computed.backward,
        recompute=again,
        tensor=parts["tensor"],
        context=parts["context"],
        expert=parts["expert"],
        halo=parts["halo"],
        weights=computed.weights,
        weights_spare=np.minimum(computed.weights, before.spare),
        forward_pass=computed.forward + forward_exchanges,
        backward_pass=computed.backward + again + before.total + forward_exchanges * twice,
        forward_spare=computed.forward - after.hidden,
        backward_spare=computed.backward + again - before.hidden - after.hidden * twice,
        forward_host=started,
        backward_host=returned,
        weights_host=learned,
    )


def _exchanged(
    setting: Setting, plans: PlanTable, groups: Groups, *, computed: Sequence[tuple[Floats, Floats]]
) -> list[Exchanged]:
    """The exchanges of both passes, forward first.

    What runs beside attention hides behind it. Of what the tensor axis exchanges a share runs
    beside the products that it belongs to, in parts; of what experts exchange, beside whatever else
    the layer computes. Compute hides nothing twice.

    Args:
        setting: workload, cluster and coefficients.
        plans: distinct combinations of what layers depend on.
        groups: collectives of the axes that exchange something for operators. [plan]
        computed: seconds of each pass, and those of them that attend. [kind, plan]

    Sources: transformer-engine (user buffers); deepseek2024v3, section 3.2.1.
    """
    overlap, software = setting.coefficients.overlap, setting.software
    cuts = software.overlaps and software.execution is Execution.TUNED
    shares = {
        "tensor": overlap.tensor * cuts * (plans.sequence_parallel > 0).astype(np.float64),
        "expert": np.full(len(plans), overlap.experts),
    }
    transfers = [
        (transfer, groups[transfer.axis])
        for transfer in transfers_of(setting.operators, plans)
        if transfer.axis in groups and transfer.values.any()
    ]
    kinds = len(setting.workload.model.layers)
    kernels = context.block_kernels(setting.operators, plans, kinds=kinds)
    moved = OPERANDS * setting.workload.precision.value_bytes * setting.rate.unfused
    found = []
    for phase, (everything, core) in zip(Phase, computed, strict=True):
        mine = [each for each in transfers if each[0].phase is phase]
        parts = {
            part: _seconds(
                setting, plans, [(t, on) for t, on in mine if AXES[t.axis] == part and not t.beside]
            )
            for part in dict.fromkeys(AXES.values())
        }
        beside = _seconds(setting, plans, [(t, on) for t, on in mine if t.beside])
        merged = context.merged(setting.operators, plans, phase, kinds=kinds)
        blocks = kernels * setting.rate.gap + merged * moved / setting.rate.memory
        parts["context"] = parts["context"] + np.maximum(beside - core, 0.0) + blocks
        hidden, spare = np.minimum(beside, core), everything - core
        for part, share in shares.items():
            beside = np.minimum(share * parts[part], spare)
            parts[part] = parts[part] - beside
            spare, hidden = spare - beside, hidden + beside
        found.append(Exchanged(parts=parts, hidden=hidden, spare=spare))
    return found


def _seconds(
    setting: Setting, plans: PlanTable, transfers: list[tuple[Transfer, Exchange]]
) -> Floats:
    """Seconds of some transfers, of the few operators that have any. [kind, plan]"""
    value_bytes = setting.workload.precision.value_bytes
    if not transfers:
        return np.zeros((1, 1))
    total = np.zeros((len(setting.workload.model.layers), len(plans)))
    for transfer, group in transfers:
        for operator in np.flatnonzero(transfer.values.any(axis=1)):
            size = transfer.values[operator] * value_bytes * plans.micro_batch
            copies = transfer.copies if setting.software.once else 1
            once = group.seconds(size, transfer.pattern, copies=copies, limit=transfer.limit)
            seconds = transfer.times * once
            total[setting.operators.layer[operator]] += seconds
    return total


def _launched(
    setting: Setting, plans: PlanTable, groups: Groups, *, twice: Floats
) -> tuple[Floats, Floats, Floats]:
    """What the host takes for both passes, and for gradients of weights. [kind, plan]"""
    kernel = plans.attention.astype(np.intp)

    def of_device(quantity: str) -> Floats:
        common: Floats = getattr(setting.launches, quantity).take(kernel, axis=1)
        if setting.launches.experts is None:
            return common
        # A host starts the kernels of its own device's experts alone.
        experts: Floats = getattr(setting.launches.experts, quantity).take(kernel, axis=1)
        return common + experts / plans.expert

    kinds = len(setting.workload.model.layers)
    blocks = context.block_kernels(setting.operators, plans, kinds=kinds)
    blocks = blocks * setting.rate.calls * setting.rate.launch
    called = _called(setting, plans, groups) if setting.rate.exchange else dict.fromkeys(Phase, 0.0)
    forward = of_device("forward") + blocks + called[Phase.FORWARD]
    backward = of_device("backward") + blocks + called[Phase.BACKWARD]
    again = recompute.repeated(
        plans,
        full=(forward + setting.rate.checkpoint) * twice,
        selective=of_device("chosen") + setting.rate.checkpoint * (of_device("chosen") > 0),
    )
    wait = slowest(plans, setting.coefficients.host.spread)
    return forward * wait, (backward + again) * wait, of_device("weights") * wait


def _called(setting: Setting, plans: PlanTable, groups: Groups) -> dict[Phase, Floats]:
    """Seconds in which the host calls what operators exchange, by pass. [kind, plan]"""
    found = {phase: np.zeros((len(setting.workload.model.layers), len(plans))) for phase in Phase}
    for transfer in transfers_of(setting.operators, plans):
        if transfer.axis in groups:
            calls = setting.rate.exchange * transfer.times * (transfer.values > 0)
            # Row by row: `np.add.at` is ten times as slow, and most operators exchange nothing.
            for row in np.flatnonzero(calls.any(axis=1)):
                found[transfer.phase][setting.operators.layer[row]] += calls[row]
    return found


def _twice(setting: Setting, plans: PlanTable) -> Floats:
    """Part of each kind of layer whose forward pass full recomputation repeats. [kind, plan]"""
    model = setting.workload.model
    whole = np.array([[float(layer.recomputable)] for layer in model.layers])
    return whole * recompute.covered(model, plans)


def _unpacked(setting: Setting, plans: PlanTable) -> Floats:
    """Bytes of the largest weights of each kind of layer that a product unpacks. [kind, plan]"""
    operators, kinds = setting.operators, len(setting.workload.model.layers)
    largest = np.zeros((kinds, len(plans)))
    packed = (operators.matmul & (operators.stored > 0)).ravel()
    if not packed.any():
        return largest
    copies = setting.software.unpacked * setting.workload.precision.value_bytes
    size = copies / share_of(operators, plans).weights
    for operator in np.flatnonzero(packed):
        kind = operators.layer[operator]
        mine = (operators.weights * size)[operator]
        largest[kind] = np.maximum(largest[kind], mine)
    return largest


def _computed(setting: Setting, plans: PlanTable) -> _Computed:
    """Compute of every kind of layer. [kind, plan]"""
    sums = by_layer(setting.parts, plans, partial(_times, setting))
    return _Computed(**dict(zip(_Computed.__dataclass_fields__, sums, strict=True)))


def _times(setting: Setting, part: Part, plans: PlanTable) -> list[Floats]:
    """Seconds of operators, in the order of `_Computed`. [quantity][operator, plan]"""
    operators = part.operators
    work = DeviceWork(
        operators=operators,
        share=share_of(operators, plans),
        micro_batch=plans.micro_batch,
        precision=setting.workload.precision,
        added_to=setting.workload.gradients.held_bytes,
    )
    exists = exists_in(operators, plans)
    times = operator_times(work, setting.rate)
    forward, backward = times.forward * exists, times.backward * exists
    core = operators.attention >= 0
    return [
        forward,
        backward,
        times.weights * exists,
        forward * operators.selective,
        forward * core,
        backward * core,
    ]
