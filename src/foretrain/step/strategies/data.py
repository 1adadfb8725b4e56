"""Data parallelism: replicas of the model share the samples and add up their gradients.

Members of the context axis hold the same parameters too, so they are replicas in this.

Source: rajbhandari2020, section 2.1 (every member keeps everything).
"""

from __future__ import annotations

import numpy as np

from foretrain.plan.plan import Sharding
from foretrain.plan.table import Column, PlanTable
from foretrain.step.strategies.strategy import (
    ParameterGroup,
    ParameterTransfer,
    Pattern,
    Strategy,
    When,
)
from foretrain.workload.workload import Workload


def micro_batches(workload: Workload, plans: PlanTable) -> Column:
    """Passes of a micro-batch through one replica per step. [plan]"""
    return workload.global_batch / (plans.data * plans.micro_batch)


def parameter_transfers(
    workload: Workload, plans: PlanTable, replicas: Column
) -> tuple[ParameterTransfer, ...]:
    """An all-reduce of the gradients, unless sharding takes its place.

    Messages that do not add up on their way are gathered by everybody.
    """
    mine = (replicas > 1) & (plans.sharding == Sharding.NONE)
    codec = workload.gradients
    size = codec.wire_bytes if codec.adds_up else codec.wire_bytes * replicas
    return (
        ParameterTransfer(
            part="gradients",
            pattern=Pattern.ALL_REDUCE if codec.adds_up else Pattern.ALL_GATHER,
            group=ParameterGroup.REPLICAS,
            when=When.STEP,
            size=np.where(mine, size, 0.0),
        ),
    )


STRATEGY = Strategy(parameter_transfers=parameter_transfers)
