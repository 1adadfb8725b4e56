"""Peaks: what a stage holds, moment by moment.

Peaks: what a stage holds in a step, and at which moment that is most.

Weights and optimizer state are always there, divided among those who share them. What else is there
depends on the moment: activations of micro-batches in flight are freed as gradients come, the loss
goes before a layer is computed again, and an update comes when no activation is left.

Source: rajbhandari2020, section 3 (what belongs to parameters, and who has which part of it).

Software that frees what it is done with: what is alive at each moment of a step.

What of a model autograd keeps stands in `workload.eager`; here stands when it goes, and what of
parameters and gradients is whole for a moment. Counts are those of PyTorch, as `python -m
validation.allocated` sees them without a device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import IntEnum

import numpy as np

from foretrain.plan.plan import Sharding
from foretrain.plan.table import Column, Flags, Rows
from foretrain.step.held import Held, Run
from foretrain.step.placements import replicas_of
from foretrain.step.setting import Holding, Setting
from foretrain.step.strategies import owners_of
from foretrain.step.strategies import recompute as offload
from foretrain.step.strategies.data import among
from foretrain.step.strategies.pipeline import in_flight


class MemoryPeak(IntEnum):
    """Moments of a step at which memory may be fullest."""

    LOSS = 0
    """The forward pass has ended and the backward pass begins with the loss."""
    FIRST_LAYER = 1
    """The backward pass is in its first layer, the last of the model."""
    LAST_LAYER = 2
    """It is in its last layer, the first of the model."""
    REDUCTION = 3
    """Gradients of what stands around the layers are reduced, as the last ones."""
    UPDATE = 4
    """The optimizer works on all parameters."""

    @property
    def words(self) -> str:
        """For people."""
        return _WORDS[self]


_WORDS = {
    MemoryPeak.LOSS: "at the loss, between forward and backward pass",
    MemoryPeak.FIRST_LAYER: "as the backward pass begins, with all activations",
    MemoryPeak.LAST_LAYER: "as the backward pass ends, with all gradients",
    MemoryPeak.REDUCTION: "as the gradients of embedding and head are reduced",
    MemoryPeak.UPDATE: "in the optimizer's update",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Moment:
    """Bytes beside weights and optimizer state at one moment. [plan] or [run, plan]

    Attributes:
        gradients: as they are held until the update.
        activations: kept for the backward pass.
        buffers: everything that passes.
    """

    gradients: Column
    activations: Column
    buffers: Column

    @property
    def total(self) -> Column:
        """Their sum."""
        return self.gradients + self.activations + self.buffers


def fullest(moments: Sequence[Moment]) -> tuple[Moment, Rows]:
    """The moment with the largest total, the first of equals, and which of them that is."""
    most, *others = moments
    at: Rows = np.zeros(1, np.intp)
    for place, moment in enumerate(others, 1):
        fuller = moment.total > most.total
        at = np.where(fuller, place, at)
        most = Moment(
            **{
                each.name: np.where(fuller, getattr(moment, each.name), getattr(most, each.name))
                for each in fields(Moment)
            }
        )
    return most, at


Stage = tuple[Run, Column | float]
"""A run of equal stages, and the stages of it before the one that is meant."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class State:
    """Bytes of what belongs to parameters, wherever it is. [plan]

    Attributes:
        weights: working copy.
        gradients: accumulated gradients.
        feedback: what a lossy codec adds to the next step's gradients.
        optimizer: state and master copy.
        moment: the roots that an update of all parameters at once takes.
    """

    weights: Column
    gradients: Column
    feedback: Column
    optimizer: Column
    moment: Column


def state_of(setting: Setting, held: Held, *, run: Run) -> State:
    """What belongs to the parameters of a stage. [plan]

    Parameters that are sharded and never dropped during a step are whole until the update.
    """
    workload, plans = setting.workload, held.plans
    codec, optimizer, software = workload.gradients, workload.optimizer, setting.software
    stays = (plans.sharding == Sharding.PARAMETERS) & (plans.reshard == 0) & ~software.phased
    # Parameters of fp32 are the copy that the optimizer updates, and have gradients like them.
    is_wide, master, held_bytes = wide(setting), workload.master_bytes, codec.held_bytes
    wider = master / workload.precision.value_bytes if is_wide else 1.0
    weights, trained, reduced, owned = (np.zeros(1) for _ in range(4))
    for holding in setting.holdings:
        owners = owners_of(plans, replicas_of(plans, holding))
        mine, parts = held.trained(run, holding), 1.0 if software.waits else owners.gradients
        weights = weights + held.weights(run, holding) / np.where(stays, 1.0, owners.weights)
        trained = trained + mine
        reduced = reduced + held.graded(run, holding) / parts
        owned = owned + mine / owners.optimizer
    return State(
        weights=weights * wider,
        gradients=reduced * (master if is_wide else held_bytes),
        feedback=trained * codec.kept_bytes,
        optimizer=owned * (optimizer.state_bytes + (0.0 if is_wide else master)),
        moment=owned * optimizer.root_bytes,
    )


