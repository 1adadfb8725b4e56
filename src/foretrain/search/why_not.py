"""why_not: why is the plan that somebody has in mind not the best?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from itertools import chain

from foretrain.cluster.cluster import Cluster
from foretrain.coefficients.coefficients import Coefficients
from foretrain.errors import NoPlanFits
from foretrain.plan.legality import device_problems, workload_problems
from foretrain.plan.plan import Plan, idle, setting_of, spelled
from foretrain.plan.study import FIXED, Space, Study
from foretrain.search.best_plans import best_plans
from foretrain.search.explain.differences import Site, differences, spent
from foretrain.search.explain.remedies import MEMORIES, Changed, excesses, remedies
from foretrain.search.nearest_miss import clusters_of, freed, nearest_plan
from foretrain.search.result import Excess, Remedy, SearchResult, Verdict, WhyNot
from foretrain.step.price import price_plan
from foretrain.step.result import Estimate
from foretrain.step.setting import Setting, setting
from foretrain.study.coefficients import DEFAULT
from foretrain.study.plan import Named, named_by, read_named, whole

TIE = 1e-9
"""Relative difference of two values that is nothing but rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """The plan that stands for what was named, where it runs and what it takes."""

    plan: Plan
    cluster: Cluster
    estimate: Estimate


def why_not(
    study: Study,
    asked: str | Plan,
    *,
    answer: SearchResult,
    coefficients: Coefficients = DEFAULT,
) -> WhyNot:
    """What makes a plan lose against the best, or keeps it from running.

    Args:
        study: the question that was searched.
        asked: a plan; or a text that names some of its fields, of which the best plan that has
            them is meant: "tensor=8 recompute=full", "tp8", or a line of a ranking.
        answer: what the search answered.
        coefficients: those of the search.

    Raises:
        InputError: the text cannot be read.
    """
    named = named_by(asked) if isinstance(asked, Plan) else read_named(asked, where="why_not")
    text = str(asked)
    rules = tuple(_rules(study, named))
    if rules:
        return WhyNot(asked=text, verdict=Verdict.ILLEGAL, rules=rules)
    found = _found(study, named, keep=len(answer.plans), coefficients=coefficients)
    if found is None:
        return WhyNot(asked=text, verdict=Verdict.ILLEGAL, rules=(_no_plan(study),))
    return _judged(study, text, found=found, answer=answer, coefficients=coefficients)


def _rules(study: Study, named: Named) -> Iterator[str]:
    """What keeps every plan with the named fields from running, whatever else the study says."""
    usual = {name: getattr(study.space, name) for name in FIXED}
    space = Space(**(usual | dict(named)))
    yield from device_problems(study.choices, space)
    yield from workload_problems(study.workload, space)


def _no_plan(study: Study) -> str:
    return (
        f"no plan on {study.cluster.devices:,} devices has these values together, even if one more "
        "key of [plan] were left out."
    )


def _found(study: Study, named: Named, *, keep: int, coefficients: Coefficients) -> _Found | None:
    """The plan that is meant; None if there is none.

    Of several the best that runs; else the best that breaks a limit on the whole training; else
    the one that needs least memory. Where the study's other keys leave no plan, one is freed.
    """
    plan = whole(named)
    if plan is not None:
        places = [each for each in clusters_of(study) if each.devices == plan.devices]
        priced = [
            _priced(study, setting(study.workload, place, coefficients), plan) for place in places
        ]
        return min(priced, key=lambda each: _rank(study, each), default=None)
    asked = replace(study, space=replace(study.space, **dict(named)), scenarios=(), maximise=None)
    for each in chain((asked,), (more.study for more in freed(asked, but=named))):
        lean = nearest_plan(each, coefficients)
        if lean is not None:
            # The best plan of a space of which one fits, or the leanest where none does.
            if not lean.fits:
                return _priced(each, setting(each.workload, lean.cluster, coefficients), lean.plan)
            try:
                best = best_plans(each, keep=keep, coefficients=coefficients, trade_offs=False).best
            except NoPlanFits:
                kept = replace(each.limit, cost=None, deadline=None)
                best = best_plans(
                    replace(each, limit=kept),
                    keep=keep,
                    coefficients=coefficients,
                    trade_offs=False,
                ).best
            cluster = _cluster(each, best.cluster, best.nodes)
            return _Found(plan=best.plan, cluster=cluster, estimate=best.estimate)
    return None


