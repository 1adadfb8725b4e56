"""Parallel strategies: one line each.

The pipeline (`pipeline.py`), what is computed again or waits on the host (`recompute.py`)
are not in the table: they decide which layers a stage has, how often it runs them and where it
keeps what, not which part of an operator a device has.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, reduce
from operator import mul
from types import MappingProxyType

import numpy as np

from foretrain.plan.table import Column, PlanTable
from foretrain.step.strategies import channels, context, data, spatial, tensor
from foretrain.step.strategies.strategy import (
    Divisor,
    Owners,
    ParameterTransfer,
    Share,
    Strategy,
    Transfer,
    alone,
    nothing,
    whole,
)
from foretrain.workload.graph import Operators
from foretrain.workload.workload import Workload

STRATEGIES: Mapping[str, Strategy] = MappingProxyType(
    {
        "data": data.DATA,
        "sharding": data.SHARDING,
        "tensor": tensor.TENSOR,
        "sequence": tensor.SEQUENCE,
        "context": context.CONTEXT,
        "expert": tensor.EXPERT,
        "spatial": spatial.SPATIAL,
        "channels": channels.CHANNELS,
    }
)


SHARING = tuple(each for each in STRATEGIES.values() if each.share is not whole)
SENDING = tuple(each for each in STRATEGIES.values() if each.transfers is not nothing)
"""Those that divide operators, and those that exchange something for them."""


def share_of(operators: Operators, plans: PlanTable) -> Share:
    """The part of each operator that one device has, all strategies together."""
    return reduce(mul, (each.share(operators, plans) for each in _dividing(operators)[0]))


def boundary_of(operators: Operators, plans: PlanTable) -> Divisor:
    """By how much one device's part of what layers of such operators hand on is smaller."""
    none = operators.take(np.arange(0))
    shares = (each.share(none, plans) for each in _dividing(operators)[0])
    return reduce(mul, (share.boundary for share in shares))


def transfers_of(operators: Operators, plans: PlanTable) -> list[Transfer]:
    """What is exchanged for each operator."""
    sending = _dividing(operators)[1]
    return [transfer for each in sending for transfer in each.transfers(operators, plans)]


@lru_cache(maxsize=64)
def _dividing(operators: Operators) -> tuple[tuple[Strategy, ...], tuple[Strategy, ...]]:
    """Of those that share, and of those that send, the ones that could divide some operators."""
    sharing, sending = (
        tuple(each for each in some if each.divides(operators)) for some in (SHARING, SENDING)
    )
    return sharing, sending


def parameter_transfers_of(
    workload: Workload, plans: PlanTable, replicas: Column
) -> list[ParameterTransfer]:
    """What is exchanged for each parameter that so many devices hold."""
    return [
        transfer
        for each in STRATEGIES.values()
        for transfer in each.parameter_transfers(workload, plans, replicas)
    ]


def owners_of(plans: PlanTable, replicas: Column) -> Owners:
    """Devices that share one copy of what belongs to a parameter that so many devices hold."""
    owning = [each for each in STRATEGIES.values() if each.owners is not alone]
    return reduce(mul, (each.owners(plans, replicas) for each in owning))
