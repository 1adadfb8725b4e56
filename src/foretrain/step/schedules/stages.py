"""A pipeline as the closed form sees it: kinds of stages and the order of micro-batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
