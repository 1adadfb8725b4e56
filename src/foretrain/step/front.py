"""The front of a network: operators in which a plan divides pictures and the channels of windows.

Source: kahira2021, section 3 (`split` of the front; filters and channels).
"""

from __future__ import annotations

import numpy as np

from foretrain.plan.plan import ChannelSplit
from foretrain.plan.table import PlanTable
from foretrain.workload.graph import Flags, Floats, Operators
from foretrain.workload.operator import KernelFamily


def covered(operators: Operators, plans: PlanTable) -> Flags:
    """Operators of the front that divided pictures and convolutions end with. [operator, plan]"""
    mine: Flags = (plans.split == 0) | (operators.until <= plans.split)
    return mine


def by_channel(plans: PlanTable) -> Flags:
    """Plans that divide channels of the input. [plan]"""
    mine: Flags = plans.convolutions == ChannelSplit.CHANNEL
    return mine


def grouped(operators: Operators) -> Flags:
    """Convolutions of groups of channels. [operator, 1]"""
    found: Flags = np.isin(operators.family, (KernelFamily.GROUPED, KernelFamily.DEPTHWISE))
    return found


def channel_members(operators: Operators, plans: PlanTable) -> Floats:
    """All filters or channels over those of the member that has most. [operator, plan]"""
    units = np.where(by_channel(plans), operators.channels, operators.filters)
    mine = (units > 0) & covered(operators, plans)
    divided: Floats = np.where(mine, units / np.maximum(1.0, np.ceil(units / plans.tensor)), 1.0)
    return divided


def channels_met(operators: Operators, plans: PlanTable) -> tuple[Floats, Floats]:
    """By how many fewer channels a member reads, and has gradients of. [operator, plan]

    Whoever has some filters reads all channels and has the gradients of its own results; whoever
    has some channels of all filters reads those, and has all gradients.
    """
    members, groups, channel = (
        channel_members(operators, plans),
        grouped(operators),
        by_channel(plans),
    )
    return np.where(groups | channel, members, 1.0), np.where(groups | ~channel, members, 1.0)
