"""Waterfall: from the time of the model's FLOP alone to the predicted step, each part with a cause.

The first part is the model's FLOP on all devices at their peak, whose share of the step is the MFU.
Then comes what keeps kernels from the peak, and then the parts of the step as they are. Added one
after another they give the step to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields

from foretrain.search.explain.differences import OF_TIME, Site
from foretrain.search.explain.limits import BoundBy, SlowestStage
from foretrain.show.table import label
from foretrain.show.words import PARTS, percent
from foretrain.step.price import model_flop
from foretrain.step.result import Estimate, Parts
from foretrain.step.setting import Setting
from foretrain.step.work import peak
from foretrain.units import SECONDS
from foretrain.workload.graph import Layer
from foretrain.workload.operator import Attention

COMPUTED = ("forward", "backward")
"""Parts of a step that the first steps of the waterfall stand for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fall:
    """One step of the waterfall.

    Attributes:
        name: a part of the step, or what keeps kernels from the peak.
        seconds: that it adds; below 0 where it saves.
        until: seconds up to and with it; of the last one the step.
        share: of the step.
        cause: what makes it as large as it is, in words.
    """

    name: str = field(metadata=label("part"))
    seconds: float = field(metadata=label("adds", SECONDS, group="amount"))
    until: float = field(metadata=label("until", SECONDS, group="amount", spare=1))
    share: float = field(metadata=label("share", percent, meaning="of the step"))
    cause: str = field(metadata=label("cause"))


def waterfall(known: Setting, estimate: Estimate, stage: SlowestStage) -> tuple[Fall, ...]:
    """The falls from ideal compute to the predicted step.

    Args:
        known: workload, cluster and coefficients.
        estimate: of a plan.
        stage: its slowest stage.
    """
    site = Site(plan=estimate.plan, cluster=known.cluster, workload=known.workload)
    parts = [*_computed(known, estimate, stage), *_others(site, estimate.parts)]
    return added(parts, estimate.step_time)


def added(parts: Sequence[tuple[str, float, str]], total: float) -> tuple[Fall, ...]:
    """Parts one after another; what rounding leaves of the total is a part of its own.

    Args:
        parts: name, seconds and cause of each; those of 0 s are left out.
        total: what they add up to but for the rounding of floats.
    """
    found: list[Fall] = []
    until = 0.0
    for name, seconds, cause in parts:
        if seconds:
            until += seconds
            found.append(_fall(name, seconds, cause, until=until, total=total))
    # Near the total the difference is exact, so that the sum ends on it.
    if until != total:
        rest = total - until
        found.append(_fall("rounding", rest, "of sums of floats", until=until + rest, total=total))
    return tuple(found)


def _fall(name: str, seconds: float, cause: str, *, until: float, total: float) -> Fall:
    return Fall(name=name, seconds=seconds, until=until, share=seconds / total, cause=cause)


def _computed(
    known: Setting, estimate: Estimate, stage: SlowestStage
) -> Iterator[tuple[str, float, str]]:
    """What forward and backward passes consist of, from the FLOP of the model on."""
    workload, device = known.workload, known.cluster.device
    model, top = workload.model, peak(device, workload.precision)
    flop = workload.global_batch * model_flop(model)
    ideal = flop / (top * estimate.devices)
    told = f"{flop:.3g} FLOP of the model at the {workload.precision.peak} peak"
    yield "ideal compute", ideal, told
    # Of the layers of the slowest stage, divided among its devices without loss.
    each = zip(stage.layers, model.layers, strict=True)
    mine = sum(count * layer_flop(layer) for count, layer in each)
    stages = estimate.plan.pipeline
    heaviest = mine * workload.global_batch * stages / (top * estimate.devices)
    if stages > 1:
        why = f"the slowest of {stages} stages has {percent(heaviest / ideal - 1.0)} more to do"
        yield "uneven stages", heaviest - ideal, why
    # What the trainer leaves open moves all parts alike.
    device_seconds = sum(it.device for it in stage.operators)
    whole = estimate.parts.forward + estimate.parts.backward
    scale = whole / device_seconds
    by = {kind: scale * _seconds(stage, kind) for kind in BoundBy}
    slower = stage.straggling
    products = by[BoundBy.COMPUTE] / slower
    reached = heaviest / products if products else 0.0
    told = f"products and attention reach {percent(reached)} of it"
    yield "below the peak", products - heaviest, told
    names = _longest(stage, BoundBy.MEMORY)
    yield "memory traffic", by[BoundBy.MEMORY] / slower, f"kernels that move data: {names}"
    yield "as measured", by[BoundBy.MEASURED] / slower, "operators that somebody measured"
    late = percent(slower - 1.0)
    yield "stragglers", whole - whole / slower, f"the slowest replica takes {late} longer"


def layer_flop(layer: Layer) -> float:
    """FLOP of one sample's passes through one layer, by the convention of `model_flop`."""
    return sum(
        operator.flop + operator.backward_flop
        for operator in layer.operators
        if operator.attention is not Attention.FLASH
    )


def _seconds(stage: SlowestStage, kind: BoundBy) -> float:
    return sum(it.device for it in stage.operators if it.kernels is kind)


NAMED = 2
"""Operators that a cause names."""


def _longest(stage: SlowestStage, kind: BoundBy) -> str:
    """The operators of a kind that take longest."""
    mine = sorted((it for it in stage.operators if it.kernels is kind), key=lambda it: -it.device)
    return ", ".join(dict.fromkeys(it.operator for it in mine[:NAMED]))


def _others(site: Site, parts: Parts) -> Iterator[tuple[str, float, str]]:
    """The parts of a step that are no forward or backward pass."""
    for each in fields(Parts):
        if each.name not in COMPUTED:
            says = OF_TIME.get(each.name)
            cause = PARTS[each.name] if says is None else says(site)
            yield each.name, getattr(parts, each.name), cause
