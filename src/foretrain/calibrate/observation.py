"""Observations: measured steps, ready to be predicted with many sets of coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

from foretrain.coefficients.coefficients import Coefficients
from foretrain.cost.factors import factors
from foretrain.cost.held import Held, hold
from foretrain.cost.setting import Setting, recalibrated
from foretrain.cost.step import step_time
from foretrain.plan.plan import Plan
from foretrain.plan.table import table_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Observation:
    """A measured step.

    Attributes:
        measured: seconds.
        setting: what ran and where, with some coefficients.
        held: the plan and what its stages hold; cuts stay as some coefficients balanced them.
    """

    measured: float
    setting: Setting
    held: Held

    def log_seconds(self, coefficients: Coefficients) -> float:
        """Logarithm of the seconds that a step takes, by the closed form."""
        priced = recalibrated(self.setting, coefficients)
        return log(float(step_time(priced, factors(priced, self.held))[0]))


def observation(setting: Setting, plan: Plan, *, measured: float) -> Observation:
    """A measured step of one plan."""
    return Observation(measured=measured, setting=setting, held=hold(setting, table_of([plan])))