def wide(setting: Setting) -> bool:
    """Whether parameters are held in fp32, of which passes of 16 bits make copies."""
    return setting.software.wide_parameters and setting.workload.master_bytes > 0


def here_of(setting: Setting, held: Held, stage: Stage) -> tuple[Column, Column]:
    """Bytes kept of layers that can be cut, and of those that are on their way to the host."""
    run, later = stage
    away = offload.of_activations(setting.workload.model, held.plans)
    kept = kept_of(setting, held, run=run, later=later)
    moving = np.minimum(2.0 * held.of_stage("moving", run), kept * away)
    return kept * (1.0 - away), moving


def kept_of(setting: Setting, held: Held, *, run: Run, later: Column | float) -> Column:
    """Bytes that micro-batches in flight keep. [plan]"""
    flight = in_flight(
        held.plans,
        position=held.first(run) + later,
        micro_batches=setting.workload.micro_batches(held.plans.data, held.plans.micro_batch),
    )
    return flight * held.of_stage("kept", run)


PHASES = (
    MemoryPeak.LOSS,
    MemoryPeak.FIRST_LAYER,
    MemoryPeak.FIRST_LAYER,
    MemoryPeak.LAST_LAYER,
    MemoryPeak.REDUCTION,
    MemoryPeak.UPDATE,
)
"""Of the moments, in their order."""

DIVIDED_LOSS = 12 / 8
"""Bytes that pass by a logit in PyTorch's `loss_parallel`, over those in its usual loss."""

EARLY = 0.25
"""Part of a layer's gradients that is there while nearly all of its activations are: those of the
last product, about a quarter of its parameters."""


def freed_moments(setting: Setting, held: Held, *, state: State, stage: Stage) -> list[Moment]:
    """The moments of a step that may be the fullest, in order.

    Gradients of as many micro-batches as are in flight come as activations go; where there are
    more, they stay. A layer whose parameters are sharded is whole while it computes, beside the
    one that comes next and the gradients of the one before, on their way to those who own them.
    What stands around the layers stays whole until its backward pass is done (PyTorch's root).
    """
    plans, software, (run, later) = held.plans, setting.software, stage
    here, moving = here_of(setting, held, stage)
    brief = held.of_stage("unpacked", run) + moving
    passes = setting.workload.micro_batches(plans.data, plans.micro_batch)
    flight = in_flight(plans, position=held.first(run) + later, micro_batches=passes)
    stays, others = passes > flight, here * (flight - 1.0) / flight
    layer = here / (flight * np.maximum(held.of_stage("layers", run), 1.0))
    part = _parted(setting, held, run=run)
    every = state.gradients * ~offload.of_gradients(plans) + part.repeated
    if software.stepwise:
        # Of two layers, one of which is updated while the other has its backward pass.
        every = np.minimum(every, _two_layers(setting, held, run=run))
    passing, after = _working(held, part, run=run, stays=stays, kept=(layer, brief))

    def moment(gradients: Column, activations: Column, buffers: Column) -> Moment:
        whole = np.where(stays, every, np.minimum(gradients, every)) + state.feedback
        return Moment(gradients=whole, activations=activations, buffers=buffers)

    zero, early = np.zeros(1), np.where(part.apart | stays, 0.0, EARLY * part.layer)
    first = part.last + early
    root = state.moment * (not (software.stepwise or software.fused_update))
    at_loss = _at_loss(setting, held, run=run) + brief + part.around + part.next
    return [
        moment(zero, here + held.of_stage("met", run) + part.casts, at_loss),
        moment(first, here + part.casts, passing),
        moment(
            first + part.layer * ~part.apart,
            np.maximum(here - layer, 0.0) + part.casts,
            after + part.sent,
        ),
        moment(
            # Of the second of several in flight, gradients of the first are there.
            np.where(flight > 1.0, every, np.maximum(every - part.own, 0.0)),
            others + np.minimum(layer, here),
            after + part.sent,
        ),
        moment(every, others, part.reduction),
        moment(every, zero, root),
    ]


def _at_loss(setting: Setting, held: Held, *, run: Run) -> Column:
    """What passes by logits; the loss of divided ones has one more of its four copies."""
    keeps, leaving = setting.software.keeps, held.of_stage("leaving", run)
    if keeps is None or not keeps.gathered:
        return leaving
    return leaving * np.where(held.plans.tensor > 1, DIVIDED_LOSS, 1.0)


