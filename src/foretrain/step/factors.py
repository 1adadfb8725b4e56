"""Factors: what few fields of a plan decide is priced once per combination, and plans gather it.

A table of plans meets small tables: what its stages hold (`held`), how long its layers' passes take
(`passes`) and those of whole stages, and what follows the passes (`tail`). A row is a position in
each of them, so taking rows moves positions, not prices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretrain.plan.table import PlanTable, Rows, distinct
from foretrain.step.held import Held, each_weighted
from foretrain.step.layers import LayerTimes, layer_times
from foretrain.step.passes import Passes, gathers, passes
from foretrain.step.placements import Placements, placements
from foretrain.step.setting import Setting
from foretrain.step.strategies import offload
from foretrain.step.tail import Tails, tails

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StagePasses:
    """Seconds of one stage of each run, one micro-batch. [run, combination]

    Attributes:
        forward: forward pass.
        backward: backward pass.
        weights: gradients of weights, part of the backward pass.
        first: what the forward pass saves by gathering a layer's parameters beside compute, the
            mean of its layers.
        last: what the backward pass saves by reducing a layer's gradients there, the same.

    Nothing runs before the first parameters of a step are there, nor after its last gradients: a
    step feels `first` and `last` once. Source: zhao2023, section 3.3.
    """

    forward: Floats
    backward: Floats
    weights: Floats
    first: Floats
    last: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Factors:
    """Plans with everything that their step is made of; each table with the place of a plan in it.

    Attributes:
        held: the plans and what they hold.
        passes: one layer of each kind. [kind, combination]
        stages: one stage of each run. [run, combination]
        tails: what a stage does after its passes. [run, combination]
        placements: where groups lie. [placement]
    """

    held: Held
    passes: Passes
    passing: Rows
    stages: StagePasses
    stage: Rows
    tails: Tails
    tail: Rows
    placements: Placements
    group: Rows

    @property
    def plans(self) -> PlanTable:
        """The plans."""
        return self.held.plans


Place = Callable[[Setting, PlanTable], tuple[Placements, Rows]]
"""Where the groups of plans lie."""


def factors(setting: Setting, held: Held, *, place: Place = placements) -> Factors:
    """The times of each plan's stages, and the collectives of its groups."""
    plans = held.plans
    placed, group = place(setting, plans)
    found, passing = _passes(setting, held, placed, group=group)
    pairs, stage = distinct([passing, held.cut])
    stages = _stages(held, found, passing=passing[pairs], cut=held.cut[pairs])
    after, tail = tails(setting, held, placed, group=group)
    return Factors(
        held=held,
        passes=found,
        passing=passing,
        stages=stages,
        stage=stage,
        tails=after,
        tail=tail,
        placements=placed,
        group=group,
    )


def _passes(
    setting: Setting, held: Held, placed: Placements, *, group: Rows
) -> tuple[Passes, Rows]:
    """What the layers of each plan take in a pass."""
    plans = held.plans
    times, time = _times(setting, held, placed, group=group)
    exchanged, gather = gathers(setting, plans, placed, group=group, held=(held.layers, held.layer))
    rows, passing = distinct([time, gather, plans.offload, offload.of_gradients(plans)])
    found = passes(
        setting,
        plans.take(rows),
        times=(times, time[rows]),
        gathers=(exchanged, gather[rows]),
        held=(held.layers, held.layer[rows]),
    )
    return found, passing


def _times(
    setting: Setting, held: Held, placed: Placements, *, group: Rows
) -> tuple[LayerTimes, Rows]:
    """Compute and collectives of each plan's layers."""
    rows, time = distinct([held.layer, placed.place[group]])
    groups = {axis: exchange.take(group[rows]) for axis, exchange in placed.axes.items()}
    return layer_times(setting, held.plans.take(rows), groups=groups), time


def _stages(held: Held, found: Passes, *, passing: Rows, cut: Rows) -> StagePasses:
    """Layers of each kind on a stage of every run, times what one takes, if the host keeps up."""
    counts = held.cuts.layers.take(cut, axis=2).swapaxes(0, 1)
    times, time = found.times, found.time[passing]
    each = (
        found.forward.take(passing, axis=1),
        found.backward.take(passing, axis=1),
        found.coming.take(passing, axis=1),
        times.weights.take(time, axis=1),
        times.forward_host.take(time, axis=1),
        times.backward_host.take(time, axis=1),
        times.weights_host.take(time, axis=1),
        found.first.take(passing, axis=1),
        found.last.take(passing, axis=1),
    )
    forward, backward, coming, weights, starting, returning, learning, first, last = each_weighted(
        counts, np.stack(np.broadcast_arrays(*each))
    )
    # What waits for nobody is what is left beside the gradients of inputs, so that a quicker
    # device never has more to do before it can hand on.
    late = np.maximum(returning - learning - (backward - coming - weights), 0.0)
    slow, slower = np.maximum(forward, starting), np.maximum(backward, returning)
    layers = np.maximum(1.0, counts.sum(axis=0))
    return StagePasses(
        forward=slow,
        backward=slower,
        weights=weights + coming + (slower - backward) - late,
        first=(np.maximum(first, starting) - slow) / layers,
        last=(np.maximum(last, returning) - slower) / layers,
    )
