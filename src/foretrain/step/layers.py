"""Layers: what one layer of each kind costs one device for one micro-batch.

These are the factors of the cost model: they read few fields of a plan, so they are priced once
per distinct combination of those, and plans gather from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from foretrain.plan.table import PlanTable, Rows
from foretrain.step.compute import DeviceWork, Launches, operator_times
from foretrain.step.exchanges import Computed, Groups, block_kernels, exchanged
from foretrain.step.parts import READS as COMPUTE_READS
from foretrain.step.parts import Part, by_layer
from foretrain.step.setting import Setting
from foretrain.step.strategies import recompute, share_of
from foretrain.workload.columns import Operators

READS = (*COMPUTE_READS, "recompute", "recompute_layers")
"""Fields that a layer depends on; its times also on where the groups of its axes lie."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LayerMemory:
    """What one layer of each kind takes. [kind, combination]

    Attributes:
        weights: bytes of parameters as they are stored. [holding, kind, combination]
        trained: parameters that are trained. [holding, kind, combination]
        kept: bytes of one micro-batch kept for the backward pass.
        transient: bytes of a layer while it is computed again.
        unpacked: bytes of the largest product's weights at the precision in which it reads them,
            where they are stored in fewer.
    """

    weights: Floats
    trained: Floats
    kept: Floats
    transient: Floats
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
        weights: gradients of weights, part of `backward`.
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
    weights: Floats
    forward_pass: Floats
    backward_pass: Floats
    forward_spare: Floats
    backward_spare: Floats
    forward_host: Floats
    backward_host: Floats
    weights_host: Floats


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
    everything, dropped, *sums = by_layer(setting.parts, plans, _amounts)
    model, value_bytes = setting.workload.model, setting.workload.precision.value_bytes
    boundary = share_of(_none_of(setting.operators), plans).boundary
    inputs = np.array([[layer.input] for layer in model.layers])
    staying = partial(
        recompute.kept,
        plans,
        everything=everything,
        dropped=dropped,
        boundary=inputs * value_bytes * plans.micro_batch / boundary,
    )
    twice, many = _twice(setting, plans), len(setting.holdings)
    return LayerMemory(
        weights=np.stack(sums[:many]),
        trained=np.stack(sums[many:]),
        kept=staying(part=twice),
        # A layer that is computed again is whole, however many others are not.
        transient=everything - staying(part=np.ceil(twice)),
        unpacked=_unpacked(setting, plans),
    )


@lru_cache(maxsize=16)
def _none_of(operators: Operators) -> Operators:
    """No operator, for what a plan divides beside them."""
    return operators.take(np.arange(0))


def layer_compute(setting: Setting, plans: PlanTable) -> Floats:
    """Seconds that one layer of each kind computes in both passes. [kind, plan]"""
    computed = _computed(setting, plans)
    full = computed.forward * _twice(setting, plans)
    again = recompute.repeated(plans, full=full, selective=computed.chosen)
    return computed.forward + computed.backward + again


def layer_times(setting: Setting, plans: PlanTable, *, groups: Groups) -> LayerTimes:
    """Price every kind of layer for each row of `plans`.

    Args:
        setting: workload, cluster and coefficients.
        plans: distinct combinations of what layers depend on.
        groups: collectives of the axes that exchange something for operators. [plan]
    """
    computed = _computed(setting, plans)
    after, before = exchanged(
        setting,
        plans,
        groups,
        computed=(
            Computed(all=computed.forward, core=computed.forward_core),
            Computed(all=computed.backward, core=computed.backward_core),
        ),
    )
    twice = _twice(setting, plans)
    again = recompute.repeated(plans, full=computed.forward * twice, selective=computed.chosen)
    parts = {
        part: seconds + before.parts[part] + seconds * twice
        for part, seconds in after.parts.items()
    }
    forward_exchanges = after.total
    started, returned, learned = _launched(setting, plans, twice=twice)
    return LayerTimes(
        forward=computed.forward,
        backward=computed.backward,
        recompute=again,
        tensor=parts["tensor"],
        context=parts["context"],
        expert=parts["expert"],
        weights=computed.weights,
        forward_pass=computed.forward + forward_exchanges,
        backward_pass=computed.backward + again + before.total + forward_exchanges * twice,
        forward_spare=computed.forward - after.hidden,
        backward_spare=computed.backward + again - before.hidden - after.hidden * twice,
        forward_host=started,
        backward_host=returned,
        weights_host=learned,
    )


def _launched(
    setting: Setting, plans: PlanTable, *, twice: Floats
) -> tuple[Floats, Floats, Floats]:
    """What the host takes to start the kernels of both passes, and of weights. [kind, plan]"""
    kernel = plans.attention.astype(np.intp)
    forward, backward, chosen, weights = (
        _of_device(setting.launches, quantity, plans, kernel=kernel)
        for quantity in ("forward", "backward", "chosen", "weights")
    )
    blocks = block_kernels(setting, plans) * setting.rate.launch
    again = recompute.repeated(plans, full=(forward + blocks) * twice, selective=chosen)
    return forward + blocks, backward + blocks + again, weights


def _of_device(known: Launches, quantity: str, plans: PlanTable, *, kernel: Rows) -> Floats:
    """Seconds of the host, which starts the kernels of its device's experts alone. [kind, plan]"""
    common: Floats = getattr(known, quantity).take(kernel, axis=1)
    if known.experts is None:
        return common
    experts: Floats = getattr(known.experts, quantity).take(kernel, axis=1)
    return common + experts / plans.expert


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


def _amounts(part: Part, plans: PlanTable) -> list[Floats]:
    """Bytes kept, those of them that are dropped, weights and trained parameters, by holding."""
    operators, amounts = part.operators, part.amounts
    share = share_of(operators, plans)
    kept = amounts.kept * _exists(operators, plans) * plans.micro_batch / share.kept
    held = [each / share.weights for each in (*amounts.weights, *amounts.trained)]
    return [kept, kept * operators.dropped, *held]


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
    exists = _exists(operators, plans)
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


def _exists(operators: Operators, plans: PlanTable) -> NDArray[np.bool_]:
    """Which operators a plan's attention kernel has. [operator, plan]"""
    exists: NDArray[np.bool_] = operators.attention == plans.attention
    return exists | (operators.attention < 0)
