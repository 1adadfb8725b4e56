"""Sharding of the optimizer: each member of the data axis updates its part of the parameters.

Optimizer state and the fp32 master copy are divided by the data degree. Gradients are
reduce-scattered instead of all-reduced, and the updated working weights are all-gathered.

Source: rajbhandari2020, section 5.1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from foretrain.plan.plan import Sharding
from foretrain.plan.table import Column, PlanTable
from foretrain.workload.workload import Workload


def sharded(plans: PlanTable) -> NDArray[np.bool_]:
    """Whether the optimizer is divided. [plan]"""
    return plans.sharding >= Sharding.OPTIMIZER


def optimizer_degree(plans: PlanTable) -> Column:
    """Devices that share one copy of the optimizer's state. [plan]"""
    return np.where(sharded(plans), plans.data, 1.0)


def parameter_bytes(workload: Workload, weights: Column) -> Column:
    """Bytes of working weights that the members gather after the update. [plan]"""
    return weights * workload.precision.value_bytes
