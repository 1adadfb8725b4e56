"""What a stage does after its passes: reduce gradients, update, gather parameters."""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.cost.timeline import StepTimes
from foretrain.simulate.pipeline import Pipeline


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """What a stage does after its last pass; seconds since the step began.

    Attributes:
        passes: end of the last pass.
        buckets: start and end of each part of the reduction.
        gradients: end of the reduction.
        end: end of update and gathering.
    """

    passes: float
    buckets: tuple[tuple[float, float], ...]
    gradients: float
    end: float


def tail_of(stage: int, times: StepTimes, pipeline: Pipeline) -> Tail:
    """Reduce, update and gather on one stage.

    Buckets leave one after the other as they become ready; what does not overlap follows the last
    pass. A stage waits for no other: its update begins when its own gradients are there.

    Args:
        stage: position in the pipeline, from 0.
        times: seconds of everything.
        pipeline: the passes, played.

    Returns:
        When each of it ends.
    """
    own = times.stages[stage]
    passes = pipeline.ended[pipeline.passes.last(stage)]
    free = 0.0
    buckets = []
    for ready in _ready(stage, times, pipeline):
        start = max(free, ready)
        free = start + times.overlap * own.gradients / own.buckets
        buckets.append((start, free))
    start = max(free, passes)
    gradients = start + (1 - times.overlap) * own.gradients
    buckets.append((start, gradients))
    end = gradients + own.update + own.parameters
    return Tail(passes=passes, buckets=tuple(buckets), gradients=gradients, end=end)


def _ready(stage: int, times: StepTimes, pipeline: Pipeline) -> list[float]:
    """When each bucket's gradients are complete: evenly over the last micro-batch's chunks."""
    own, chunks = times.stages[stage], times.interleaving
    degree = pipeline.passes.stages
    ready = []
    for bucket in range(1, own.buckets + 1):
        done = -(-bucket * chunks // own.buckets)
        number = pipeline.passes.last((chunks - done) * degree + stage)
        missing = done - bucket * chunks / own.buckets
        ready.append(pipeline.ended[number] - missing * pipeline.seconds[number])
    return ready
