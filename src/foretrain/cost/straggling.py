"""Stragglers: replicas that add up their gradients wait for the slowest of them.

Devices of one kind differ in clock and temperature, and each of them from pass to pass.
"""

from __future__ import annotations

from math import log

import numpy as np

from foretrain.cost.setting import Setting
from foretrain.cost.stages import Number
from foretrain.plan.table import Column, PlanTable


def straggling(setting: Setting, plans: PlanTable) -> Number:
    """The time of the slowest replica's passes over that of their mean. [plan]

    The largest of n normal values lies about sqrt(2 log n) standard deviations above their mean.
    Of pictures the spread is wider: decoding and batches of objects differ too, unless the device
    runs one compiled program that waits for no host.

    Source: cramer1946, section 28.6.
    """
    known = setting.coefficients
    wider = setting.operators.family.any() and not setting.software.whole
    spread = known.picture_steps.straggling if wider else known.step.spread
    return 1.0 + spread * np.sqrt(2.0 * log(2.0) * doublings(plans.data * plans.context))


def doublings(replicas: Column) -> Column:
    """How often one was doubled to be as many, rounded down; exact for any number. [plan]"""
    return np.frexp(replicas)[1] - 1.0
