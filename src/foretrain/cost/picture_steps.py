"""Steps of trainings on pictures: what they lose beside their kernels.

Such steps are short, so that what the host does once per step counts: input, loss, the call of a
runtime, the agreement of replicas on what to reduce. And replicas wait for the slowest.
"""

from __future__ import annotations

from math import log

import numpy as np

from foretrain.cost.setting import Setting
from foretrain.cost.stages import Number
from foretrain.plan.execution import Execution
from foretrain.plan.table import Column, PlanTable

MOST_DOUBLINGS = 24
"""Replicas beyond so many doublings wait no longer."""


def once(setting: Setting, replicas: Column) -> Number:
    """Seconds that a step takes once, however much is computed in it. [plan]

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
    seconds: Number = own + np.where(replicas > 1, wait, 0.0)
    return setting.coefficients.step.factor * seconds


def straggling(setting: Setting, plans: PlanTable) -> Number:
    """The time of the slowest replica's passes over that of their mean. [plan]

    The largest of n normal values lies about sqrt(2 log n) standard deviations above their mean.

    Source: cramer1946, section 28.6.
    """
    if not setting.operators.family.any():
        return 1.0
    spread = setting.coefficients.picture_steps.straggling
    return 1.0 + spread * np.sqrt(2.0 * log(2.0) * doublings(plans.data * plans.context))


def doublings(replicas: Column) -> Column:
    """How often one was doubled to be as many, rounded down; exact for any number. [plan]"""
    counted = np.zeros_like(replicas)
    for power in range(1, MOST_DOUBLINGS + 1):
        counted = counted + (replicas >= 2.0**power)
    return counted
