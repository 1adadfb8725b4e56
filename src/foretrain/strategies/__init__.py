"""Parallel strategies: one file and one line each.

The pipeline (`pipeline.py`) and recomputation (`recompute.py`) are not in the table: they decide
which layers a stage has and how often it runs them, not which part of an operator a device has.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import mul
from types import MappingProxyType

from foretrain.plan.table import Column, PlanTable
from foretrain.strategies import data, sequence, sharding, tensor
from foretrain.strategies.strategy import Share, StepTransfer, Strategy, Transfer
from foretrain.workload.columns import Operators
from foretrain.workload.workload import Workload

STRATEGIES: Mapping[str, Strategy] = MappingProxyType(
    {
        "data": data.STRATEGY,
        "sharding": sharding.STRATEGY,
        "tensor": tensor.STRATEGY,
        "sequence": sequence.STRATEGY,
    }
)


def share_of(operators: Operators, plans: PlanTable) -> Share:
    """The part of each operator that one device has, all strategies together."""
    return reduce(mul, (each.share(operators, plans) for each in STRATEGIES.values()))


def transfers_of(operators: Operators, plans: PlanTable) -> list[Transfer]:
    """What is exchanged for each operator."""
    return [
        transfer for each in STRATEGIES.values() for transfer in each.transfers(operators, plans)
    ]


def step_transfers_of(workload: Workload, plans: PlanTable) -> list[StepTransfer]:
    """What is exchanged once per step."""
    return [
        transfer
        for each in STRATEGIES.values()
        for transfer in each.step_transfers(workload, plans)
    ]


def owners_of(plans: PlanTable) -> Column:
    """Devices that share one copy of the optimizer's state. [plan]"""
    return reduce(mul, (each.owners(plans) for each in STRATEGIES.values()))
