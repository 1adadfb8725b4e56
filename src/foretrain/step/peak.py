"""Peaks: what a stage holds in a step, and at which moment that is most.

Weights and optimizer state are always there, divided among those who share them. What else is there
depends on the moment: activations of micro-batches in flight are freed as gradients come, the loss
goes before a layer is computed again, and an update comes when no activation is left.

Source: rajbhandari2020, section 3 (what belongs to parameters, and who has which part of it).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import IntEnum

import numpy as np

from foretrain.plan.plan import Sharding
from foretrain.plan.table import Column, Rows
from foretrain.step.held import Held, Run
from foretrain.step.placements import replicas_of
from foretrain.step.setting import Setting
from foretrain.step.strategies import owners_of
from foretrain.step.strategies import recompute as offload
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
