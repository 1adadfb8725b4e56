"""What one step consists of, stage by stage: the input of both resolutions of its time.

The closed form of the step that the event simulation plays.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from foretrain.plan.plan import Schedule, Sends
from foretrain.step.schedule import Step, seconds, step
from foretrain.step.schedules.stages import Passing, Stages


@dataclass(frozen=True, slots=True, kw_only=True)
class StageTimes:
    """Seconds on one pipeline stage.

    Attributes:
        forward: forward pass of one micro-batch through all chunks of the stage, collectives of
            the tensor axis included (they block).
        backward: backward pass of one micro-batch, recomputation and collectives included.
        gradients: reduction of the stage's gradients over the data axis, alone on its link.
        buckets: equal parts in which the gradients become ready during the last backward pass.
        update: the optimizer's work.
        parameters: gathering the updated parameters over the data axis.
        weights: the part of `backward` that computes gradients of weights, which no other stage
            waits for.
    """

    forward: float
    backward: float
    gradients: float
    buckets: int
    update: float
    parameters: float
    weights: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTimes:
    """Seconds of everything that happens in one step of one plan.

    Attributes:
        stages: in pipeline order.
        micro_batches: passes through the pipeline per step.
        interleaving: chunks per stage; stage s of p holds the chunks s, s + p, s + 2p, ...
        send: one transfer of a micro-batch's activations (or their gradients) to a neighbour.
        sends: whether a stage computes while it sends.
        overlap: share of the gradient reduction that may run beside the backward pass.
        schedule: order of micro-batches.
    """

    stages: tuple[StageTimes, ...]
    micro_batches: int
    interleaving: int
    send: float
    sends: Sends
    overlap: float
    schedule: Schedule = Schedule.ONE_F_ONE_B


def closed_form(times: StepTimes) -> float:
    """How long does a step take, by the formulas that price a table of plans?

    Args:
        times: seconds of everything that happens in the step.

    Returns:
        Seconds.
    """
    return float(seconds(*_pipeline(times)))


def closed_step(times: StepTimes) -> Step:
    """What does the step consist of, by the same formulas?

    Args:
        times: seconds of everything that happens in the step.

    Returns:
        Seconds on the time line of the stage that computes longest.
    """
    return step(*_pipeline(times))


def _pipeline(times: StepTimes) -> tuple[list[Stages], Passing]:
    """The ends of the pipeline apart, equal neighbours between them together."""
    inner = groupby(times.stages[1:-1])
    kinds = [_kind(1, times.stages[0])]
    kinds += [_kind(len(list(equal)), stage) for stage, equal in inner]
    if len(times.stages) > 1:
        kinds.append(_kind(1, times.stages[-1]))
    passing = Passing(
        micro_batches=float(times.micro_batches),
        interleaving=float(times.interleaving),
        send=times.send,
        blocking=1.0 if times.sends is Sends.BLOCKING else 0.0,
        overlap=times.overlap,
        kind=float(times.schedule),
    )
    return kinds, passing


def _kind(count: int, stage: StageTimes) -> Stages:
    return Stages(
        count=float(count),
        forward=stage.forward,
        backward=stage.backward,
        gradients=stage.gradients,
        buckets=float(stage.buckets),
        update=stage.update,
        parameters=stage.parameters,
        weights=stage.weights,
    )
