"""Proposed: what a search found, as plans with estimates: its ranking, and what it proposes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from math import exp

from foretrain.cluster.cluster import Cluster, cost
from foretrain.coefficients.coefficients import Coefficients
from foretrain.plan.plan import Plan
from foretrain.plan.study import Study
from foretrain.plan.table import table_of
from foretrain.search.candidate import Candidate
from foretrain.search.found import Incumbents
from foretrain.search.front import Front
from foretrain.search.proposal import Proposal
from foretrain.search.proposals import MOST, Picked, Rival, picks
from foretrain.search.simple import Simple, complexity
from foretrain.step.memory import errors_of, probability
from foretrain.step.price import PriceTable, estimate_of, price_table
from foretrain.step.result import Estimate, Ranked
from foretrain.step.software import moved, study_setting
from foretrain.study.launch_files import practised
from foretrain.study.trainers import trainers
from foretrain.trainers.chosen import that_can

Stop = Callable[[], bool]
Entries = Sequence[tuple[Candidate, Ranked]]
"""Plans as the tables priced them, and as they are answered."""


def entries(
    study: Study, coefficients: Coefficients, candidates: Sequence[Candidate], *, stop: Stop
) -> list[tuple[Candidate, Ranked]]:
    """Some plans, each with its step simulated.

    Once stopped, the closed form alone answers for all of them: plans of two resolutions make no
    ranking, and the gap of a search that was cut short is that of the closed form.
    """
    # Each plan on no more nodes than it uses: the table of those beside it, and its row there.
    together: dict[Cluster, list[Plan]] = {}
    rows = []
    for candidate in candidates:
        plans = together.setdefault(candidate.rented, [])
        rows.append(len(plans))
        plans.append(candidate.plan)
    tables = {
        cluster: price_table(study_setting(study, cluster, coefficients), plans)
        for cluster, plans in together.items()
    }
    every = [(each, (tables[each.rented], row)) for each, row in zip(candidates, rows, strict=True)]
    found = []
    for candidate, priced in every:
        if stop():
            return [(each, _entry(study, place, each, played=False)) for each, place in every]
        found.append((candidate, _entry(study, priced, candidate, played=True)))
    return found


def _entry(
    study: Study, priced: tuple[PriceTable, int], candidate: Candidate, *, played: bool
) -> Ranked:
    """A plan as it is answered."""
    (table, row), cluster = priced, candidate.rented
    estimate = estimate_of(table, row, assumed=study.assumed, played=played, job=study.job)
    estimate = moved(study, cluster, table.setting.coefficients, estimate=estimate)
    return Ranked(
        plan=candidate.plan,
        estimate=estimate,
        cluster=cluster.name,
        nodes=cluster.nodes,
        trainers=that_can(trainers(), candidate.plan),
    )


def proposed(
    study: Study,
    coefficients: Coefficients,
    *,
    found: Incumbents,
    ranking: Entries,
    money: bool,
    stop: Stop,
) -> tuple[Proposal, ...]:
    """The plans to propose of all that a search found, the one to run first.

    Args:
        study: the question.
        coefficients: those of the search.
        found: what the search found.
        ranking: the plans that have least, with their estimates.
        money: whether plans differ in what a second costs.
        stop: whether the answer is wanted at once.
    """
    known = {(entry.plan, entry.cluster): entry for _, entry in ranking}
    besides = [each for each in _besides(found) if (each.plan, each.cluster.name) not in known]
    every = [*(candidate for candidate, _ in ranking), *besides]
    chosen = picks(
        _found(study, coefficients, every),
        coefficients.plan_errors,
        money=money,
        most=min(MOST, found.keep),
    )
    missing = [
        each.found.candidate
        for each in chosen.plans
        if (each.found.plan, each.found.candidate.cluster.name) not in known
    ]
    known |= {
        (entry.plan, entry.cluster): entry
        for _, entry in entries(study, coefficients, missing, stop=stop)
    }
    first, *rest = [
        _proposal(
            known[each.found.plan, each.found.candidate.cluster.name],
            each,
            place=place,
            first=chosen.plans[0].found.value,
        )
        for place, each in enumerate(chosen.plans)
    ]
    return replace(first, estimate=chosen_among(first.estimate, chosen.optimism)), *rest


def _besides(found: Incumbents) -> Iterable[Candidate]:
    """Plans that count for something beside having least, each once."""
    several: dict[tuple[Plan, str], Candidate] = {}
    if isinstance(found.front, Front):
        several |= {(each.plan, each.cluster.name): each for each in found.front.ranked}
    if isinstance(found.simple, Simple):
        several |= {(each.plan, each.cluster.name): each for each, _ in found.simple.members}
    return several.values()


def _found(study: Study, coefficients: Coefficients, every: Sequence[Candidate]) -> list[Rival]:
    """Candidates with what speaks for each of them."""
    errors = {
        cluster: errors_of(study_setting(study, cluster, coefficients))
        for cluster in dict.fromkeys(each.cluster for each in every)
    }
    spread = study.workload.model.spread
    complexities = complexity(table_of([each.plan for each in every])).astype(int).tolist()
    found = []
    for each, complex_ in zip(every, complexities, strict=True):
        devices, memory = float(each.plan.devices), each.cluster.device.memory
        dollars = cost(each.cluster, each.step_time, devices=devices)
        rival = Rival(
            candidate=each,
            value=each.value,
            complexity=complex_,
            share=each.memory / memory,
            practised=practised(each.plan),
            fits=probability(each.memory, memory, errors[each.cluster], spread=spread),
            cost=devices * each.step_time if dollars is None else dollars,
        )
        found.append(rival)
    return found


def _proposal(entry: Ranked, picked: Picked, *, place: int, first: float) -> Proposal:
    told = {each.name: getattr(entry, each.name) for each in fields(entry)}
    return Proposal(
        **told,
        name=", ".join(picked.names),
        class_=place,
        probability_best=picked.probability,
        folded=len(picked.members) - 1,
        more=picked.found.value / first - 1.0,
    )


def chosen_among(estimate: Estimate, optimism: float) -> Estimate:
    """An estimate of a plan that was chosen among others, which hides some of its error.

    Args:
        estimate: what the plan takes, whoever chose it.
        optimism: how much longer than predicted it takes for having been chosen, a logarithm.
    """
    high = estimate.step_time_high * exp(optimism)
    whole, steps = estimate.time_to_train_high, estimate.job.parts
    bill = estimate.cost_to_train_high
    if whole is not None and steps is not None:
        more = (high - estimate.step_time_high) / estimate.step_time * steps.steps
        bill = None if bill is None else bill * (1.0 + more / whole)
        whole += more
    return replace(estimate, step_time_high=high, time_to_train_high=whole, cost_to_train_high=bill)
