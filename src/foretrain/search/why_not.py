"""why_not: why is the plan that somebody has in mind not the best?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain

from foretrain.cluster.cluster import Cluster
from foretrain.coefficients.coefficients import Coefficients
from foretrain.errors import NoPlanFits
from foretrain.plan.legality import device_problems, workload_problems
from foretrain.plan.plan import Plan
from foretrain.plan.study import FIXED, Space, Study
from foretrain.plan.table import setting_of, spelled
from foretrain.search.best_plans import best_plans
from foretrain.search.explain.differences import Site, differences, spent
from foretrain.search.explain.limits import MEMORIES, ROOMS, excesses, remedies
from foretrain.search.result import Excess, Remedy, SearchResult, Verdict, WhyNot
from foretrain.search.ways_out import clusters_of, freed, nearest_plan
from foretrain.step.price import price_plan
from foretrain.step.result import Estimate
from foretrain.step.setting import Setting
from foretrain.step.software import study_setting
from foretrain.study.coefficients import DEFAULT
from foretrain.study.plan import Named, named_by, read_named, whole
from foretrain.trainers.chosen import chosen_of, narrowed

TIE = 1e-9
"""Relative difference of two values that is nothing but rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """Where the plan that stands for what was named runs and what it takes."""

    cluster: Cluster
    estimate: Estimate

    @property
    def plan(self) -> Plan:
        """The plan."""
        return self.estimate.plan


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
    # What keeps every plan with the named fields from running, whatever else the study says.
    usual = {name: getattr(study.space, name) for name in FIXED}
    space = Space(**(usual | dict(named)))
    rules = device_problems(study.choices, space) + workload_problems(study.workload, space)
    if (chosen := chosen_of(study)) is not None:
        rules += narrowed(space, chosen.trainer)[1]
    found = None
    if not rules:
        found = _found(study, named, keep=len(answer.ranking), coefficients=coefficients)
        rules = [
            f"no plan on {study.cluster.devices:,} devices has these values together, even if one "
            "more key of [plan] were left out."
        ]
    if found is None:
        return WhyNot(asked=text, verdict=Verdict.ILLEGAL, rules=tuple(rules))
    return _judged(study, text, found=found, answer=answer, coefficients=coefficients)


def _found(study: Study, named: Named, *, keep: int, coefficients: Coefficients) -> _Found | None:
    """The plan that is meant; None if there is none.

    Of several the best that runs; else the best that breaks a limit on the whole training; else
    the one that needs least memory. Where the study's other keys leave no plan, one is freed.
    """
    plan = whole(named)
    if plan is not None:
        places = [each for each in clusters_of(study) if each.devices == plan.devices]
        priced = [
            _priced(study, study_setting(study, place, coefficients), plan) for place in places
        ]
        return min(
            priced,
            key=lambda each: (not each.estimate.fits, spent(study.objective, each.estimate)),
            default=None,
        )
    asked = replace(study, space=replace(study.space, **dict(named)), scenarios=(), maximise=None)
    for each in chain((asked,), (more.study for more in freed(asked, but=named))):
        lean = nearest_plan(each, coefficients)
        if lean is not None:
            # The best plan of a space of which one fits, or the leanest where none does.
            if not lean.fits:
                return _priced(each, study_setting(each, lean.cluster, coefficients), lean.plan)
            try:
                best = best_plans(
                    each, keep=keep, coefficients=coefficients, trade_offs=False
                ).ranking[0]
            except NoPlanFits:
                kept = replace(each.limit, cost=None, deadline=None)
                best = best_plans(
                    replace(each, limit=kept),
                    keep=keep,
                    coefficients=coefficients,
                    trade_offs=False,
                ).ranking[0]
            cluster = _cluster(each, best.cluster, best.nodes)
            return _Found(cluster=cluster, estimate=best.estimate)
    return None


def _priced(study: Study, setting: Setting, plan: Plan) -> _Found:
    estimate = price_plan(setting, plan, assumed=study.assumed, job=study.job)
    return _Found(cluster=setting.cluster, estimate=estimate)


def _cluster(study: Study, name: str, nodes: int) -> Cluster:
    """The cluster of the study's offers that a ranked plan names."""
    return next(each for each in clusters_of(study) if (each.name, each.nodes) == (name, nodes))


def _judged(
    study: Study, asked: str, *, found: _Found, answer: SearchResult, coefficients: Coefficients
) -> WhyNot:
    """What there is to say of a legal plan."""
    best = answer.best
    known = study_setting(study, found.cluster, coefficients)
    excess = tuple(excesses(known, found.estimate, study.limit))
    # Keys of [plan] that leave it out.
    excluded = []
    for name in study.space.keys_against(found.plan, study.workload.model):
        choices, value = getattr(study.space, name), getattr(found.plan, name)
        unless = " unless the study says otherwise" if choices == FIXED.get(name) else ""
        allowed = f"plan.{name} is {', '.join(map(spelled, choices))}{unless}"
        excluded.append(f"{allowed}; this needs {setting_of(name, value)}")
    here = (str(found.plan), found.cluster.name, found.cluster.nodes)
    ranking = [(str(each.plan), each.cluster, each.nodes) for each in answer.ranking]
    place = ranking.index(here) + 1 if here in ranking else None
    loss = spent(study.objective, found.estimate) / spent(study.objective, best.estimate) - 1.0
    # The first that is true says most.
    verdicts = {
        Verdict.MISFIT: any(each.limit in MEMORIES for each in excess),
        Verdict.OVER_LIMIT: bool(excess),
        Verdict.OUTSIDE: bool(excluded),
        Verdict.BEST: place == 1 or abs(loss) <= TIE,
        Verdict.RANKED: place is not None,
    }
    return WhyNot(
        asked=asked,
        verdict=next((each for each, true in verdicts.items() if true), Verdict.LOSES),
        plan=found.plan,
        estimate=found.estimate,
        cluster=found.cluster.name,
        nodes=found.cluster.nodes,
        excluded_by=tuple(excluded),
        excess=excess,
        remedies=_remedies(study, found, excess=excess, coefficients=coefficients),
        place=place,
        loss=loss,
        differences=differences(
            study.objective,
            (_site(study, found.plan, found.cluster), found.estimate),
            (_site(study, best.plan, _cluster(study, best.cluster, best.nodes)), best.estimate),
        ),
    )


def _site(study: Study, plan: Plan, cluster: Cluster) -> Site:
    return Site(plan=plan, cluster=cluster, workload=study.workload)


def _remedies(
    study: Study, found: _Found, *, excess: tuple[Excess, ...], coefficients: Coefficients
) -> tuple[Remedy, ...]:
    """What would make a plan fit that needs too much memory, the best first."""
    if not any(each.limit in ROOMS for each in excess):
        return ()
    known = study_setting(study, found.cluster, coefficients)
    changes = remedies(known, found.plan, study.limit)
    priced = []
    for each in changes:
        there = study_setting(study, each.cluster, coefficients)
        estimate = price_plan(there, each.plan, played=False)
        remedy = Remedy(
            change=each.lines(found.plan, found.cluster),
            plan=each.plan,
            nodes=each.cluster.nodes,
            step_time=estimate.step_time,
            memory=estimate.memory.total,
            value=spent(study.objective, estimate),
        )
        priced.append(remedy)
    return tuple(sorted(priced, key=lambda each: (each.value, str(each.plan))))
