"""Findings: what limits a plan, or holds back the run that somebody measured of it.

A *limitation* belongs to the strategy: whoever runs it so meets it. A *bottleneck* belongs to the
framework or the system: it could be mended. Each finding names the term that shows it, how much of
the step or of memory that is, what was measured over what is predicted, and the change that helps
most with what it would gain.

Source: kahira2021, table V (the eleven causes).

Cases: a plan, what is predicted of it and what was measured, and what other plans would take.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from math import gcd, isfinite
from typing import NamedTuple

from foretrain.errors import InputError
from foretrain.plan.legality import problems
from foretrain.plan.plan import Plan
from foretrain.step.price import price_plan
from foretrain.step.result import Estimate, Parts
from foretrain.step.setting import Setting


class Category(StrEnum):
    """What is short."""

    COMMUNICATION = "communication"
    MEMORY = "memory"
    COMPUTATION = "computation"
    SCALING = "scaling"


class Nature(StrEnum):
    """Whose it is."""

    LIMITATION = "limitation"
    BOTTLENECK = "bottleneck"


class Cause(NamedTuple):
    """One of the causes.

    Attributes:
        id: its name.
        category: what is short.
        nature: whose it is.
        phases: in which it is felt: input, passes, gradients, update.
        cause: strategy, framework or system.
    """

    id: str
    category: Category
    nature: Nature
    phases: tuple[str, ...]
    cause: str


_EVERY = ("input", "passes", "gradients", "update")
_EXCHANGED = ("passes", "gradients")
_L, _B = Nature

CAUSES = (
    Cause("gradient-exchange", Category.COMMUNICATION, _L, ("gradients",), "strategy"),
    Cause("layer-wise-collectives", Category.COMMUNICATION, _L, ("passes",), "strategy"),
    Cause("host-path", Category.COMMUNICATION, _B, _EXCHANGED, "framework"),
    Cause("congestion", Category.COMMUNICATION, _B, _EXCHANGED, "system"),
    Cause("input-staging", Category.COMMUNICATION, _B, ("input",), "framework"),
    Cause("redundant-copies", Category.MEMORY, _B, _EVERY, "strategy"),
    Cause("fragmentation", Category.MEMORY, _B, _EVERY, "framework"),
    Cause("weight-update", Category.COMPUTATION, _L, ("update",), "strategy"),
    Cause("stage-imbalance", Category.COMPUTATION, _L, ("passes", "update"), "strategy"),
    Cause("compute-redundancy", Category.COMPUTATION, _B, ("passes", "update"), "framework"),
    Cause("scaling-limit", Category.SCALING, _L, _EVERY, "strategy"),
)
"""Every cause, in the order of the published table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What would help.

    Attributes:
        change: in words, or the plan that it leads to.
        plan: that plan; None where it is not the plan that changes.
        gain: share of the step's time, or of the device's memory, that it is predicted to save;
            None where nothing predicts it.
    """

    change: str
    plan: Plan | None = None
    gain: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One cause that shows.

    Attributes:
        kind: which.
        term: what shows it, a part of the step or of memory.
        share: of the step, or of memory; the degree over its limit for a limit on scaling.
        measured_ratio: measured over predicted; None where nothing was measured.
        evidence: the same in a sentence.
        remedy: what helps most; None if nothing that is known does.
    """

    kind: Cause
    term: str
    share: float
    measured_ratio: float | None
    evidence: str
    remedy: Change | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What somebody measured of the run that a plan describes; None for what nobody did.

    Attributes:
        step_time: seconds of one step.
        parts: seconds of its parts, by the names of `Parts`.
        allocated: most bytes on a device that the framework's allocator had handed out.
        reserved: most bytes that it had taken from the device.
    """

    step_time: float | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    allocated: float | None = None
    reserved: float | None = None

    def __post_init__(self) -> None:
        known = {each.name for each in fields(Parts)}
        if unknown := sorted(set(self.parts) - known):
            raise InputError(
                f"Measured.parts: a step has no part {', '.join(unknown)}. It has "
                f"{', '.join(sorted(known))}."
            )
        amounts = {f"parts[{name!r}]": value for name, value in self.parts.items()} | {
            name: getattr(self, name) for name in ("step_time", "allocated", "reserved")
        }
        for name, value in amounts.items():
            if value is not None and not (isfinite(value) and value >= 0):
                raise InputError(f"Measured.{name} must be at least 0 and finite, got {value}.")


NOTHING = Measured()


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
