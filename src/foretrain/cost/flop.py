"""FLOP of a model and of a plan, by the convention that published utilisations follow.

Attention counts in full (no masked half is skipped), a backward pass is two forward passes, and
recomputed work belongs to the hardware's FLOP only, once (korthikanti2022 counts the attention core
that is computed again three times).

Source: chowdhery2022, appendix B (model FLOP utilisation).
"""

from __future__ import annotations

from collections.abc import Callable

from foretrain.plan.plan import Plan, Recompute
from foretrain.workload.graph import Layer, Model
from foretrain.workload.operator import Attention, Operator


def model_flop(model: Model) -> float:
    """FLOP of one sample's forward and backward pass; frozen weights have no gradient."""
    return sum(
        layer.repeats * (operator.flop + operator.backward_flop)
        for layer, operator in model.operators
        if operator.attention is not Attention.FLASH
    )


def recomputed_flop(model: Model, plan: Plan) -> float:
    """FLOP of one sample that a plan computes a second time."""
    if plan.recompute is Recompute.FULL:
        part = plan.recompute_layers / model.cuttable_layers if plan.recompute_layers else 1.0
        return part * _sum(model, lambda layer, _operator: layer.recomputable)
    if plan.recompute is Recompute.SELECTIVE:
        kernels = (None, plan.attention)
        return _sum(model, lambda _layer, each: each.selective and each.attention in kernels)
    return 0.0


def _sum(model: Model, chosen: Callable[[Layer, Operator], bool]) -> float:
    return sum(
        layer.repeats * operator.flop
        for layer, operator in model.operators
        if operator.attention is not Attention.FLASH and chosen(layer, operator)
    )
