"""The simulated step as intervals, for traces and charts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from foretrain.cost.timeline import StepTimes
from foretrain.simulate.pipeline import Pipeline, play
from foretrain.simulate.tail import tail_of


class Stream(StrEnum):
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
    stream: Stream
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
    intervals = [*_passes(pipeline), *_sends(pipeline)]
    for stage in range(len(times.stages)):
        intervals += _tail(stage, times, pipeline)
    return tuple(intervals)


def _passes(pipeline: Pipeline) -> Iterator[Interval]:
    passes = pipeline.passes
    for number, end in enumerate(pipeline.ended):
        yield Interval(
            stage=passes.stage(number),
            stream=Stream.COMPUTE,
            name=passes.text(number),
            start=end - pipeline.seconds[number],
            end=end,
        )


def _sends(pipeline: Pipeline) -> Iterator[Interval]:
    passes = pipeline.passes
    for number, (start, end) in pipeline.sent.items():
        yield Interval(
            stage=passes.stage(number),
            stream=Stream.SEND,
            name=f"send after {passes.text(number)}",
            start=start,
            end=end,
        )


def _tail(stage: int, times: StepTimes, pipeline: Pipeline) -> Iterator[Interval]:
    own = times.stages[stage]
    tail = tail_of(stage, times, pipeline)
    updated = tail.gradients + own.update
    parts = [(Stream.DATA, "gradients", start, end) for start, end in tail.buckets]
    parts.append((Stream.COMPUTE, "update", tail.gradients, updated))
    parts.append((Stream.DATA, "parameters", updated, tail.end))
    for stream, name, start, end in parts:
        if end > start:
            yield Interval(stage=stage, stream=stream, name=name, start=start, end=end)
