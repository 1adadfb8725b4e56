"""What a step is made of: its seconds, each with a cause, and its memory where it is fullest.

Waterfall: from the time of the model's FLOP alone to the predicted step, each part with a cause.

The first part is the model's FLOP on all devices at their peak, whose share of the step is the MFU.
Then comes what keeps kernels from the peak, and then the parts of the step as they are. Added one
after another they give the step to the last bit.

Alive: when in a step the heaviest device is fullest, and what it holds then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from foretrain.plan.plan import Plan, Recompute
from foretrain.plan.table import table_of
from foretrain.search.explain.differences import OF_TIME, Site
from foretrain.search.explain.limits import BoundBy, SlowestStage
from foretrain.show.table import label
from foretrain.show.words import PARTS, percent
from foretrain.step.held import hold
from foretrain.step.memory import stage_moments
from foretrain.step.peak import MemoryPeak
from foretrain.step.price import model_flop
from foretrain.step.result import Estimate, Parts
from foretrain.step.setting import Setting, amounts_of
from foretrain.step.strategies import share_of
from foretrain.step.work import peak
from foretrain.units import BYTES, SECONDS
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


THROUGHOUT = "with all micro-batches in flight"
"""When memory is fullest of software of which no moments are told apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AliveAt:
    """What the heaviest device holds at one moment of a step, in bytes.

    Attributes:
        when: the moment, in words.
        weights: working copy of the parameters.
        gradients: as they are held then.
        optimizer: its state and master copy.
        activations: kept for the backward pass.
        buffers: everything that passes.
        total: the sum.
    """

    when: str = field(metadata=label("when"))
    weights: float = field(metadata=label("weights", BYTES, group="bytes", spare=1))
    gradients: float = field(metadata=label("gradients", BYTES, group="bytes", spare=1))
    optimizer: float = field(metadata=label("optimizer", BYTES, group="bytes", spare=1))
    activations: float = field(metadata=label("activations", BYTES, group="bytes", spare=1))
    buffers: float = field(metadata=label("buffers", BYTES, group="bytes", spare=1))
    total: float = field(metadata=label("total", BYTES, group="bytes"))


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptBy:
    """What an operator of a layer keeps for its backward pass.

    Attributes:
        layer: in which it stands.
        operator: its name.
        bytes: of one micro-batch, in one such layer on one device.
        share: of what the layer keeps.
    """

    layer: str = field(metadata=label("layer"))
    operator: str = field(metadata=label("operator"))
    bytes: float = field(metadata=label("keeps", BYTES, meaning="of one micro-batch"))
    share: float = field(metadata=label("share", percent, meaning="of what its layer keeps"))


@dataclass(frozen=True, slots=True, kw_only=True)
class FullestMoment:
    """When memory peaks, and what is alive then.

    Attributes:
        stage: of the pipeline that is heaviest, from 0.
        fullest: the moment at which it holds most.
        moments: every moment that may be the fullest, in order; one or two of software whose
            buffers are there for good.
        kept: what the layer that repeats most keeps, the largest first; empty where only its input
            is kept.
    """

    stage: int
    fullest: AliveAt
    moments: tuple[AliveAt, ...]
    kept: tuple[KeptBy, ...]


def fullest_moment(known: Setting, estimate: Estimate, stage: SlowestStage) -> FullestMoment:
    """When the heaviest device of a plan is fullest, and what it holds.

    Args:
        known: workload, cluster and coefficients.
        estimate: of the plan.
        stage: its slowest stage, which says which layer counts.
    """
    plan, heaviest = estimate.plan, estimate.memory.heaviest
    held = hold(known, table_of([plan]))
    many = held.stages(held.every_run)[:, 0].astype(int)
    run = int(np.repeat(np.arange(len(many)), many)[heaviest.stage])
    later = float(heaviest.stage - held.first(run)[0])
    several = stage_moments(known, held, run=run, later=later)
    moments = tuple(
        AliveAt(
            when=(
                MemoryPeak(int(np.ravel(found.phase)[0])).words if len(several) > 1 else THROUGHOUT
            ),
            total=float(np.ravel(found.total)[0]),
            **{
                name: float(np.ravel(getattr(found, name))[0])
                for name in ("weights", "gradients", "optimizer", "activations", "buffers")
            },
        )
        for found in several
    )
    return FullestMoment(
        stage=heaviest.stage,
        fullest=max(moments, key=lambda each: each.total),
        moments=moments,
        kept=_kept(known, plan, stage),
    )


def _kept(known: Setting, plan: Plan, stage: SlowestStage) -> tuple[KeptBy, ...]:
    """What each operator of the commonest layer keeps, but for what is computed again."""
    if plan.recompute is Recompute.FULL and not plan.recompute_layers:
        return ()
    kind = max(range(len(stage.layers)), key=lambda place: stage.layers[place])
    operators, plans = known.operators, table_of([plan])
    share = np.broadcast_to(share_of(operators, plans).kept, (len(operators.layer), 1))
    exists = (operators.attention < 0) | (operators.attention == plan.attention)
    experts = known.workload.model.experts
    kept = amounts_of(operators, known.workload.precision, experts=experts).kept
    dropped = operators.dropped & (plan.recompute is Recompute.SELECTIVE)
    found = (kept * exists * ~dropped * plan.micro_batch / share)[:, 0]
    names = [(each.name, operator.name) for each, operator in known.workload.model.operators]
    mine = [row for row, place in enumerate(operators.layer) if place == kind and found[row] > 0]
    total = float(sum(found[row] for row in mine))
    told = (
        KeptBy(
            layer=names[row][0],
            operator=names[row][1],
            bytes=float(found[row]),
            share=float(found[row]) / total,
        )
        for row in mine
    )
    return tuple(sorted(told, key=lambda each: -each.bytes))
