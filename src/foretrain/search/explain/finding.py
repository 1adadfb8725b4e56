"""Findings: what limits a plan, or holds back the run that somebody measured of it.

A *limitation* belongs to the strategy: whoever runs it so meets it. A *bottleneck* belongs to the
framework or the system: it could be mended. Each finding names the term that shows it, how much of
the step or of memory that is, what was measured over what is predicted, and the change that helps
most with what it would gain.

Source: kahira2021, table V (the eleven causes).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from math import isfinite
from typing import NamedTuple

from foretrain.errors import InputError
from foretrain.plan.plan import Plan
from foretrain.step.result import Parts


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