def _priced(study: Study, setting: Setting, plan: Plan) -> _Found:
    estimate = price_plan(setting, plan, assumed=study.assumed, job=study.job)
    return _Found(plan=plan, cluster=setting.cluster, estimate=estimate)


def _rank(study: Study, found: _Found) -> tuple[bool, float]:
    return not found.estimate.fits, spent(study.objective, found.estimate)


def _cluster(study: Study, name: str, nodes: int) -> Cluster:
    """The cluster of the study's offers that a ranked plan names."""
    return next(each for each in clusters_of(study) if (each.name, each.nodes) == (name, nodes))


def _judged(
    study: Study, asked: str, *, found: _Found, answer: SearchResult, coefficients: Coefficients
) -> WhyNot:
    """What there is to say of a legal plan."""
    best = answer.best
    known = setting(study.workload, found.cluster, coefficients)
    excess = tuple(excesses(known, found.estimate, study.limit))
    excluded = tuple(_excluded(study, found.plan))
    place = _place(found, answer)
    value, least = (spent(study.objective, each) for each in (found.estimate, best.estimate))
    loss = value / least - 1.0
    there = _cluster(study, best.cluster, best.nodes)
    return WhyNot(
        asked=asked,
        verdict=_verdict(excess, excluded, place=place, loss=loss),
        plan=found.plan,
        estimate=found.estimate,
        cluster=found.cluster.name,
        nodes=found.cluster.nodes,
        excluded_by=excluded,
        excess=excess,
        remedies=_remedies(study, found, excess=excess, coefficients=coefficients),
        place=place,
        loss=loss,
        differences=differences(
            study.objective,
            (_site(study, found.plan, found.cluster), found.estimate),
            (_site(study, best.plan, there), best.estimate),
        ),
    )


def _site(study: Study, plan: Plan, cluster: Cluster) -> Site:
    return Site(plan=plan, cluster=cluster, workload=study.workload)


def _verdict(
    excess: tuple[Excess, ...], excluded: tuple[str, ...], *, place: int | None, loss: float
) -> Verdict:
    if any(each.limit in MEMORIES for each in excess):
        return Verdict.MISFIT
    if excess:
        return Verdict.OVER_LIMIT
    if excluded:
        return Verdict.OUTSIDE
    if place == 1 or abs(loss) <= TIE:
        return Verdict.BEST
    return Verdict.LOSES if place is None else Verdict.RANKED


def _place(found: _Found, answer: SearchResult) -> int | None:
    """Where the plan stands in the ranking."""
    here = (str(found.plan), found.cluster.name, found.cluster.nodes)
    for place, each in enumerate(answer.plans, start=1):
        if (str(each.plan), each.cluster, each.nodes) == here:
            return place
    return None


def _excluded(study: Study, plan: Plan) -> Iterator[str]:
    """Keys of [plan] that leave a plan out, those that change nothing about it apart."""
    quiet = idle(plan, study.workload.model)
    for field in fields(Space):
        choices, value = getattr(study.space, field.name), getattr(plan, field.name)
        if choices is None or value in choices or field.name in quiet:
            continue
        allowed = ", ".join(map(spelled, choices))
        by_default = choices == FIXED.get(field.name)
        unless = " unless the study says otherwise" if by_default else ""
        yield f"plan.{field.name} is {allowed}{unless}; this needs {setting_of(field.name, value)}"


def _remedies(
    study: Study, found: _Found, *, excess: tuple[Excess, ...], coefficients: Coefficients
) -> tuple[Remedy, ...]:
    """What would make a plan fit that needs too much memory, the best first."""
    if not any(each.limit in (*MEMORIES, "memory limit") for each in excess):
        return ()
    known = setting(study.workload, found.cluster, coefficients)
    changes = remedies(known, found.plan, study.limit)
    priced = [_remedy(study, found, each, coefficients=coefficients) for each in changes]
    return tuple(sorted(priced, key=lambda each: (each.value, str(each.plan))))


def _remedy(study: Study, found: _Found, changed: Changed, *, coefficients: Coefficients) -> Remedy:
    known = setting(study.workload, changed.cluster, coefficients)
    estimate = price_plan(known, changed.plan, played=False)
    return Remedy(
        change=changed.lines(found.plan, found.cluster),
        plan=changed.plan,
        nodes=changed.cluster.nodes,
        step_time=estimate.step_time,
        memory=estimate.memory.total,
        value=spent(study.objective, estimate),
    )
