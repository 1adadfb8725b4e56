"""Sharding of the optimizer: each member of the data axis updates its part of the parameters.

Optimizer state and the fp32 master copy are divided by the data degree. Gradients are
reduce-scattered instead of all-reduced, and the updated working weights are all-gathered.

Source: rajbhandari2020, section 5.1.
"""

from __future__ import annotations

import numpy as np

from foretrain.plan.plan import Sharding
from foretrain.plan.table import Column, PlanTable
from foretrain.strategies.strategy import Pattern, StepTransfer, Strategy
from foretrain.workload.workload import Workload


def owners(plans: PlanTable) -> Column:
    """Devices that share one copy of the optimizer's state. [plan]"""
    return np.where(plans.sharding >= Sharding.OPTIMIZER, plans.data, 1.0)


def step_transfers(workload: Workload, plans: PlanTable) -> tuple[StepTransfer, ...]:
    """A reduce-scatter of the gradients, and an all-gather of the updated weights."""
    mine = owners(plans) > 1
    gradients = np.where(mine, workload.precision.gradient_bytes, 0.0)
    weights = np.where(mine, workload.precision.value_bytes, 0.0)
    return (
        StepTransfer(part="gradients", pattern=Pattern.GATHER, size=gradients),
        StepTransfer(part="parameters", pattern=Pattern.GATHER, size=weights),
    )


STRATEGY = Strategy(step_transfers=step_transfers, owners=owners)
