"""Alive: when in a step the heaviest device is fullest, and what it holds then."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from foretrain.plan.plan import Plan, Recompute
from foretrain.plan.table import table_of
from foretrain.search.explain.limits import SlowestStage
from foretrain.show.table import label
from foretrain.show.words import percent
from foretrain.step.held import hold
from foretrain.step.memory import stage_moments
from foretrain.step.peak import MemoryPeak
from foretrain.step.result import Estimate
from foretrain.step.setting import Setting, amounts_of
from foretrain.step.strategies import share_of
from foretrain.units import BYTES

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
