"""Offloading: what waits in the memory of the host until it is needed.

- activations leave in the forward pass and come back in the backward pass, beside the compute of
  the layers that follow; two layers' worth stays on the device.
- the optimizer's state lives on the host. Gradients go there, its processors update the parameters
  it owns, and the working weights come back: nothing runs beside that.

The link to the host is one device's own.

Source: ren2021, sections 3 and 4 (optimizer); rajbhandari2021, section 5.2.3 (activations).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from foretrain.plan.plan import Offload
from foretrain.plan.table import PlanTable

Flags = NDArray[np.bool_]


def of_optimizer(plans: PlanTable) -> Flags:
    """Whether optimizer state waits on the host. [plan]"""
    away: Flags = plans.offload == Offload.OPTIMIZER
    away |= plans.offload == Offload.BOTH
    return away


def of_activations(plans: PlanTable) -> Flags:
    """Whether activations wait on the host. [plan]"""
    away: Flags = plans.offload >= Offload.ACTIVATIONS
    return away
