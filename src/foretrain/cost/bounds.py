"""Bounds: a step that no plan of a region can beat, whatever its free fields say.

A region is a plan of which some fields are open. Its bound is worked out by the formulas of a step,
with groups as near together as any order could put them (`placements.closest`) and with the least
that open fields may leave of a bubble and of a reduction:

- a stage is busy with all its micro-batches; before, one has come down to it through a chunk of
  each stage above, and after, its gradients go up again;
- interleaving divides that way by the chunks, so that the most chunks bound it;
- gradients are reduced beside the backward passes of the last micro-batch, no longer than all
  stages take for them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foretrain.cost.factors import factors
from foretrain.cost.held import Held
from foretrain.cost.input import with_input
from foretrain.cost.placements import closest
from foretrain.cost.setting import Setting
from foretrain.cost.stages import Number, Passing, Stages
from foretrain.cost.step import order_columns, stage_columns, step_time
from foretrain.plan.table import Column

ROUNDING = 1e-9
"""Share by which a bound is lowered, so that no rounding lifts it above what it bounds."""


def any_order(setting: Setting, held: Held) -> Column:
    """Seconds that no order of the axes can beat. [plan]"""
    seconds = step_time(setting, factors(setting, held, place=closest))
    return with_input(setting, held.plans, seconds) * (1.0 - ROUNDING)


def any_stages(setting: Setting, held: Held, *, chunks: Column, tails: bool, waits: bool) -> Column:
    """Seconds that no order, interleaving or schedule can beat, of plans with equal stages. [plan]

    Args:
        setting: workload, cluster and coefficients.
        held: plans of one chunk per stage, of the schedule 1F1B.
        chunks: the most that a stage may have.
        tails: whether what follows the passes counts, which depends on the sharding.
        waits: whether gradients of weights may wait, as zero bubble lets them.
    """
    found = factors(setting, held, place=closest)
    stages, passing = stage_columns(setting, found), order_columns(setting, found)
    seconds = _passes(stages, passing, chunks=chunks, waits=waits)
    if tails and not waits:
        seconds = seconds + _tail(stages, passing, held.plans.pipeline, chunks=chunks)
    return with_input(setting, held.plans, np.asarray(seconds)) * (1.0 - ROUNDING)


def _passes(stages: Sequence[Stages], passing: Passing, *, chunks: Column, waits: bool) -> Number:
    """Seconds of all passes: the busiest stage, and the way there and back. [plan]"""
    longest: Number = 0.0
    before: Number = 0.0
    for kind in stages:
        there = np.minimum(kind.count, 1.0)
        busy = kind.forward + kind.backward
        way = kind.forward if waits else busy
        last = before + np.maximum(kind.count - 1.0, 0.0) * way
        longest = np.maximum(longest, there * (passing.micro_batches * busy + last / chunks))
        before = before + kind.count * way
    return longest


def _tail(
    stages: Sequence[Stages], passing: Passing, pipeline: Column, *, chunks: Column
) -> Number:
    """Seconds that the first stage, the last to finish, takes after its passes. [plan]"""
    first = stages[0]
    longest: Number = 0.0
    for kind in stages:
        longest = np.maximum(longest, np.minimum(kind.count, 1.0) * kind.backward)
    hidden = np.where(
        pipeline > 1.0, pipeline * (longest + 2.0 * chunks * passing.send), first.backward
    )
    beside = passing.overlap * first.gradients
    reduced = np.maximum(beside - hidden, beside / first.buckets)
    alone = (1.0 - passing.overlap) * first.gradients
    return alone + reduced + first.update + first.parameters
