"""Steps of trainings on pictures: what they lose beside their kernels.

Such steps are short, so that what the host does once per step counts: input, loss, the call of a
runtime, the agreement of replicas on what to reduce.
"""

from __future__ import annotations

import numpy as np

from foretrain.cost.setting import Setting
from foretrain.cost.stages import Number
from foretrain.plan.execution import Execution
from foretrain.plan.table import Column


def once(setting: Setting, replicas: Column) -> Number:
    """Seconds that a step takes once, however much is computed in it. [plan]

    A network that a compiler makes one program of has its reductions in it: nobody asks for them.

    Args:
        setting: workload, cluster and coefficients.
        replicas: that reduce gradients together. [plan]
    """
    if not setting.operators.family.any():
        return 0.0
    known, software = setting.coefficients.picture_steps, setting.software
    own, wait = {
        Execution.EAGER: (known.eager, known.eager_wait),
        Execution.GRAPH: (known.graph, known.graph_wait),
        Execution.TUNED: (known.tuned, known.tuned_wait),
    }[Execution.TUNED if software.whole else software.execution]
    agreed = 0.0 if software.whole else np.where(replicas > 1, wait, 0.0)
    seconds: Number = own + agreed
    return setting.coefficients.step.factor * seconds
