"""best_plans: the best plans of one size on one kind of devices, and why the others lose."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import gcd
from operator import itemgetter
from time import process_time

import numpy as np

from foretrain.cluster.cluster import cost, energy
from foretrain.cluster.offer import Offer
from foretrain.coefficients.coefficients import Coefficients
from foretrain.errors import InputError, NoPlanFits
from foretrain.plan.legality import (
    device_problems,
    either,
    kind_problems,
    precision_problems,
    search_problems,
    within,
    workload_problems,
)
from foretrain.plan.plan import Plan
from foretrain.plan.study import Objective, Study
from foretrain.plan.table import table_of
from foretrain.search.bounded import promising_plans, recall, surveys
from foretrain.search.candidate import Candidate, Proposal, Safety, counts_energy, spending
from foretrain.search.exhaustive import every_plan
from foretrain.search.explain.differences import spent as spent_on
from foretrain.search.found import Front, Incumbents
from foretrain.search.proposals import entries, proposed
from foretrain.search.result import Cell, ParetoPoint, Progress, SearchResult
from foretrain.search.simple import Simple
from foretrain.search.survey import Survey
from foretrain.search.table import worth_of
from foretrain.search.ways_out import nearest_miss
from foretrain.step.estimate import over_job_limits
from foretrain.step.memory import HOST_MEMORY, MEMORY, MEMORY_LIMIT, RISK
from foretrain.step.passes import computing_seconds
from foretrain.step.result import Ranked
from foretrain.step.setting import Setting
from foretrain.step.software import study_setting
from foretrain.study.coefficients import DEFAULT
from foretrain.study.trainers import trainers
from foretrain.trainers.chosen import Runners, chosen_of, runners
from foretrain.units import DOLLARS, SECONDS

NEAREST = {"fastest": Objective.TIME, "cheapest": Objective.COST}
"""What the plans are called that come nearest to a deadline and to a limit of cost."""


def best_plans(
    study: Study,
    *,
    coefficients: Coefficients = DEFAULT,
    keep: int = 10,
    exhaustive: bool = False,
    known: Sequence[Plan] = (),
    trade_offs: bool = True,
    progress: Callable[[Progress], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> SearchResult:
    """Find the best legal plans of the study's space, and those that no other beats.

    Args:
        study: workload, what may be rented, the space, the objective and limits.
        coefficients: how well hardware and software do.
        keep: how many of the best plans to answer with.
        exhaustive: whether to price every plan instead of those that no bound excludes; the answer
            is the same.
        known: plans that may be good, such as `shown` of the answer to a similar question; a
            bounded search is quicker with them, and the answer is the same.
        trade_offs: whether to find the Pareto front too; without it more plans are excluded.
        progress: told now and then how far the search has come.
        stop: asked now and then; true ends the search with what was found.

    Raises:
        InputError: the space has no legal plan, or a limit cannot be checked.
        NoPlanFits: no legal plan fits, with the nearest miss, or none keeps the limits.
    """
    wrong = [
        *_problems(study),
        *([] if keep >= 1 else [f"keep must be at least 1, got {keep}."]),
    ]
    if wrong:
        raise InputError("\n".join(dict.fromkeys(wrong)))
    ask = stop or (lambda: False)
    start = process_time()
    settings, spent, who = _settings(study, coefficients), spending(study), _who(study)
    found, aside = (
        Incumbents(keep=keep, front=Front(spending=spent), simple=Simple(), runners=who)
        if trade_offs
        else Incumbents(keep=keep, runners=who)
        for _ in range(2)
    )
    if known and not exhaustive:
        found.recalled = recall(study, settings, known, found=aside)

    def tell() -> None:
        if progress is not None:
            progress(found.progress(study.objective))

    places = () if exhaustive else surveys(study, settings)
    if exhaustive:
        every_plan(study, settings, found=found, tell=tell, stop=ask)
    else:
        promising_plans(study, places, found=found, tell=tell, stop=ask)
    seconds = process_time() - start
    ranking = _ranked(study, coefficients, found, stop=ask)
    if not ranking:
        raise _nothing(study, found, coefficients)
    money = spent.several
    plans = proposed(study, coefficients, found=found, ranking=ranking, money=money, stop=ask)
    safety = None
    if trade_offs and found.rejected[RISK] and not ask():
        places = places or surveys(study, settings)
        safest = Incumbents(keep=1, best=found.best[:1], runners=who)
        safety = _safety(study, coefficients, ranking[0][1], places=places, known=safest)
    answer = _answer(study, found, plans, settings=settings.values(), seconds=seconds)
    return replace(answer, ranking=tuple(entry for _, entry in ranking), safety=safety)


def _problems(study: Study) -> list[str]:
    """Why a study has no answer."""
    workload, offers = study.workload, study.choices
    return [
        *kind_problems(study),
        *(text for offer in offers for text in precision_problems(workload, offer.cluster)),
        *device_problems(offers, study.space),
        *workload_problems(workload, study.space),
        *search_problems(workload, offers, objective=study.objective, limit=study.limit),
        *_start_problems(study),
    ]


def _start_problems(study: Study) -> Iterator[str]:
    """Why what a failed start costs cannot count."""
    if study.failed_start is None:
        return
    if not study.failed_start >= 0:
        yield f"search.failed_start: must be at least 0 s, got {study.failed_start}."
    if study.workload.samples is None:
        yield "search.failed_start: needs workload.amount: how much to train."
    if study.objective is Objective.MEMORY:
        yield "search.failed_start: is no part of memory. Leave one of them out."


def _settings(study: Study, coefficients: Coefficients) -> dict[Offer, Setting]:
    """What plans are priced in, on each offer that keeps the limits."""
    offers = within(study.choices, study.limit)
    return {offer: study_setting(study, offer.cluster, coefficients) for offer in offers}


def _who(study: Study) -> Runners | None:
    """Who may run a plan, where the study names no trainer."""
    return runners(trainers(), study.space) if chosen_of(study) is None else None


def _safety(
    study: Study,
    coefficients: Coefficients,
    best: Ranked,
    *,
    places: Sequence[Survey],
    known: Incumbents,
) -> Safety | None:
    """What it costs that the best plan is safe; None where the best of all plans is.

    `known`: the best safe plan, beside which a plan that is slower need not be looked at.
    """
    free = replace(study, limit=replace(study.limit, fits=0.0))
    riskier = _quickest(free, coefficients, places=places, who=known.runners, known=known)
    if riskier is None or riskier.plan == best.plan:
        return None
    had, has = (spent_on(study.objective, it.estimate) for it in (riskier, best))
    return Safety(fits=study.limit.fits, riskier=riskier, gain=1.0 - had / has)


def _answer(
    study: Study,
    found: Incumbents,
    plans: tuple[Proposal, ...],
    *,
    settings: Iterable[Setting],
    seconds: float,
) -> SearchResult:
    """What was found, as the verb answers it."""
    gap = found.gap
    front = found.front.ranked if isinstance(found.front, Front) else []
    assert gap is not None, "a search ended without a bound of what it left"
    return SearchResult(
        objective=study.objective,
        best=plans[0],
        plans=plans,
        pareto=tuple(
            ParetoPoint(
                plan=each.plan,
                step_time=each.step_time,
                memory=each.memory,
                cost_per_step=cost(each.cluster, each.step_time, devices=each.plan.devices),
                energy_per_step=joules,
                cluster=each.cluster.name,
                devices=each.plan.devices,
            )
            for each, joules in zip(front, _drawn(front, settings), strict=True)
        ),
        space=found.space,
        priced=found.priced,
        excluded_by_bound=found.excluded,
        rejected=dict(found.rejected),
        unseen=found.space - found.settled,
        cells=tuple(
            Cell(
                tensor=tensor,
                pipeline=pipeline,
                plans=corner.plans,
                best=corner.best.value if corner.best else None,
                plan=corner.best.plan if corner.best else None,
                bound=None if corner.bound == np.inf else corner.bound,
            )
            for (tensor, pipeline), corner in sorted(found.corners.items(), key=itemgetter(0))
        ),
        seconds=seconds,
        proven_optimal=gap == 0.0,
        gap=gap,
    )


def _drawn(front: Sequence[Candidate], settings: Iterable[Setting]) -> list[float | None]:
    """Joules of each plan's step; None without power figures."""
    found: list[float | None] = [None] * len(front)
    for setting in settings:
        here = [place for place, each in enumerate(front) if each.cluster is setting.cluster]
        if not here or setting.cluster.node_power is None:
            continue
        plans = table_of([front[place].plan for place in here])
        seconds = np.array([front[place].step_time for place in here])
        busy = computing_seconds(setting, plans)
        joules = energy(setting.cluster, seconds, computing=busy, devices=plans.devices)
        assert joules is not None, "a cluster that states its power draws nothing"
        for place, each in zip(here, joules.tolist(), strict=True):
            found[place] = each
    return found


