"""Offloading: what waits in the memory of the host until it is needed.

- activations leave in the forward pass and come back in the backward pass, beside the compute of
  the layers that follow; two layers' worth stays on the device.
- the optimizer's state lives on the host. Gradients go there layer by layer if no other replica has
  to add to them, otherwise once per step; its processors update the parameters that a device owns,
  and the working weights come back: nothing runs beside that.

The link to the host is one device's own.

Source: ren2021, sections 3 and 4 (optimizer); rajbhandari2021, section 5.2.3 (activations).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from foretrain.plan.plan import Offload, Sharding
from foretrain.plan.table import PlanTable

Flags = NDArray[np.bool_]


def of_optimizer(plans: PlanTable) -> Flags:
    """Whether optimizer state waits on the host. [plan]"""
    away: Flags = plans.offload % Offload.ACTIVATIONS == Offload.OPTIMIZER
    return away


def of_gradients(plans: PlanTable) -> Flags:
    """Whether gradients leave for the host as they come, in every backward pass. [plan]

    Those that replicas still have to add up stay, unless every pass reduces them.
    """
    complete = (plans.sharding >= Sharding.GRADIENTS) | (plans.replicas == 1)
    leave: Flags = of_optimizer(plans) & complete
    return leave


def of_activations(plans: PlanTable) -> Flags:
    """Whether activations wait on the host. [plan]"""
    away: Flags = plans.offload >= Offload.ACTIVATIONS
    return away
