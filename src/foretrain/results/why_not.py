"""What `why_not` answers: why a plan that somebody named is not the best."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from foretrain.plan.plan import Plan
from foretrain.results.estimate import Estimate


class Verdict(StrEnum):
    """What keeps a plan from being the best; the first that holds."""

    ILLEGAL = "not legal"
    MISFIT = "does not fit"
    OVER_LIMIT = "breaks a limit"
    OUTSIDE = "outside the space"
    LOSES = "loses"
    RANKED = "ranked"
    BEST = "best"


@dataclass(frozen=True, slots=True, kw_only=True)
class Excess:
    """Something of which a plan needs more than there is, or than the study allows.

    Attributes:
        limit: what is exceeded, in the words of a search's refusals: device memory, deadline.
        needed: what the plan needs: bytes, seconds, dollars, watts.
        allowed: what there is.
    """

    limit: str
    needed: float
    allowed: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """A small change with which a plan fits.

    Attributes:
        change: lines of a study that say so.
        plan: the changed plan.
        nodes: nodes that it runs on.
        step_time: seconds, closed form.
        memory: bytes per device.
        value: what the study minimises.
    """

    change: tuple[str, ...]
    plan: Plan
    nodes: int
    step_time: float
    memory: float
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One part of what is minimised, in both plans.

    Attributes:
        part: name of the part, as in an estimate.
        here: what the plan spends on it.
        best: what the best plan spends on it.
        why: what of the plans makes the difference, in words; may be empty.
    """

    part: str
    here: float
    best: float
    why: str

    @property
    def more(self) -> float:
        """How much more the plan spends; negative where it spends less."""
        return self.here - self.best


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyNot:
    """Why a plan is not the best, or that it is.

    Attributes:
        asked: what was named, as it was written.
        verdict: the answer in a word.
        rules: rules that it breaks, each with what would be legal.
        plan: the plan; of those that have what was named, the best, or where none fits the one
            that needs least memory. None if none is legal.
        estimate: what it takes.
        cluster: name of the cluster on which it would run.
        nodes: how many of its nodes.
        excluded_by: keys of the study that leave it out, in words.
        excess: what it needs more than there is.
        remedies: single changes with which it fits, the best first.
        place: its place in the ranking, from 1; None if it is not among the plans shown.
        loss: by what part of the best plan's value it is worse; negative if it is better.
        differences: parts of what is minimised, the largest difference first; what they add up
            to is the difference of the two values.
    """

    asked: str
    verdict: Verdict
    rules: tuple[str, ...] = ()
    plan: Plan | None = None
    estimate: Estimate | None = None
    cluster: str | None = None
    nodes: int | None = None
    excluded_by: tuple[str, ...] = ()
    excess: tuple[Excess, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    place: int | None = None
    loss: float | None = None
    differences: tuple[Difference, ...] = ()
