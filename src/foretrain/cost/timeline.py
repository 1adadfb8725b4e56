"""What one step consists of, stage by stage: the input of both resolutions of its time."""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.plan.plan import Schedule, Sends


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
