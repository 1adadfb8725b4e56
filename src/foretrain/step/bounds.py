"""Bounds: a step that no plan of a region can beat, whatever its free fields say.

A region is a plan of which some fields are open. Its bound is worked out by the formulas of a step,
with groups spread as suits each of them best (`placements.any_placement`) and with the least
that open fields may leave of a bubble and of a reduction:

- a stage is busy with all its micro-batches; before, one has come down to it through a chunk of
  each stage above, and after, its gradients go up again;
- interleaving divides that way by the chunks, so that the most chunks bound it;
- gradients are reduced beside the backward passes of the last micro-batch, no longer than all
  stages take for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from foretrain.plan.table import Column, Rows, distinct
from foretrain.step.ends import with_input
from foretrain.step.held import Held, weighted
from foretrain.step.layers import layer_times
from foretrain.step.placements import any_axes, any_placement
from foretrain.step.schedules.stages import Number
from foretrain.step.setting import Setting
from foretrain.step.step import factors, order_columns, stage_columns, step_time

ROUNDING = 1e-9
"""Share by which a bound is lowered, so that no rounding lifts it above what it bounds."""


def any_order(setting: Setting, held: Held) -> Column:
    """Seconds that no order of the axes can beat. [plan]"""
    seconds = step_time(setting, factors(setting, held, place=any_placement))
    return with_input(setting, held.plans, seconds) * (1.0 - ROUNDING)


def any_stages(setting: Setting, held: Held, *, chunks: Column, waits: bool) -> Column:
    """Seconds that no order, interleaving or schedule can beat, of plans with equal stages. [plan]

    Args:
        setting: workload, cluster and coefficients.
        held: plans of one chunk per stage, of the schedule 1F1B.
        chunks: the most that a stage may have.
        waits: whether gradients of weights may wait, as zero bubble lets them.
    """
    found = factors(setting, held, place=any_placement)
    stages, passing = stage_columns(setting, found), order_columns(setting, found)
    ways = [
        _StageRun(count=run.count, forward=run.forward, backward=run.backward) for run in stages
    ]
    seconds = _passes(ways, np.asarray(passing.micro_batches), chunks=chunks, waits=waits)
    if not waits:
        # Seconds that the first stage, the last one to finish, takes after its passes.
        first = stages[0]
        longest: Number = 0.0
        for kind in stages:
            longest = np.maximum(longest, np.minimum(kind.count, 1.0) * kind.backward)
        hidden = np.where(
            held.plans.pipeline > 1.0,
            held.plans.pipeline * (longest + 2.0 * chunks * passing.send),
            first.backward,
        )
        beside = passing.overlap * first.gradients
        reduced = np.maximum(beside - hidden, beside / first.buckets)
        alone = (1.0 - passing.overlap) * first.gradients
        tail = alone + reduced + first.update + first.parameters
        seconds = seconds + tail
    return with_input(setting, held.plans, seconds) * (1.0 - ROUNDING)


def any_parameters(
    setting: Setting, held: Held, *, chunks: Column, waits: bool, used: tuple[int, ...]
) -> Column:
    """Seconds that no sharding can beat either: passes without what parameters need. [plan]

    Args and assumptions are those of `any_stages`, and

        used: numbers of devices of all plans, so that equal layers are priced once for all.
    """
    rows, layer = distinct([held.layer])
    few = held.plans.take(rows)
    times = layer_times(setting, few, groups=any_axes(setting, few, used=used))
    pairs, load = distinct([held.load, layer])
    counts = held.cuts.layers.take(held.cut[pairs], axis=2).swapaxes(0, 1)
    stages = held.cuts.stages.take(held.cut[pairs], axis=1)
    forward = weighted(counts, times.forward_pass.take(layer[pairs], axis=1))
    backward = weighted(counts, times.backward_pass.take(layer[pairs], axis=1))
    ways = [
        _StageRun(count=stages[run], forward=forward[run], backward=backward[run])
        for run in held.runs
    ]
    seconds = _passes(
        ways,
        setting.workload.micro_batches(held.plans.data, held.plans.micro_batch),
        chunks=chunks,
        waits=waits,
        row=load,
    )
    return with_input(setting, held.plans, seconds) * (1.0 - ROUNDING)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _StageRun:
    """A run of stages on the way of a micro-batch. [plan or pair of layers and cut]

    Attributes:
        count: stages of the run.
        forward: seconds of one stage's forward pass.
        backward: the same of its backward pass.
    """

    count: Number
    forward: Number
    backward: Number


def _passes(
    ways: Sequence[_StageRun],
    micro_batches: Column,
    *,
    chunks: Column,
    waits: bool,
    row: Rows | None = None,
) -> Column:
    """Seconds of all passes: the busiest stage, and the way there and back. [plan]

    Args:
        ways: the runs of the pipeline.
        micro_batches: of each plan.
        chunks: of each plan.
        waits: whether the way back may be shorter by gradients of weights.
        row: which of the ways' columns each plan has; None if they are its own.
    """
    longest = np.zeros_like(micro_batches)
    before: Number = 0.0
    for way in ways:
        there = np.minimum(way.count, 1.0)
        busy = way.forward + way.backward
        one = way.forward if waits else busy
        last = there * (before + np.maximum(way.count - 1.0, 0.0) * one)
        busy, before = there * busy, before + way.count * one
        if row is not None:
            busy, last = np.asarray(busy).take(row), np.asarray(last).take(row)
        longest = np.maximum(longest, micro_batches * busy + last / chunks)
    return longest
