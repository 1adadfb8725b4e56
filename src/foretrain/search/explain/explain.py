"""explain: what limits a plan, which change would help most and by how much, and how sure is that?

A study of one plan is asked about that plan; one that leaves plans open about what a search of it
proposes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from foretrain.coefficients.coefficients import Coefficients
from foretrain.errors import InputError
from foretrain.plan.plan import Plan
from foretrain.plan.spelling import changed
from foretrain.plan.study import Space, Study
from foretrain.search import why_not as doubts
from foretrain.search.best_plans import best_plans
from foretrain.search.explain.alive import fullest_moment
from foretrain.search.explain.explained import Explained, Limitation
from foretrain.search.explain.finding import Finding
from foretrain.search.explain.findings import findings
from foretrain.search.explain.levers import levers
from foretrain.search.explain.limits import slowest_stage
from foretrain.search.explain.pinned import gives_one, left_open, pinned, turned
from foretrain.search.explain.sensitivity import sensitivities
from foretrain.search.explain.waterfall import waterfall
from foretrain.search.result import SearchResult, WhyNot
from foretrain.step.estimate import estimate
from foretrain.step.facts import home
from foretrain.step.result import Estimate
from foretrain.step.software import study_setting
from foretrain.step.trace import step_trace
from foretrain.study.coefficients import DEFAULT
from foretrain.study.plan import read_named


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
