"""Batch ramp: the sizes that a growing batch takes, and how many steps of each."""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.workload.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSize:
    """Steps of one size.

    Attributes:
        batch: samples of a step.
        steps: how many such steps, whole or not.
    """

    batch: int
    steps: float


def batch_sizes(workload: Workload) -> tuple[BatchSize, ...]:
    """Every batch size of a training and its steps, first to last; the full batch is last.

    Each size below the full one trains an equal part of the ramp's samples. Without an amount, or
    without a ramp, there is the full batch alone.

    Source: shoeybi2019, the published code's option rampup-batch-size (from memory).
    """
    full, ramp, left = workload.global_batch, workload.ramp, workload.samples
    if left is None:
        return (BatchSize(batch=full, steps=1.0),)
    sizes = range(ramp.start, full, ramp.increment) if ramp else range(0)
    found = []
    for batch in sizes:
        assert ramp
        samples = min(left, ramp.samples / len(sizes))
        found.append(BatchSize(batch=batch, steps=samples / batch))
        left -= samples
    return (*found, BatchSize(batch=full, steps=left / full))
