"""Ring: what members of the context axis do with blocks of keys that come round."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from foretrain.plan.plan import ContextExchange
from foretrain.plan.table import PlanTable
from foretrain.step.setting import Setting
from foretrain.step.strategies.strategy import Phase

Floats = NDArray[np.float64]


def _rounds(plans: PlanTable) -> Floats:
    """Blocks of keys and values that come round to a member. [plan]"""
    rounds: Floats = (plans.context - 1.0) * (plans.exchange == ContextExchange.RING)
    return rounds


def kernels(setting: Setting, plans: PlanTable) -> Floats:
    """Kernels that attend to blocks of keys that come round, and merge the results. [kind, plan]

    Source: liu2023, section 3.
    """
    attending = np.zeros((len(setting.workload.model.layers), 1))
    np.add.at(attending, np.asarray(setting.operators.layer, np.intp), setting.operators.keys > 0)
    return 2.0 * _rounds(plans) * attending


OPERANDS = 3.0
"""Values that a kernel moves for each one that it adds to another: both, and their sum."""


def merged(setting: Setting, plans: PlanTable, phase: Phase) -> Floats:
    """Seconds in which what blocks gave is added up, after each that came round. [kind, plan]

    Forward these are the outputs of all queries of a member, each scaled by what its block weighs;
    backward the gradients of its queries, and those of keys and values that pass through.

    Source: liu2023, section 3; transformer-engine, context_parallel.py (corrections of outputs).
    """
    operators, model = setting.operators, setting.workload.model
    values = operators.queries / 2.0 + operators.keys * (phase is Phase.BACKWARD)
    added = np.zeros((len(model.layers), 1))
    np.add.at(added, np.asarray(operators.layer, np.intp), values * (operators.keys > 0))
    mine = added * plans.micro_batch / (plans.tensor * plans.context)
    moved = OPERANDS * setting.workload.precision.value_bytes * setting.rate.unfused
    return _rounds(plans) * mine * moved / setting.rate.memory
