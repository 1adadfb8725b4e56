"""Data parallelism: replicas of the model share the samples and add up their gradients.

Members of the context axis hold the same parameters too, so they are replicas in this. Unsharded,
every one keeps everything. With sharding they divide what belongs to a parameter, one kind of it
after the other:

- optimizer: state and fp32 master copy. Gradients are reduce-scattered instead of all-reduced, and
  the updated working weights are all-gathered, once per step.
- gradients: those too. They are reduce-scattered layer by layer in every backward pass, for nobody
  keeps what it does not own.
- parameters: those too. Each layer is gathered before it runs, and dropped after; in the backward
  pass again, unless `reshard` is false: then what the first pass gathered stays until the update.

With a shard smaller than all replicas there are several copies. Their owners add up what each
shard has reduced.

Source: rajbhandari2020, sections 2.1 and 5; zhao2023, section 3.2 (hybrid sharding, resharding).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from foretrain.plan.plan import Sharding
from foretrain.plan.table import Column, PlanTable
from foretrain.step.strategies.strategy import (
    Owners,
    ParameterGroup,
    ParameterTransfer,
    Pattern,
    Strategy,
    When,
)
from foretrain.workload.workload import Workload

Flags = NDArray[np.bool_]


def transfers_of_replicas(
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


def among(plans: PlanTable, replicas: Column) -> Column:
    """Devices that share one copy of what is sharded. [plan]"""
    return np.where(plans.shard > 0, np.minimum(plans.shard, replicas), replicas)


def owners(plans: PlanTable, replicas: Column) -> Owners:
    """Devices that share one copy. [plan]"""
    shard = among(plans, replicas)
    return Owners(
        weights=np.where(plans.sharding >= Sharding.PARAMETERS, shard, 1.0),
        gradients=np.where(plans.sharding >= Sharding.GRADIENTS, shard, 1.0),
        optimizer=np.where(plans.sharding >= Sharding.OPTIMIZER, shard, 1.0),
    )


def transfers_of_shards(
    workload: Workload, plans: PlanTable, replicas: Column
) -> tuple[ParameterTransfer, ...]:
    """Reduce-scatters of gradients, all-gathers of weights, and all-reduces between copies."""
    shard = among(plans, replicas)
    kind, dropped = plans.sharding, plans.reshard > 0
    gradient, weight = workload.gradients.wire_bytes, workload.precision.value_bytes
    every_pass = kind >= Sharding.GRADIENTS
    gathered = (kind == Sharding.PARAMETERS) & dropped
    several = (kind > Sharding.NONE) & (replicas > shard)
    return (
        _gradients(When.STEP, np.where((kind == Sharding.OPTIMIZER) & (shard > 1), gradient, 0.0)),
        _gradients(When.BACKWARD, np.where(every_pass & (shard > 1), gradient, 0.0)),
        ParameterTransfer(
            part="gradients",
            pattern=Pattern.ALL_REDUCE,
            group=ParameterGroup.ACROSS,
            when=When.STEP,
            size=np.where(several, gradient / shard, 0.0),
        ),
        _weights(
            When.STEP, (kind > Sharding.NONE) & (kind < Sharding.PARAMETERS) & (shard > 1), weight
        ),
        _weights(When.FIRST, (kind == Sharding.PARAMETERS) & ~dropped & (shard > 1), weight),
        _weights(When.FORWARD, gathered & (shard > 1), weight),
        _weights(When.BACKWARD, gathered & (shard > 1), weight),
    )


def _gradients(when: When, size: Column) -> ParameterTransfer:
    return ParameterTransfer(
        part="gradients",
        pattern=Pattern.ALL_GATHER,
        group=ParameterGroup.SHARD,
        when=when,
        size=size,
    )


def _weights(when: When, mine: Flags, size: float) -> ParameterTransfer:
    """Gathered once, only what was updated; gathered for a pass, frozen weights as well."""
    return ParameterTransfer(
        part="parameters",
        pattern=Pattern.ALL_GATHER,
        group=ParameterGroup.SHARD,
        when=when,
        size=np.where(mine, size, 0.0),
        trained=when is When.STEP,
    )


DATA = Strategy(parameter_transfers=transfers_of_replicas)

SHARDING = Strategy(parameter_transfers=transfers_of_shards, owners=owners)
