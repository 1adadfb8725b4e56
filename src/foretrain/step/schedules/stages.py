"""A pipeline as the closed form sees it: kinds of stages and the order of micro-batches.

GPipe: how long all forward passes and then all backward passes take.

Equal micro-batches go through the stages, and over the links between them, as equal jobs through a
row of machines: the first job takes the sum of what the machines take, and each further one comes
as much later as the slowest machine takes. The way back is another such row, which begins when the
last stage has made its forward passes. Exact for stages of any times and sends of either kind.

Source: the schedule is that of huang2019, section 2.3; the flow shop is derived here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretrain.plan.plan import Schedule
from foretrain.plan.table import Column, PlanTable

Number = float | NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """Neighbouring stages of equal time; each field is a number or a column of plans.

    The first and the last stage of a pipeline are never counted together with inner ones, for they
    send less. Everything but `count` is one stage's, as in `cost.timeline.StageTimes`.

    Attributes:
        count: stages of this kind; 0 where a plan has none.
        forward: seconds of one micro-batch's forward pass, all chunks.
        backward: seconds of its backward pass, recomputation included.
        gradients: seconds of the reduction over the data axis.
        buckets: parts in which the gradients become ready.
        update: seconds of the optimizer's work.
        parameters: seconds of gathering the updated parameters.
        weights: seconds of the part of `backward` that computes gradients of weights.
    """

    count: Number
    forward: Number
    backward: Number
    gradients: Number
    buckets: Number
    update: Number
    parameters: Number
    weights: Number = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Passing:
    """How micro-batches go through the pipeline; each field is a number or a column of plans.

    Attributes:
        micro_batches: passes through the pipeline per step; a multiple of the stages where
            interleaved.
        interleaving: chunks per stage; 1 unless the schedule is 1F1B.
        send: seconds of one transfer to a neighbour.
        blocking: 1 where a stage stands still while it sends, else 0.
        overlap: share of the gradient reduction that may run beside the backward pass.
        kind: a `plan.Schedule` as a number.
    """

    micro_batches: Number
    interleaving: Number
    send: Number
    blocking: Number
    overlap: Number
    kind: Number = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PassEnds:
    """When the passes of a step are done.

    Attributes:
        finished: per kind of stage, seconds until the last of its stages has finished.
        turn: from one chunk's last backward pass on a stage to the next chunk's, in seconds; 0
            where stages have one chunk.
    """

    finished: Sequence[Number]
    turn: Number


@dataclass(frozen=True, slots=True)
class PassSequence:
    """The passes of a step, numbered so that a pass knows its successor.

    Chunk q of the model (from 0, in the model's order) lies on stage q mod stages. The forward
    passes come first, then the backward passes, then, where the schedule keeps them apart, the
    passes that compute gradients of weights; within them chunk by chunk, then micro-batch by
    micro-batch.

    Attributes:
        stages: degree of the pipeline axis.
        chunks: chunks of the whole model.
        micro_batches: micro-batches per step.
        schedule: their order.
    """

    stages: int
    chunks: int
    micro_batches: int
    schedule: Schedule = Schedule.ONE_F_ONE_B

    @property
    def half(self) -> int:
        """Forward passes of all chunks and micro-batches; the number of the first backward pass."""
        return self.chunks * self.micro_batches

    @property
    def split(self) -> bool:
        """Whether gradients of weights are computed in passes of their own."""
        return self.schedule.delays

    @property
    def count(self) -> int:
        """Passes in all."""
        return (3 if self.split else 2) * self.half

    def forward(self, chunk: int, micro_batch: int) -> int:
        """The number of a forward pass."""
        return chunk * self.micro_batches + micro_batch

    def backward(self, chunk: int, micro_batch: int) -> int:
        """The number of a backward pass."""
        return self.half + self.forward(chunk, micro_batch)

    def weights(self, chunk: int, micro_batch: int) -> int:
        """The number of a pass that computes gradients of weights."""
        return 2 * self.half + self.forward(chunk, micro_batch)

    def last(self, chunk: int) -> int:
        """The number of the pass that completes the gradients of a chunk."""
        if self.split:
            return self.weights(chunk, self.micro_batches - 1)
        return self.backward(chunk, 0 if self.schedule.reverses else self.micro_batches - 1)

    @property
    def successors(self) -> list[int | None]:
        """Per pass the one of another stage that needs its result, or of the same where it turns.

        None after a backward pass of chunk 0, and after gradients of weights.
        """
        half, one = self.half, self.micro_batches
        return [
            *range(one, half),
            *range(2 * half - one, 2 * half),
            *[None] * one,
            *range(half, 2 * half - one),
            *[None] * (self.count - 2 * half),
        ]

    def stage(self, number: int) -> int:
        """The stage of a pass."""
        return number // self.micro_batches % self.chunks % self.stages

    def text(self, number: int) -> str:
        """A pass in words."""
        kind = ("forward", "backward", "weights")[number // self.half]
        chunk = number // self.micro_batches % self.chunks
        return f"{kind} of micro-batch {number % self.micro_batches}, chunk {chunk}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineSchedule:
    """A schedule, by what the step and its memory need to know of it.

    Attributes:
        passes: how long all passes of a step take, in closed form.
        order: numbers of a stage's passes, in the order in which it works through them.
        in_flight: micro-batches whose activations a stage keeps at most, in units of whole stages,
            by plan, position of the stage and micro-batches. [plan]
    """

    passes: Callable[[Sequence[Stages], Passing], PassEnds]
    order: Callable[[int, PassSequence], list[int]]
    in_flight: Callable[[PlanTable, Column, Column], Column]


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
