"""What a stage does after its passes: reduce gradients, update, gather parameters.

Event simulation of one step: the same step as the closed form, played pass by pass.

Each stage has three streams. Its compute stream works through the passes in the schedule's order
and waits where an input is missing. Its send stream is the way out of the device: activations and
their gradients leave one after the other. Its data stream reduces gradients, bucket by bucket.

The simulated step as intervals, for traces and charts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

from foretrain.step.simulated_passes import Pipeline, play
from foretrain.step.timeline import StepTimes


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
    chunks, degree = times.interleaving, pipeline.passes.stages
    for bucket in range(1, own.buckets + 1):
        # Gradients are complete evenly over the last micro-batch's chunks.
        done = -(-bucket * chunks // own.buckets)
        number = pipeline.passes.last((chunks - done) * degree + stage)
        missing = done - bucket * chunks / own.buckets
        start = max(free, pipeline.ended[number] - missing * pipeline.seconds[number])
        free = start + times.overlap * own.gradients / own.buckets
        buckets.append((start, free))
    start = max(free, passes)
    gradients = start + (1 - times.overlap) * own.gradients
    buckets.append((start, gradients))
    end = gradients + own.update + own.parameters
    return Tail(passes=passes, buckets=tuple(buckets), gradients=gradients, end=end)


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSeconds:
    """How one stage spends the step; with `fixed` of the input the parts add up to the step.

    Attributes:
        forward: forward passes.
        backward: backward passes.
        bubble: waiting for other stages that would be there if sends took no time.
        pipeline: what the sends add.
        gradients: reduction after the stage's last pass.
        update: the optimizer's work.
        parameters: gathering of updated parameters.
    """

    forward: float
    backward: float
    bubble: float
    pipeline: float
    gradients: float
    update: float
    parameters: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedStep:
    """One step, played.

    Attributes:
        seconds: the step.
        stages: how each stage spends it, in pipeline order.
    """

    seconds: float
    stages: tuple[StageSeconds, ...]


def step_seconds(times: StepTimes) -> float:
    """How long does a step take, played pass by pass?

    Args and errors are those of `simulate`, which also says how each stage spends the step, and
    has to play it twice for that.
    """
    return max(tail.end for tail in _tails(times))


def simulate(times: StepTimes) -> SimulatedStep:
    """How long does a step take, played pass by pass?

    Args:
        times: seconds of everything that happens in the step.

    Returns:
        The step and how each stage spends it.

    Raises:
        InputError: an interleaved schedule whose micro-batches do not come in whole groups, or one
            that cannot be interleaved.
    """
    tails = _tails(times)
    seconds = max(tail.end for tail in tails)
    bubbles = _waiting(times, _tails(replace(times, send=0.0)))
    waiting = _waiting(times, tails)
    stages = tuple(
        StageSeconds(
            forward=times.micro_batches * stage.forward,
            backward=times.micro_batches * stage.backward,
            bubble=bubble,
            pipeline=waited - bubble,
            gradients=tail.gradients - tail.passes,
            update=stage.update,
            parameters=stage.parameters,
        )
        for stage, tail, bubble, waited in zip(times.stages, tails, bubbles, waiting, strict=True)
    )
    return SimulatedStep(seconds=seconds, stages=stages)


@lru_cache(maxsize=256)
def _tails(times: StepTimes) -> tuple[Tail, ...]:
    """The ends of all stages; plans that differ in order alone often have the same times."""
    pipeline = play(times)
    return tuple(tail_of(stage, times, pipeline) for stage in range(len(times.stages)))


def _waiting(times: StepTimes, tails: Sequence[Tail]) -> list[float]:
    """Seconds of the step in which each stage neither computes nor finishes its own update."""
    end = max(tail.end for tail in tails)
    return [
        end - times.micro_batches * (stage.forward + stage.backward) - (tail.end - tail.passes)
        for stage, tail in zip(times.stages, tails, strict=True)
    ]


class DeviceStream(StrEnum):
    """What a device does side by side."""

    COMPUTE = "compute"
    SEND = "send"
    DATA = "data"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Something that one stream of one stage did.

    Attributes:
        stage: position in the pipeline, from 0.
        stream: who was busy.
        name: with what.
        start: seconds since the step began.
        end: seconds since the step began.
    """

    stage: int
    stream: DeviceStream
    name: str
    start: float
    end: float


def timeline(times: StepTimes) -> tuple[Interval, ...]:
    """What does each stream of each stage do, and when?

    Args:
        times: seconds of everything that happens in the step; `fixed` belongs to no stage.

    Returns:
        Intervals without order.

    Raises:
        InputError: an interleaved schedule whose micro-batches do not come in whole groups, or one
            that cannot be interleaved.
    """
    pipeline = play(times)
    passes, seconds = pipeline.passes, pipeline.seconds
    compute, data = DeviceStream.COMPUTE, DeviceStream.DATA
    found = [
        (passes.stage(number), compute, passes.text(number), end - seconds[number], end)
        for number, end in enumerate(pipeline.ended)
    ]
    found += [
        (passes.stage(number), DeviceStream.SEND, f"send after {passes.text(number)}", *when)
        for number, when in pipeline.sent.items()
    ]
    for stage, own in enumerate(times.stages):
        tail = tail_of(stage, times, pipeline)
        updated = tail.gradients + own.update
        after = [(stage, data, "gradients", start, end) for start, end in tail.buckets]
        after.append((stage, compute, "update", tail.gradients, updated))
        after.append((stage, data, "parameters", updated, tail.end))
        found += [each for each in after if each[-1] > each[-2]]
    return tuple(
        Interval(stage=stage, stream=stream, name=name, start=start, end=end)
        for stage, stream, name, start, end in found
    )
