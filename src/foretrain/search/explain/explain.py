"""explain: what limits a plan, which change would help most and by how much, and how sure is that?

A study of one plan is asked about that plan; one that leaves plans open about what a search of it
proposes.

What `explain` answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from foretrain.coefficients.coefficients import Coefficients
from foretrain.coefficients.intervals import Nearest
from foretrain.errors import InputError
from foretrain.plan.plan import Plan
from foretrain.plan.study import Space, Study
from foretrain.plan.table import changed
from foretrain.search import why_not as doubts
from foretrain.search.best_plans import best_plans
from foretrain.search.explain.breakdown import Fall, FullestMoment, fullest_moment, waterfall
from foretrain.search.explain.departures import gives_one, left_open, pinned, turned
from foretrain.search.explain.finding import Finding
from foretrain.search.explain.findings import findings
from foretrain.search.explain.levers import Lever, levers
from foretrain.search.explain.limits import BoundOperator, slowest_stage
from foretrain.search.explain.sensitivity import Sensitivity, sensitivities
from foretrain.search.result import SearchResult, WhyNot
from foretrain.show.document import Shown
from foretrain.show.table import label
from foretrain.show.words import percent
from foretrain.step.estimate import estimate
from foretrain.step.facts import home
from foretrain.step.price import PASSES
from foretrain.step.result import Estimate
from foretrain.step.software import study_setting
from foretrain.step.trace import StepTrace, step_trace
from foretrain.study.coefficients import DEFAULT
from foretrain.study.plan import read_named


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


@dataclass(frozen=True, slots=True, kw_only=True)
class MeantPlan:
    """The one plan that a study means.

    Attributes:
        study: of that plan alone; only what a trainer decides unasked is still open.
        estimate: what it takes.
        found: the search that proposed it; None where the study gives the plan.
    """

    study: Study
    estimate: Estimate
    found: SearchResult | None


def explain(
    study: Study,
    *,
    coefficients: Coefficients = DEFAULT,
    why_not: Sequence[str | Plan] = (),
) -> Explained:
    """Say why a plan takes what it takes, what would help, and what stands behind the answer.

    Args:
        study: of one plan; of one that leaves plans open, the plan that a search proposes is meant.
        coefficients: how well hardware and software do.
        why_not: plans of which to say why they are not the best, as `search` is asked; where the
            study gives its plan, that is told of too.

    Raises:
        InputError: the question has no answer, or the plan cannot run on the cluster.
        NoPlanFits: the study leaves plans open, and none fits.
    """
    for text in why_not:
        if isinstance(text, str):
            read_named(text, where="why_not")
    meant = meant_by(study, coefficients)
    one, here = meant.study, meant.estimate
    known = study_setting(one, one.cluster, coefficients)
    stage = slowest_stage(known, here.plan, step_time=here.step_time)
    return Explained(
        plan=here.plan,
        cluster=one.cluster.name,
        nodes=one.cluster.nodes,
        proposed=meant.found is not None,
        estimate=here,
        waterfall=waterfall(known, here, stage),
        operators=tuple(sorted(stage.operators, key=lambda each: -each.device)),
        peak=fullest_moment(known, here, stage),
        sensitivities=sensitivities(one, here, coefficients),
        levers=levers(one, here, coefficients),
        findings=tuple(
            _limitation(each, meant, coefficients)
            for each in findings(pinned(one, here.plan, one.cluster), coefficients=coefficients)
        ),
        evidence=here.confidence.nearest,
        trace=step_trace(known, here) if here.simulated is not None else None,
        why_not=_doubts(study, meant, why_not, coefficients=coefficients),
    )


def meant_by(study: Study, coefficients: Coefficients) -> MeantPlan:
    """The plan that a study gives, or the one that a search proposes.

    Raises:
        InputError: the study asks for a size, or for two kinds of devices.
        NoPlanFits: it leaves plans open, and none fits.
    """
    if study.maximise is not None or study.mixed is not None:
        key = "search.maximise" if study.maximise is not None else "cluster.groups"
        raise InputError(f"{key}: one plan on one kind of devices is explained. Leave it out.")
    found: SearchResult | None = None
    free: tuple[str, ...] = ()
    if gives_one(study):
        plan, cluster = estimate(study, coefficients=coefficients).plan, study.cluster
        free = left_open(study)
    else:
        alone = replace(study, scenarios=())
        found = best_plans(alone, coefficients=coefficients, keep=1)
        plan, cluster = found.best.plan, home(study, found.best).cluster
    one = pinned(study, plan, cluster, free=free)
    return MeantPlan(study=one, estimate=estimate(one, coefficients=coefficients), found=found)


def _limitation(found: Finding, meant: MeantPlan, coefficients: Coefficients) -> Limitation:
    """A finding, its remedy estimated as the plan itself is."""
    remedy, here = found.remedy, meant.estimate
    gain = None if remedy is None else remedy.gain
    helps = "" if remedy is None else remedy.change
    if remedy is not None and remedy.plan is not None:
        other = turned(meant.study, (here.plan, remedy.plan), meant.study.cluster)
        there = estimate(other, coefficients=coefficients)
        helps = ", ".join(changed(here.plan, remedy.plan))
        gain = 1.0 - there.step_time / here.step_time
        if found.term == "memory":
            gain = 1.0 - there.memory.total / here.memory.total
    return Limitation(
        id=found.kind.id,
        nature=found.kind.nature.value,
        term=found.term,
        share=found.share,
        evidence=found.evidence,
        remedy=helps,
        gain=gain,
    )


def _doubts(
    study: Study, meant: MeantPlan, asked: Sequence[str | Plan], *, coefficients: Coefficients
) -> tuple[WhyNot, ...]:
    """Why plans are not the best of all that the study could have had."""
    if not asked:
        return ()
    if meant.found is not None:
        there, found, every = study, meant.found, list(asked)
    else:
        # Nothing of the plan is given any more: what its study says of it is what is doubted.
        there = replace(study, space=Space(), scenarios=())
        found = best_plans(there, coefficients=coefficients, keep=1)
        every = [meant.estimate.plan, *asked]
    return tuple(
        doubts.why_not(there, each, answer=found, coefficients=coefficients) for each in every
    )
