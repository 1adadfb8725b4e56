"""Cases: a plan, what is predicted of it and what was measured, and what other plans would take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd

from foretrain.plan.legality import problems
from foretrain.plan.plan import Plan
from foretrain.search.explain.finding import Change, Measured
from foretrain.step.price import price_plan
from foretrain.step.result import Estimate
from foretrain.step.setting import Setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """What is looked at.

    Attributes:
        known: workload, cluster and coefficients.
        estimate: of the plan.
        measured: what somebody measured of it.
    """

    known: Setting
    estimate: Estimate
    measured: Measured

    @property
    def plan(self) -> Plan:
        """The plan."""
        return self.estimate.plan

    @property
    def step(self) -> float:
        """Seconds of the step, measured if somebody did."""
        return self.measured.step_time or self.estimate.step_time

    def seconds(self, *parts: str) -> float:
        """Of some parts of the step, measured where somebody did."""
        return sum(self.measured.parts.get(each, self.predicted(each)) for each in parts)

    def predicted(self, *parts: str) -> float:
        """Of some parts of the step."""
        return sum(float(getattr(self.estimate.parts, each)) for each in parts)

    def ratio(self, *parts: str) -> float | None:
        """Measured over predicted, of those of some parts that somebody measured."""
        told = [each for each in parts if each in self.measured.parts]
        predicted = self.predicted(*told)
        return self.seconds(*told) / predicted if told and predicted else None

    def priced(self, plan: Plan) -> Estimate | None:
        """Another plan of the same question; None if it is not legal or does not fit."""
        here = self.known
        # Replicas that get fewer samples pass fewer through at once.
        share = here.workload.global_batch // plan.data
        plan = replace(plan, micro_batch=gcd(plan.micro_batch, share)) if share else plan
        if problems(here.workload, here.cluster, plan):
            return None
        found = price_plan(here, plan, played=False)
        return found if found.fits else None

    def quickest(self, plans: Sequence[Plan]) -> Change | None:
        """The quickest of some plans, if it is quicker than this one."""
        priced = [found for plan in plans if (found := self.priced(plan)) is not None]
        best = min(priced, key=lambda each: each.step_time, default=None)
        if best is None or best.step_time >= self.estimate.step_time:
            return None
        gain = 1.0 - best.step_time / self.estimate.step_time
        return Change(change=str(best.plan), plan=best.plan, gain=gain)

    def leanest(self, plans: Sequence[Plan]) -> Change | None:
        """The one of some plans that needs least memory, if it needs less than this one."""
        priced = [found for plan in plans if (found := self.priced(plan)) is not None]
        best = min(priced, key=lambda each: each.memory.total, default=None)
        if best is None or best.memory.total >= self.estimate.memory.total:
            return None
        gain = 1.0 - best.memory.total / self.estimate.memory.total
        return Change(change=str(best.plan), plan=best.plan, gain=gain)