def _working(
    held: Held, part: _Parted, *, run: Run, stays: Flags, kept: tuple[Column, Column]
) -> tuple[Column, Column]:
    """What passes by a layer in its backward pass, while it begins and until it ends.

    Args:
        held: plans and what they hold.
        part: what is whole for a moment.
        run: position of the run.
        stays: whether gradients of earlier micro-batches are there.
        kept: what one layer keeps, and what is unpacked or on its way to the host.
    """
    again, (layer, brief) = held.of_stage("transient", run), kept
    whole = part.around + part.ends + part.two
    # Where gradients are added up in place, one product's at a time is beside them.
    apart = EARLY * part.layer * (part.apart | stays)
    begins = again + held.of_stage("passing", run) + brief + whole + apart
    # Activations of a layer go as its gradients come.
    gone = np.where(again > 0, 0.0, layer)
    ends = held.of_stage("passing", run) + whole + part.layer * (part.apart | ~stays) - gone
    return begins, np.maximum(begins, ends)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Parted:
    """Bytes of parameters and gradients that are whole for a moment. [plan]

    Attributes:
        apart: whether gradients are sharded as soon as a layer has them.
        repeated: of the gradients of what stands before the layers, those of other members of the
            tensor axis, which PyTorch gives every member.
        own: gradients, as they are held, of the layer that the backward pass comes to last, and of
            what comes after.
        last: gradients of what stands behind the layers.
        layer: gradients of one layer, before they are reduced.
        around: parameters of what stands around the layers, whole.
        ends: gradients of what stands behind the layers, not reduced yet.
        two: parameters of two layers, whole.
        next: those of one where its backward pass is prepared for before that of the loss.
        sent: gradients of a layer on their way.
        reduction: parameters and gradients of what stands around, and what is sent of them.
        casts: copies of 16 bits that products keep of parameters of fp32.
    """

    apart: Flags
    repeated: Column
    own: Column
    last: Column
    layer: Column
    around: Column
    ends: Column
    two: Column
    next: Column
    sent: Column
    reduction: Column
    casts: Column


def _parted(setting: Setting, held: Held, *, run: Run) -> _Parted:
    """What is whole for a moment of a stage, of all its parameters."""
    first, *others = (
        _of_holding(setting, held, run=run, holding=each) for each in setting.holdings
    )
    sums = first
    for other in others:
        sums = {name: sums[name] + other[name] for name in sums}
    apart = (held.plans.sharding >= Sharding.GRADIENTS) & (held.plans.replicas > 1)
    return _Parted(apart=apart, **sums)


def _of_holding(setting: Setting, held: Held, *, run: Run, holding: Holding) -> dict[str, Column]:
    """The same of parameters that have the same replicas, by the fields of `_Parted`."""
    workload, plans, is_wide = setting.workload, held.plans, wide(setting)
    keeps, codec = setting.software.keeps, workload.gradients
    gathered, inside = (False, False) if keeps is None else (keeps.gathered, keeps.loss_inside)
    # A gradient has the precision of its parameter until it is reduced.
    whole = workload.precision.value_bytes if is_wide else codec.held_bytes
    owned = workload.master_bytes if is_wide else codec.held_bytes
    embedding, head, layer, parameters, around = (
        held.of_holding(name, run, holding)
        for name in ("learnt_first", "learnt_last", "learnt_layer", "whole_layer", "around")
    )
    replicas, every = among(plans, replicas_of(plans, holding)), held.weights(run, holding)
    gathers = (plans.sharding == Sharding.PARAMETERS) & (replicas > 1)
    drops = gathers & (plans.reshard > 0)
    apart = (plans.sharding >= Sharding.GRADIENTS) & (replicas > 1)
    alone = embedding + (1.0 - EARLY) * layer
    # A table that is only looked up is not cast.
    table = embedding * workload.precision.value_bytes * (workload.model.tied == 0)
    root = np.where(drops, around, every * (gathers & (plans.reshard == 0)))
    return {
        "repeated": embedding * (plans.tensor - 1.0) * ~apart * owned * gathered,
        "own": np.where(apart, (head + embedding + 2.0 * layer) / replicas, alone) * owned,
        "last": head * ~apart * owned,
        "layer": layer * np.where(apart, whole, owned),
        "around": root,
        "ends": head * apart * whole,
        "two": 2.0 * parameters * drops,
        "next": parameters * gathers * inside,
        "sent": layer * apart * codec.wire_bytes,
        "reduction": root + (head + embedding) * apart * (whole + codec.wire_bytes),
        "casts": (every - table) * (is_wide & ~gathers),
    }


def _two_layers(setting: Setting, held: Held, *, run: Run) -> Column:
    """Bytes of the gradients of the largest layer and of the largest that can be cut. [plan]"""
    total = np.zeros(1)
    for holding in setting.holdings:
        total = total + held.of_holding("learnt", run, holding)
    return total * setting.workload.gradients.held_bytes
