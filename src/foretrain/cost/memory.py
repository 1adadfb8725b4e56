"""Memory: bytes on one device of each stage.

Sources: korthikanti2022, section 4 (activations), rajbhandari2020, section 3 (model states).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foretrain.cost.factors import Held, weighted
from foretrain.cost.setting import Setting
from foretrain.plan.table import Column
from foretrain.strategies import owners_of
from foretrain.strategies.data import micro_batches
from foretrain.strategies.pipeline import in_flight
from foretrain.workload.graph import Model


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MemoryColumns:
    """Bytes per device. [plan]

    Attributes:
        weights: working copy of the parameters.
        gradients: accumulated gradients.
        optimizer: optimizer state and master copy.
        activations: kept for the backward pass, all micro-batches in flight.
        buffers: the layer being computed again, and what the framework reserves.
    """

    weights: Column
    gradients: Column
    optimizer: Column
    activations: Column
    buffers: Column

    @property
    def total(self) -> Column:
        """Their sum. [plan]"""
        return self.weights + self.gradients + self.optimizer + self.activations + self.buffers


def stage_memory(
    setting: Setting, held: Held, *, run: int, weights: Column, later: Column | float = 0.0
) -> MemoryColumns:
    """Bytes on a device of one stage of a run. [plan]

    Args:
        setting: workload, cluster and coefficients.
        held: plans and what they hold.
        run: position of the run.
        weights: parameters on the device, from `stage_weights`.
        later: stages of the run before the one asked for; its first one keeps most.
    """
    workload, plans, counts = setting.workload, held.plans, held.counts(run)
    flight = in_flight(
        plans,
        position=held.cuts.first[run][held.cut] + later,
        micro_batches=micro_batches(workload, plans),
    )
    # What follows the last layer that can be cut meets its backward pass at once.
    body = _body(workload.model)
    kept = held.of_layers(held.layers.kept)
    activations = flight * weighted(counts[:body], kept[:body])
    if body < len(kept):
        activations = activations + weighted(counts[body:], kept[body:])
    precision, optimizer = workload.precision, workload.optimizer
    state = optimizer.state_bytes + precision.master_bytes
    return MemoryColumns(
        weights=weights * precision.value_bytes,
        gradients=weights * precision.gradient_bytes,
        optimizer=weights * state / owners_of(plans),
        activations=activations,
        buffers=_transient(held, counts) + setting.coefficients.memory_reserve,
    )


def stage_weights(setting: Setting, held: Held) -> list[Column]:
    """Parameters on a device of one stage of each run. [run][plan]

    Tied parameters are held once where first and last layer share a stage, twice elsewhere.
    """
    parameters = held.of_layers(held.layers.weights)
    tied: Column = setting.workload.model.tied / held.plans.tensor * (held.plans.pipeline == 1)
    return [weighted(held.counts(run), parameters) - tied for run in held.runs]


def heaviest_total(setting: Setting, held: Held) -> Column:
    """Bytes on a device of the heaviest stage. [plan]"""
    total = np.zeros(len(held.plans))
    for run, weights in enumerate(stage_weights(setting, held)):
        stage = stage_memory(setting, held, run=run, weights=weights).total
        total = np.maximum(total, stage * (held.stages(run) > 0))
    return total


def _transient(held: Held, counts: list[Column]) -> Column:
    """Bytes of the largest layer while it is computed again. [plan]"""
    largest = np.zeros(len(held.plans))
    for count, value in zip(counts, held.of_layers(held.layers.transient), strict=True):
        largest = np.maximum(largest, value * (count > 0))
    return largest


def _body(model: Model) -> int:
    """Kinds of layers up to the last one that can be cut."""
    return 1 + max(kind for kind, layer in enumerate(model.layers) if layer.cuttable)
