"""Ladders: plans of which any may be meant, priced side by side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foretrain.cost.factors import factors
from foretrain.cost.held import hold
from foretrain.cost.memory import heaviest_total
from foretrain.cost.setting import Setting
from foretrain.cost.step import step_time
from foretrain.plan.plan import Plan
from foretrain.plan.table import table_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """The plan that is taken to be meant.

    Attributes:
        plan: the first that fits, or the last if none does.
        seconds: a step of every plan that fits, by the closed form.
    """

    plan: Plan
    seconds: tuple[float, ...]


def climb(setting: Setting, plans: tuple[Plan, ...]) -> Rung:
    """The first of some plans that fits, and how long all that fit take.

    Args:
        setting: workload, cluster and coefficients.
        plans: plans that can run, the lightest first, with one schedule and nothing offloaded.
    """
    held = hold(setting, table_of(plans))
    fit = np.flatnonzero(heaviest_total(setting, held) <= setting.cluster.device.memory)
    chosen = plans[fit[0]] if len(fit) else plans[-1]
    seconds = step_time(setting, factors(setting, held))[fit]
    return Rung(plan=chosen, seconds=tuple(map(float, seconds)))