def _ranked(
    study: Study, coefficients: Coefficients, found: Incumbents, *, stop: Callable[[], bool]
) -> tuple[tuple[Candidate, Ranked], ...]:
    """The best plans with their estimates, the event simulation included, in order.

    The limits on the whole training are now held against whole jobs, with steps as the simulation
    moves them.
    """
    ranked, drawn = [], counts_energy(study)
    for candidate, entry in entries(study, coefficients, found.best, stop=stop):
        estimate, cluster = entry.estimate, candidate.cluster
        devices = np.array([float(candidate.plan.devices)])
        whole = np.array([estimate.time_to_train], np.float64)
        over = over_job_limits(study.limit, cluster, devices=devices, seconds=whole)
        if any(broken[0] for broken in over.values()):
            found.revoke(candidate, next(name for name, broken in over.items() if broken[0]))
            continue
        known = study_setting(study, cluster, coefficients)
        worth = worth_of(
            study,
            known,
            devices=devices,
            seconds=np.array([estimate.step_time]),
            memory=np.array([candidate.memory]),
            computing=computing_seconds(known, table_of([candidate.plan])) if drawn else None,
        )
        ranked.append((replace(candidate, value=float(worth[0])), entry))
    return tuple(sorted(ranked, key=lambda each: each[0].rank))


