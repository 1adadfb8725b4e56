"""Words: what plans, parts and numbers are called when people read them."""

from __future__ import annotations

from typing import Final

from foretrain.plan.plan import AXES, Plan, Recompute, Sends, Sharding
from foretrain.plan.study import Objective
from foretrain.units import Quantity
from foretrain.workload.operator import Attention
from foretrain.workload.workload import Workload

LEAST: Final = {
    Objective.TIME: "shortest step",
    Objective.COST: "cheapest step",
    Objective.ENERGY: "least energy per step",
    Objective.MEMORY: "least memory per device",
}
PARTS: Final = {
    "forward": "forward passes",
    "backward": "backward passes",
    "recompute": "forward work done a second time",
    "tensor": "collectives of the tensor axis",
    "pipeline": "sends between stages that no compute hides",
    "bubble": "waiting for other stages",
    "gradients": "reducing gradients, as far as nothing hides it",
    "parameters": "gathering the parameters that other replicas updated",
    "update": "the optimizer's own work",
    "other": "the rounding of the sum",
}
MEMORY: Final = {
    "weights": "working copy of the parameters",
    "gradients": "accumulated gradients",
    "optimizer": "optimizer state and master copy",
    "activations": "what the backward pass still needs, all micro-batches in flight",
    "buffers": "communication, one recomputed layer, the framework's own reserve",
}
_RECOMPUTE: Final = {
    Recompute.NONE: "All activations are kept for the backward pass.",
    Recompute.SELECTIVE: "The attention core is computed again in the backward pass.",
    Recompute.FULL: "Only each layer's input is kept; the backward pass computes layers again.",
}


def percent(share: float) -> str:
    """A fraction as a percentage of two digits: "41 %", "4.1 %"."""
    value = 100 * share
    if 0 < abs(value) < 0.05:
        return "<0.1 %" if value > 0 else ">-0.1 %"
    return f"{value:.0f} %" if abs(value) >= 9.95 else f"{value:.1f} %"


def written(quantity: Quantity, value: float) -> str:
    """A value with its unit, with commas from 10,000 on: "12,500 MUSD"."""
    digits, unit = quantity.write(value).split(" ", 1)
    return f"{f'{int(digits):,}' if digits.isdecimal() and len(digits) > 4 else digits} {unit}"


def count(number: float, thing: str, *, plural: str = "") -> str:
    """A count and its noun: "1 stage", "9,310 plans"; `plural` where an s is not enough."""
    return f"{number:,.0f} {thing if number == 1 else plural or f'{thing}s'}"


def sentences(plan: Plan, workload: Workload) -> tuple[str, ...]:
    """The plan in words, for somebody who does not read "tp8, pp4"."""
    parts = (_tensor(plan), _pipeline(plan), _data(plan, workload), _sharding(plan))
    extras = (_RECOMPUTE[plan.recompute], _software(plan), _order(plan))
    return tuple(part for part in (*parts, *extras) if part)


def _tensor(plan: Plan) -> str:
    if plan.tensor == 1:
        return ""
    tokens = ", which divide the tokens of all other operators too" * plan.sequence_parallel
    return f"Matrix products are split over groups of {plan.tensor} devices{tokens}."


def _pipeline(plan: Plan) -> str:
    if plan.pipeline == 1:
        return ""
    chunks = f" of {plan.interleaving} interleaved chunks each" * (plan.interleaving > 1)
    return f"The layers are cut into {count(plan.pipeline, 'pipeline stage')}{chunks} (1F1B)."


def _data(plan: Plan, workload: Workload) -> str:
    passes = workload.global_batch // (plan.data * plan.micro_batch)
    batches = f"{count(passes, 'micro-batch', plural='micro-batches')} of " * (passes > 1)
    samples = count(plan.micro_batch, "sample")
    if plan.data == 1:
        return f"One copy of the model computes {batches}{samples} per step."
    return f"{plan.data:,} replicas of the model compute {batches}{samples} each per step."


def _sharding(plan: Plan) -> str:
    if plan.sharding is Sharding.NONE or plan.data == 1:
        return ""
    return "The replicas divide the optimizer state among themselves."


def _software(plan: Plan) -> str:
    plain = "Attention runs without a fused kernel." if plan.attention is Attention.PLAIN else ""
    waits = "Stages wait while they send." if plan.sends is Sends.BLOCKING else ""
    return " ".join(part for part in (plain, waits) if part)


def _order(plan: Plan) -> str:
    used = [axis for axis in plan.order if getattr(plan, axis) > 1]
    if len(used) < 2 or plan.order == AXES:
        return ""
    return f"Neighbouring devices share the {used[0]} axis, then {' and then '.join(used[1:])}."
