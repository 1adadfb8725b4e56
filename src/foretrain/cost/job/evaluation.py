"""Evaluation: forward passes over held-out samples between the steps."""

from __future__ import annotations

from math import floor

from foretrain.workload.workload import Workload


def evaluation_seconds(workload: Workload, pass_seconds: float) -> float:
    """Seconds of one evaluation; 0 where the workload has none.

    Args:
        workload: what is evaluated.
        pass_seconds: forward passes of one global batch.
    """
    if workload.evaluation is None:
        return 0.0
    return workload.evaluation.samples / workload.global_batch * pass_seconds


def evaluations(workload: Workload, samples: float) -> float:
    """How many evaluations come in a training of so many samples.

    Whole ones of a training; without an amount, the share of one that falls to the samples.
    """
    if workload.evaluation is None:
        return 0.0
    number = samples / workload.evaluation.every
    return number if workload.samples is None else float(floor(number))
