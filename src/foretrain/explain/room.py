"""Room: which plans the memory of a cluster holds."""

from __future__ import annotations

import numpy as np

from foretrain.cost.held import hold
from foretrain.cost.memory import heaviest_total, host_full
from foretrain.cost.setting import Setting
from foretrain.plan.study import Limit
from foretrain.plan.table import Flags, PlanTable


def roomy(setting: Setting, plans: PlanTable, limit: Limit) -> Flags:
    """Whether device and host have room for each plan, and the limit allows it. [plan]"""
    held = hold(setting, plans)
    fits = heaviest_total(setting, held) <= limit.room(setting.cluster.device)
    return np.logical_and(fits, ~host_full(setting, held))
