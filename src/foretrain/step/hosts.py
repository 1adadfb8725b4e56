"""Hosts that wait for one another: what members of an axis lose at each of a layer's exchanges.

Every device has a process of its own that calls its operators, and none is ever as quick as
another. Members that exchange something in every layer go on when the slowest of them has come.
Where devices are slower than their hosts, kernels wait in queues and nothing is felt of it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from foretrain.plan.table import PlanTable

def slowest(plans: PlanTable, spread: float) -> NDArray[np.float64]:
    """Seconds of the slowest host among those that exchange in a layer, over their mean. [plan]

    The largest of n normal values lies about sqrt(2 log n) standard deviations above their mean.

    Args:
        plans: the plans.
        spread: standard deviation of what one host takes, over its mean.

    Source: cramer1946, section 28.6.
    """
    members = np.maximum(plans.tensor * plans.context, plans.expert * plans.expert_tensor)
    found: NDArray[np.float64] = 1.0 + spread * np.sqrt(2.0 * np.log(members))
    return found
