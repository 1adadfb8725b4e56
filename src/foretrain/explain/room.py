"""Room: which plans the memory of a cluster holds."""

from __future__ import annotations

import numpy as np

from foretrain.cost.held import hold
from foretrain.cost.memory import heaviest_total, host_total
from foretrain.cost.setting import Setting
from foretrain.plan.study import Limit
from foretrain.plan.table import Flags, PlanTable


def roomy(setting: Setting, plans: PlanTable, limit: Limit) -> Flags:
    """Whether device and host have room for each plan, and the limit allows it. [plan]"""
    held, host, device = hold(setting, plans), setting.cluster.host, setting.cluster.device
    most = device.memory if limit.memory is None else min(device.memory, limit.memory)
    fits: Flags = heaviest_total(setting, held) <= most
    if host is None:
        return fits
    return np.logical_and(fits, host_total(setting, held) <= host.memory)
