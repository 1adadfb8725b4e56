"""Data parallelism: replicas of the model share the samples and add up their gradients.

Source: rajbhandari2020, section 2.1 (every member keeps everything).
"""

from __future__ import annotations

import numpy as np

from foretrain.plan.plan import Sharding
from foretrain.plan.table import Column, PlanTable
from foretrain.strategies.strategy import Pattern, StepTransfer, Strategy
from foretrain.workload.workload import Workload


def micro_batches(workload: Workload, plans: PlanTable) -> Column:
    """Passes of a micro-batch through one replica per step. [plan]"""
    return workload.global_batch / (plans.data * plans.micro_batch)


def step_transfers(workload: Workload, plans: PlanTable) -> tuple[StepTransfer, ...]:
    """An all-reduce of the gradients, unless sharding takes its place."""
    mine = (plans.data > 1) & (plans.sharding == Sharding.NONE)
    size = np.where(mine, workload.precision.gradient_bytes, 0.0)
    return (StepTransfer(part="gradients", pattern=Pattern.REDUCE, size=size),)


STRATEGY = Strategy(step_transfers=step_transfers)
