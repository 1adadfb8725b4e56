"""Layers: what one layer of each kind costs one device for one micro-batch.

These are the factors of the cost model: they read few fields of a plan, so they are priced once
per distinct combination of those, and plans gather from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretrain.cost.collective import Exchange, exchange
from foretrain.cost.compute import Work, operator_times
from foretrain.cost.setting import Setting
from foretrain.plan.table import Column, PlanTable, distinct
from foretrain.strategies import STRATEGIES, recompute, share_of, transfers_of
from foretrain.strategies.strategy import Phase
from foretrain.workload.columns import Operators

COMPUTE_READS = (
    *dict.fromkeys(field for strategy in STRATEGIES.values() for field in strategy.reads),
    "micro_batch",
    "attention",
)
"""Fields of a plan that the compute of a layer depends on."""

READS = (*COMPUTE_READS, "recompute")
"""Fields that a layer depends on; its times also on the placement of the tensor axis."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LayerMemory:
    """What one layer of each kind takes. [kind, combination]

    Attributes:
        weights: parameters.
        kept: bytes of one micro-batch kept for the backward pass.
        transient: bytes of a layer while it is computed again.
    """

    weights: Floats
    kept: Floats
    transient: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LayerTimes:
    """Seconds of one layer of each kind, one micro-batch. [kind, combination]

    Attributes:
        forward: forward pass, collectives apart.
        backward: backward pass, recomputation and collectives apart.
        recompute: forward work done again, its collectives apart.
        tensor: collectives of the tensor axis in both passes, recomputation included.
        forward_pass: the forward pass, all told.
        backward_pass: the backward pass, all told.
    """

    forward: Floats
    backward: Floats
    recompute: Floats
    tensor: Floats
    forward_pass: Floats
    backward_pass: Floats


def layer_memory(setting: Setting, plans: PlanTable) -> LayerMemory:
    """What every kind of layer takes, for each row of `plans`."""
    operators, value_bytes = setting.operators, setting.workload.precision.value_bytes
    share = share_of(operators, plans)
    size = operators.kept_values * value_bytes + operators.kept_fixed
    kept = size * _exists(operators, plans) * plans.micro_batch / share.kept
    everything, dropped, weights = _sums(
        setting, [kept, kept * operators.selective, operators.weights / share.weights]
    )
    stays = np.empty_like(everything)
    for kind, layer in enumerate(setting.workload.model.layers):
        boundary = layer.input * value_bytes * plans.micro_batch / share.boundary
        stays[kind] = recompute.kept(
            plans,
            everything=everything[kind],
            dropped=dropped[kind],
            boundary=boundary if layer.recomputable else everything[kind],
        )
    return LayerMemory(weights=weights, kept=stays, transient=everything - stays)


def layer_times(setting: Setting, plans: PlanTable, *, inside: Sequence[Column]) -> LayerTimes:
    """Price every kind of layer for each row of `plans`.

    Args:
        setting: workload, cluster and coefficients.
        plans: distinct combinations of what layers depend on.
        inside: members of the tensor axis inside each level. [level][plan]
    """
    first, second, chosen = _computed(setting, plans)
    group = exchange(inside, setting.network)
    after, before = _sums(setting, [_exchanged(setting, plans, group, phase=p) for p in Phase])
    whole = np.array([[float(layer.recomputable)] for layer in setting.workload.model.layers])
    again = recompute.repeated(plans, full=first * whole, selective=chosen)
    gathered = recompute.repeated(plans, full=after * whole, selective=np.zeros(1))
    return LayerTimes(
        forward=first,
        backward=second,
        recompute=again,
        tensor=after + before + gathered,
        forward_pass=first + after,
        backward_pass=second + again + before + gathered,
    )


def _computed(setting: Setting, plans: PlanTable) -> Floats:
    """Forward pass, backward pass, selective operators' forward pass. [3, kind, plan]

    They depend on fewer fields than the rest, so they are priced once for each of fewer rows.
    """
    rows, index = distinct([getattr(plans, name) for name in COMPUTE_READS])
    few, operators = plans.take(rows), setting.operators
    work = Work(
        operators=operators,
        share=share_of(operators, few),
        micro_batch=few.micro_batch,
        value_bytes=setting.workload.precision.value_bytes,
    )
    exists = _exists(operators, few)
    forward, backward = (seconds * exists for seconds in operator_times(work, setting.rate))
    return _sums(setting, [forward, backward, forward * operators.selective])[..., index]


def _exists(operators: Operators, plans: PlanTable) -> NDArray[np.bool_]:
    """Which operators a plan's attention kernel has. [operator, plan]"""
    exists: NDArray[np.bool_] = operators.attention == plans.attention
    return exists | (operators.attention < 0)


def _exchanged(setting: Setting, plans: PlanTable, group: Exchange, *, phase: Phase) -> Floats:
    """Seconds of what the tensor axis exchanges for each operator. [operator, plan]"""
    value_bytes = setting.workload.precision.value_bytes
    seconds = np.zeros(())
    for transfer in transfers_of(setting.operators, plans):
        if transfer.phase is phase:
            size = transfer.values * value_bytes * plans.micro_batch
            seconds = seconds + transfer.times * group.seconds(size, transfer.pattern)
    return seconds


def _sums(setting: Setting, values: Sequence[Floats]) -> Floats:
    """Operators added up by layer, in their order, so that no row depends on its table.

    Args:
        setting: the model's layers.
        values: quantities of every operator. [quantity][operator, plan]

    Returns:
        The same of every kind of layer. [quantity, kind, plan]
    """
    every = np.stack(values)
    totals = np.zeros((len(values), len(setting.workload.model.layers), every.shape[-1]))
    for position, kind in enumerate(setting.operators.layer):
        totals[:, kind] += every[:, position]
    return totals