def _nothing(
    study: Study, found: Incumbents, coefficients: Coefficients
) -> NoPlanFits | InputError:
    """The error of a search that found no plan."""
    if not found.space and found.complete:
        return InputError(_no_legal_plan(study))
    reasons = ", ".join(f"{count:,} by {reason}" for reason, count in found.rejected.items())
    if not found.complete:
        return NoPlanFits("the search was stopped before it found a plan that fits.")
    if found.priced:
        return NoPlanFits(
            "each of the best plans is over search.limit once its step is simulated and its whole "
            "job counted. Relax the limit, or ask for more plans with --keep."
        )
    text = f"no plan fits: all {found.space:,} legal plans are refused ({reasons})."
    if (
        sum(found.rejected[name] for name in (MEMORY, RISK, MEMORY_LIMIT, HOST_MEMORY))
        < found.space
    ):
        # What a whole training takes under the plans that come nearest to the limits.
        limits = {"fastest": study.limit.deadline, "cheapest": study.limit.cost}
        free = replace(study.limit, deadline=None, cost=None)
        told = []
        for called in (called for called, limit in limits.items() if limit is not None):
            asked = replace(study, objective=NEAREST[called], limit=free)
            best = best_plans(asked, coefficients=coefficients, keep=1, trade_offs=False).best
            days, dollars = best.estimate.time_to_train, best.estimate.cost_to_train
            amounts = (
                SECONDS.write(days) if days else "",
                DOLLARS.write(dollars) if dollars else "",
            )
            home = f"{best.nodes:,} x {best.cluster}"
            told.append(
                f"- the {called} plan, {best.plan} on {home}: {', '.join(filter(None, amounts))}"
            )
        over_limits = "\n".join(
            ["Without limits on the whole training:", *told, "Relax search.limit."]
        )
        return NoPlanFits(f"{text} {over_limits}")
    quick = partial(quickest, coefficients=coefficients)
    return NoPlanFits(f"{text} {nearest_miss(study, coefficients=coefficients, best=quick)}")


def quickest(study: Study, *, coefficients: Coefficients) -> Ranked | None:
    """The plan that has least of what a study minimises, and nothing beside; None without one."""
    if _problems(study):
        return None
    places = surveys(study, _settings(study, coefficients))
    return _quickest(study, coefficients, places=places, who=_who(study))


def _quickest(
    study: Study,
    coefficients: Coefficients,
    *,
    places: Sequence[Survey],
    who: Runners | None,
    known: Incumbents | None = None,
) -> Ranked | None:
    """The same, of regions that are known, as long as it is better than what is known."""
    found = Incumbents(keep=1, runners=who, recalled=known)
    promising_plans(study, places, found=found, tell=lambda: None, stop=lambda: False)
    ranking = _ranked(study, coefficients, found, stop=lambda: False)
    return ranking[0][1] if ranking else None


def _no_legal_plan(study: Study) -> str:
    """Why the degrees cannot multiply to the device count."""
    model = study.workload.model
    devices = either(sorted({each for offer in study.choices for each in offer.devices}))
    units = gcd(*(o.units for _, o in model.operators if o.units and not o.experts))
    # Where nothing else bounds it, members of the tensor axis share the channels of convolutions.
    parts = units or "the channels of its convolutions"
    axes, context, experts, fewer = "data x tensor x pipeline", "", "", ""
    if model.attends:
        axes = "data x tensor x context x pipeline"
        context = f"2 x context divides the {model.tokens} tokens of a sample, "
    if model.experts:
        count = gcd(*(o.experts for _, o in model.operators if o.experts))
        experts = f", and expert divides the {count} experts and data x tensor x context"
    if study.cluster.nodes > 1 and not study.offers:
        # All nodes must be used as the question stands.
        most = study.cluster.nodes
        fewer = f" Or let a plan use fewer: cluster.nodes = {{ least = 1, most = {most} }}."
    return (
        f"the space has no legal plan for {model.name} on {devices} devices: {axes} must be "
        f"{devices}, where tensor divides {parts}, {context}pipeline cuts the "
        f"{model.cuttable_layers} layers and data divides the {study.workload.global_batch} "
        f"samples of workload.global_batch{experts}. Free a key of [plan], or change batch or "
        f"nodes.{fewer}"
    )
