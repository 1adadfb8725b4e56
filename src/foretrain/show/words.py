"""Words: what plans, parts and numbers are called when people read them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import median_high
from typing import Final, Self

from foretrain.plan.plan import (
    AXES,
    ChannelSplit,
    ContextExchange,
    Offload,
    Plan,
    Recompute,
    Sends,
    Sharding,
)
from foretrain.plan.study import Objective
from foretrain.units import BYTES, DOLLARS, JOULES, SECONDS, Quantity
from foretrain.workload.operator import Attention
from foretrain.workload.workload import Workload

ROUNDING: Final = 1e-7
"""Per cent below a whole that are nothing but the rounding of floats."""

LEAST: Final = {
    Objective.TIME: "shortest step",
    Objective.COST: "cheapest step",
    Objective.ENERGY: "least energy per step",
    Objective.MEMORY: "least memory per device",
}
SPENT: Final = {
    Objective.TIME: SECONDS,
    Objective.COST: DOLLARS,
    Objective.ENERGY: JOULES,
    Objective.MEMORY: BYTES,
}
"""What each objective is measured in."""

PARTS: Final = {
    "forward": "forward passes",
    "backward": "backward passes",
    "recompute": "forward work done a second time",
    "tensor": "collectives of the tensor axis",
    "context": "exchanges of the context axis, as far as nothing hides them",
    "expert": "sending tokens to their experts and back",
    "halo": "exchanging the borders of pictures that devices share",
    "offload": "moving activations and optimizer state to the host and back",
    "host": "waiting for hosts that call operators",
    "pipeline": "sends between stages that no compute hides",
    "bubble": "waiting for other stages",
    "gradients": "reducing gradients, as far as nothing hides it",
    "parameters": "gathering the parameters that other replicas updated",
    "update": "the optimizer's own work",
    "input": "waiting for samples that the hosts read and prepare",
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
    Recompute.SELECTIVE: (
        "What is cheap to compute again (attention core, activations of experts) is computed again "
        "in the backward pass."
    ),
    Recompute.FULL: "Only each layer's input is kept; the backward pass computes layers again.",
}


_OFFLOAD: Final = {
    Offload.NONE: "",
    Offload.OPTIMIZER: "Optimizer state waits in the host's memory, where it is updated.",
    Offload.ACTIVATIONS: "Activations wait in the host's memory for the backward pass.",
    Offload.BOTH: "Optimizer state and activations wait in the host's memory.",
}
_EXCHANGED: Final = {
    ContextExchange.RING: "keys and values go round",
    ContextExchange.ALL_TO_ALL: "attention exchanges tokens for heads",
    ContextExchange.ALL_GATHER: "attention gathers keys and values",
}
_SHARDED: Final = {
    Sharding.NONE: "nothing",
    Sharding.OPTIMIZER: "the optimizer state",
    Sharding.GRADIENTS: "optimizer state and gradients",
    Sharding.PARAMETERS: "optimizer state, gradients and parameters",
}


def percent(share: float) -> str:
    """A fraction as a percentage of two digits: "41 %", "4.1 %"; only a whole is "100 %"."""
    value = 100 * share
    if 0 < abs(value) < 0.05:
        return "<0.1 %" if value > 0 else ">-0.1 %"
    if 99.5 <= value < 100 - ROUNDING:
        return f"{value:.1f} %" if value < 99.95 else ">99.9 %"
    return f"{value:.0f} %" if abs(value) >= 9.95 else f"{value:.1f} %"


LEAST_SHOWN: Final = "<0.0001"
"""In the place of what would need powers of ten in the unit of larger values."""


class Written(str):
    """Values with their units as people read them, which still know what they are.

    So a table can write all values of a column in one unit, whoever wrote them.

    Attributes:
        quantity: what they measure.
        values: in the unit used inside.
        frame: what stands around them, with {} in the place of each, such as "{}/s".
    """

    quantity: Quantity
    values: tuple[float, ...]
    frame: str

    __slots__ = ("frame", "quantity", "values")

    def __new__(cls, quantity: Quantity, *values: float, frame: str, unit: str = "") -> Self:
        """The text, in a unit or in those that suit each value best."""
        amounts = []
        for value in values:
            digits, used = quantity.write(value, unit).split(" ", 1)
            grouped = f"{int(digits):,}" if digits.isdecimal() and len(digits) > 4 else digits
            if unit and "e-" in digits:  # next to nothing beside the others of its column
                grouped = LEAST_SHOWN
            amounts.append(f"{grouped} {used}")
        end = " " + amounts[-1].split(" ", 1)[1]
        shown = [*(each.removesuffix(end) for each in amounts[:-1]), amounts[-1]]
        made = super().__new__(cls, frame.format(*shown))
        made.quantity, made.values, made.frame = quantity, values, frame
        return made

    def within(self, unit: str) -> Written:
        """The same in another unit."""
        return Written(self.quantity, *self.values, frame=self.frame, unit=unit)


def written(quantity: Quantity, value: float, *, frame: str = "{}") -> Written:
    """A value with its unit, with commas from 10,000 on: "12,500 MUSD"."""
    return Written(quantity, value, frame=frame)


def signed(quantity: Quantity, value: float) -> Written:
    """A difference with its sign: "+1.2 s"."""
    return written(quantity, abs(value), frame="+{}" if value > 0 else "-{}")


def signed_percent(share: float) -> str:
    """A difference as a whole percentage: "-50 %"."""
    return f"{100 * share:+.0f} %"


def span(low: float, high: float, quantity: Quantity, *, between: str = "to") -> Written:
    """Two values, the unit once where both have it: "40.4 to 45.1 GiB"."""
    return Written(quantity, low, high, frame=f"{{}} {between} {{}}")


def in_one_unit(
    texts: Sequence[str], *, like: Callable[[Sequence[float]], float] = median_high
) -> tuple[str, ...]:
    """The same texts, those of one quantity in the unit that suits one of them.

    Args:
        texts: of which those that are `Written` change.
        like: of which of the sizes the unit is; the largest where they are parts of a whole.
    """
    found: dict[Quantity, list[float]] = {}
    for text in texts:
        if isinstance(text, Written):
            found.setdefault(text.quantity, []).extend(filter(None, map(abs, text.values)))
    units = {it: it.unit_of(like(values)) for it, values in found.items() if values}
    return tuple(
        text.within(units[text.quantity])
        if isinstance(text, Written) and text.quantity in units
        else text
        for text in texts
    )


def per_second(rate: float) -> str:
    """Samples per second: "3,649", "11.2"."""
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"


def whole(number: float) -> str:
    """A count: "9,310"."""
    return f"{number:,}"


def count(number: float, thing: str, *, plural: str = "") -> str:
    """A count and its noun: "1 stage", "9,310 plans"; `plural` where an s is not enough."""
    shown = f"{number:,.0f}"
    return f"{shown} {thing if shown == '1' else plural or f'{thing}s'}"


def _divided(plan: Plan, workload: Workload) -> Iterator[tuple[bool, str]]:
    """How devices share an operator and a sample, each with whether they do."""
    tokens = ", which divide the tokens of all other operators too" * plan.sequence_parallel
    convolved = any(operator.filters for _, operator in workload.model.operators)
    by = "filters" if plan.convolutions is ChannelSplit.FILTER else "channels"
    divided = f"The {by} of convolutions" if convolved else "Matrix products"
    sides = " x ".join(map(str, plan.grid))
    how = f"in a grid of {sides} over its pixels" if plan.grid else _EXCHANGED[plan.exchange]
    front = f"Both as far as {count(plan.split, 'layer')} of the network's front go."
    yield plan.tensor > 1, f"{divided} are split over groups of {plan.tensor} devices{tokens}."
    shared = f"Each sample is shared by {plan.context} devices{'' if plan.grid else ';'} {how}."
    yield plan.context > 1, shared
    yield plan.split > 0 and (plan.tensor > 1 or bool(plan.grid)), front


def sentences(plan: Plan, workload: Workload) -> tuple[str, ...]:
    """The plan in words, for somebody who does not read "tp8, pp4"."""
    chunks = f" of {plan.interleaving} interleaved chunks each" * (plan.interleaving > 1)
    uneven = "" if plan.cut == "even" else ", not all of the same number of layers"
    stages = f"{count(plan.pipeline, 'pipeline stage')}{chunks} ({plan.schedule.label}){uneven}"
    passes = workload.global_batch // (plan.data * plan.micro_batch)
    batches = f"{count(passes, 'micro-batch', plural='micro-batches')} of " * (passes > 1)
    samples = f"{batches}{count(plan.micro_batch, 'sample')}"
    one_copy = f"One copy of the model computes {samples} per step."
    replicas = f"{plan.data:,} replicas of the model compute {samples} each per step."
    split = f", {plan.expert_tensor} to each" * (plan.expert_tensor > 1)
    shared = plan.sharding is not Sharding.NONE and plan.data * plan.context > 1
    among = f" in groups of {plan.shard}" if plan.shard else ""
    layers = count(plan.recompute_layers, "layer")
    some = f"Of {layers} only the input is kept; the backward pass computes them again."
    offloaded = count(plan.offload_layers, "layer")
    away = f" Activations are those of {offloaded}." if plan.offload_layers else ""
    habits = ["Attention runs without a fused kernel."] * (plan.attention is Attention.PLAIN)
    habits += ["Stages wait while they send."] * (plan.sends is Sends.BLOCKING)
    used = [axis for axis in plan.order if getattr(plan, axis) > 1]
    order = " axis, then ".join([*used[:1], " and then ".join(used[1:])])
    told = (
        *_divided(plan, workload),
        (plan.pipeline > 1, f"The layers are cut into {stages}."),
        (True, one_copy if plan.data == 1 else replicas),
        (plan.expert > 1, f"Experts are spread over {plan.expert} devices{split}."),
        (shared, f"The replicas divide {_SHARDED[plan.sharding]} among themselves{among}."),
        (True, some if plan.recompute_layers else _RECOMPUTE[plan.recompute]),
        (plan.offload is not Offload.NONE, _OFFLOAD[plan.offload] + away),
        (bool(habits), " ".join(habits)),
        (len(used) > 1 and plan.order != AXES, f"Neighbouring devices share the {order}."),
    )
    return tuple(sentence for holds, sentence in told if holds)
