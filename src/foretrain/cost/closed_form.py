"""The closed form of the step that the event simulation plays."""

from __future__ import annotations

from itertools import groupby

from foretrain.cost.schedule import Step, seconds, step
from foretrain.cost.stages import Passing, Stages
from foretrain.cost.timeline import StageTimes, StepTimes
from foretrain.plan.plan import Sends


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
