"""What `explain` answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from foretrain.coefficients.intervals import Nearest
from foretrain.errors import InputError
from foretrain.plan.plan import Plan
from foretrain.search.explain.alive import FullestMoment
from foretrain.search.explain.levers import Lever
from foretrain.search.explain.limits import BoundOperator
from foretrain.search.explain.sensitivity import Sensitivity
from foretrain.search.explain.waterfall import Fall
from foretrain.search.result import WhyNot
from foretrain.show.document import Shown
from foretrain.show.table import label
from foretrain.show.words import percent
from foretrain.step.price import PASSES
from foretrain.step.result import Estimate
from foretrain.step.trace import StepTrace


@dataclass(frozen=True, slots=True, kw_only=True)
class Limitation:
    """A finding of the detector.

    Attributes:
        id: of the cause, by the published table.
        nature: a limitation of the strategy, or a bottleneck that could be mended.
        term: what shows it, a part of the step or of memory.
        share: of the step, or of memory.
        evidence: the same in a sentence, with its seconds or bytes.
        remedy: what helps most; empty if nothing that is known does.
        gain: share of the step, or of memory, that the remedy saves: of a plan the difference of
            two estimates; None where nothing predicts it.
    """

    id: str = field(metadata=label("finding"))
    nature: str = field(metadata=label("is a", spare=2))
    term: str
    share: float = field(metadata=label("share", percent, meaning="of the step, or of memory"))
    evidence: str = field(metadata=label("evidence"))
    remedy: str = field(metadata=label("helps", spare=1))
    gain: float | None = field(metadata=label("gain", percent))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Explained(Shown):
    """Why a plan takes what it takes, and what would change it.

    Attributes:
        plan: the plan.
        cluster: name of the cluster on which it runs.
        nodes: how many of its nodes.
        proposed: whether the study leaves the plan open, and this is what a search proposes.
        estimate: what it takes.
        waterfall: from ideal compute to the step; the seconds add up to it.
        operators: what bounds each operator on the slowest stage, the longest first.
        peak: when memory is fullest, and what is alive then.
        sensitivities: what a tenth more of every resource and coefficient does.
        levers: changes that save time or money, those that save most time first.
        findings: of the detector.
        evidence: measured runs that are most like the plan.
        why_not: why plans that somebody named are not this one, or not the best.
        trace: the `StepTrace` of its step, no part of a document; None of a step of so many passes
            that it is not simulated.
    """

    rows: ClassVar[str] = "waterfall"
    columns: ClassVar[tuple[str, ...]] = ("name", "seconds", "share", "cause")

    plan: Plan
    cluster: str
    nodes: int
    proposed: bool
    estimate: Estimate
    waterfall: tuple[Fall, ...]
    operators: tuple[BoundOperator, ...]
    peak: FullestMoment
    sensitivities: tuple[Sensitivity, ...]
    levers: tuple[Lever, ...]
    findings: tuple[Limitation, ...]
    evidence: tuple[Nearest, ...]
    why_not: tuple[WhyNot, ...] = ()
    trace: Any = field(default=None, repr=False, compare=False)


def simulated(answer: Explained) -> StepTrace:
    """The trace of a plan's step.

    Raises:
        InputError: its step has so many passes that it is not simulated.
    """
    if answer.trace is None:
        raise InputError(
            f"there is no timeline of a step of more than {PASSES:,} passes, which is not "
            "simulated. Ask about fewer micro-batches: a smaller workload.global_batch."
        )
    found: StepTrace = answer.trace
    return found
