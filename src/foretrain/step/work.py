"""Work: what one device does of each operator, and what it takes where somebody measured it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretrain.plan.table import Column
from foretrain.step.strategies.strategy import Divisor, Share
from foretrain.workload.graph import Operators
from foretrain.workload.workload import Precision

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DeviceWork:
    """What one device does of each operator. [operator, plan]

    Attributes:
        operators: the operators.
        share: the device's part.
        micro_batch: samples at once. [plan]
        precision: of products and activations.
        added_to: bytes of one value of the gradients that products of weights add to; 0 where they
            write theirs at the precision of activations.
    """

    operators: Operators
    share: Share
    micro_batch: Column
    precision: Precision
    added_to: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OperatorTimes:
    """Seconds of one micro-batch. [operator, plan]

    Attributes:
        forward: forward pass.
        backward: backward pass, gradients of weights included.
        weights: gradients of weights alone.
    """

    forward: Column
    backward: Column
    weights: Column


def shrunk(divisor: Divisor, unshrunk: float) -> Divisor:
    """By how much less a member takes that has so much less, where some of it never shrinks.

    Source: kahira2021, section 5.3 (kernels that do not shrink with their filters).
    """
    return divisor / (1.0 + unshrunk * (divisor - 1.0)) if unshrunk else divisor


def as_measured(
    work: DeviceWork, times: OperatorTimes, returns: Flags, *, unshrunk: float
) -> OperatorTimes:
    """Seconds that somebody measured in the place of formulas. [operator, plan]

    They are those of whole operators and of one sample, and are divided as the work is. Of the
    backward pass of a product half are gradients of its weights, all where its input needs none;
    frozen weights have none.

    Args:
        work: what the device does.
        times: what formulas say.
        returns: which operators have a backward pass. [operator, 1]
        unshrunk: share of the time that members which divide channels still take.
    """
    operators, share, mine = work.operators, work.share, work.operators.measured
    channels = share.columns * share.depth * share.batch
    divided = share.rows * shrunk(channels, unshrunk)
    part = work.micro_batch / np.where(operators.matmul, divided, share.moved)
    backward = operators.backward_seconds * part * returns
    of_weights = np.where(operators.first, 1.0, 0.5) * (operators.matmul & (operators.weights > 0))
    learns = operators.trained > 0
    return OperatorTimes(
        forward=np.where(mine, operators.seconds * part, times.forward),
        backward=np.where(mine, backward * np.where(learns, 1.0, 1.0 - of_weights), times.backward),
        weights=np.where(mine, backward * of_weights * learns, times.weights),
    )
