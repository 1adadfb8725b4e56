"""GPipe: how long all forward passes and then all backward passes take.

Equal micro-batches go through the stages, and over the links between them, as equal jobs through a
row of machines: the first job takes the sum of what the machines take, and each further one comes
as much later as the slowest machine takes. The way back is another such row, which begins when the
last stage has made its forward passes. Exact for stages of any times and sends of either kind.

Source: the schedule is that of huang2019, section 2.3; the flow shop is derived here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foretrain.plan.table import Column, PlanTable
from foretrain.step.schedules.stages import (
    Number,
    PassEnds,
    Passing,
    PassSequence,
    PipelineSchedule,
    Stages,
)


def there_and_back(stages: Sequence[Stages], passing: Passing) -> PassEnds:
    """How long do all passes of a step take?

    Args:
        stages: the pipeline from first to last. [plan]
        passing: micro-batches and cost of sends. [plan]

    Returns:
        When each stage has made its last backward pass. [plan]

    Source: the derivation at the top of this module.
    """
    degree: Number = 0.0
    for kind in stages:
        degree = degree + kind.count
    send = np.where(degree > 1, passing.send, 0.0)
    held = passing.blocking * send
    turned = _there(stages, passing, degree=degree, send=send)
    further = passing.micro_batches - 1
    through: Number = 0.0
    sum_back: Number = 0.0
    slowest: Number = 0.0
    finished = []
    for kind in reversed(stages):
        through = through + kind.count
        sum_back = sum_back + kind.count * kind.backward
        link = np.where(through > 1, send, 0.0)
        machine = kind.backward + np.where(through < degree, held, 0.0)
        slowest = np.maximum(slowest, np.maximum(np.minimum(kind.count, 1.0) * machine, link))
        finished.append(turned + sum_back + (through - 1) * send + further * slowest)
    return PassEnds(finished=finished[::-1], turn=0.0)


def _there(stages: Sequence[Stages], passing: Passing, *, degree: Number, send: Number) -> Number:
    """Seconds until the last stage has made all forward passes."""
    through: Number = 0.0
    seconds: Number = 0.0
    slowest = send
    for kind in stages:
        through = through + kind.count
        seconds = seconds + kind.count * kind.forward
        held = np.where(through < degree, passing.blocking * send, 0.0)
        slowest = np.maximum(slowest, np.minimum(kind.count, 1.0) * (kind.forward + held))
    return seconds + (degree - 1) * send + (passing.micro_batches - 1) * slowest


def order(stage: int, passes: PassSequence) -> list[int]:
    """All forward passes, then all backward passes, the last micro-batch first.

    Args:
        stage: position in the pipeline, from 0.
        passes: all passes of the step, one chunk per stage.

    Returns:
        Numbers of the stage's passes.

    Source: huang2019, section 2.3.
    """
    forward = range(passes.forward(stage, 0), passes.forward(stage + 1, 0))
    backward = range(passes.backward(stage, 0), passes.backward(stage + 1, 0))
    return [*forward, *reversed(backward)]


def in_flight(plans: PlanTable, position: Column, micro_batches: Column) -> Column:
    """Every stage keeps all of them. [plan]"""
    return micro_batches


GPIPE = PipelineSchedule(passes=there_and_back, order=order, in_flight=in_flight)
