"""Event simulation of one step: the same step as the closed form, played pass by pass.

Each stage has three streams. Its compute stream works through the passes in the schedule's order
and waits where an input is missing. Its send stream is the way out of the device: activations and
their gradients leave one after the other. Its data stream reduces gradients, bucket by bucket.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from foretrain.cost.timeline import StepTimes
from foretrain.simulate.pipeline import play
from foretrain.simulate.tail import Tail, tail_of


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
