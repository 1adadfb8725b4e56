"""Proposals: the few plans among those found that differ, each with what speaks for it.

Proposals: the few plans among those found that differ, each with what speaks for it.

Plans whose predictions cannot be told apart are one class; of them the simplest leads, and of those
the one that is surest to fit. What else is shown is of another class: it costs visibly more, and
has something that the first has not.

Proposed: what a search found, as plans with estimates: its ranking, and what it proposes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from math import exp, log, log1p
from typing import Final

from foretrain.cluster.cluster import Cluster, cost
from foretrain.coefficients.coefficients import Coefficients
from foretrain.coefficients.uncertainty import PlanErrors
from foretrain.plan.plan import Plan
from foretrain.plan.study import Study
from foretrain.plan.table import table_of
from foretrain.search.candidate import Candidate, Proposal
from foretrain.search.certainty import Chances, chances, distance
from foretrain.search.found import Front, Incumbents
from foretrain.search.simple import WINDOW, Simple, complexity
from foretrain.step.memory import errors_of, probability
from foretrain.step.price import PriceTable, estimate_of, price_table
from foretrain.step.result import Estimate, Ranked
from foretrain.step.software import moved, study_setting
from foretrain.study.launch_files import practised
from foretrain.study.trainers import trainers
from foretrain.trainers.chosen import that_can

FASTEST: Final = "fastest"
SAFEST: Final = "safest"
SIMPLEST: Final = "simplest"
LEANEST: Final = "least memory"
CHEAPEST: Final = "cheapest"
NEXT: Final = "runner-up"

MOST: Final = 5
FEWEST: Final = 3
"""Plans that are proposed, as far as there are different ones."""

SAFE_WITHIN: Final = 1.1
LEAN_WITHIN: Final = 1.5
"""How many times as much as the best a plan may have that is shown for its memory."""

SAFER: Final = 0.01
"""What a safer plan must add to the probability that it fits."""

WEIGHED: Final = 64
"""Plans, the best ones, among which the truly best one is looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """A plan that a search found.

    Attributes:
        candidate: as the tables priced it.
        value: what is minimised, the event simulation counted where it was run.
        complexity: how many things it needs beside replicas of a whole model.
        share: of a device's memory that it fills.
        fits: how likely the device holds it.
        practised: whether makers of a trainer publish plans that divide a model so.
        cost: dollars of a step, or device-seconds where a cluster has no price.
    """

    candidate: Candidate
    value: float
    complexity: int
    share: float
    fits: float
    practised: bool
    cost: float

    @property
    def plan(self) -> Plan:
        """The plan."""
        return self.candidate.plan

    @property
    def ease(self) -> tuple[int, float, bool, float, str]:
        """What leads a class: the simplest, then the surest to fit, the practised, the quickest.

        How sure counts in whole per cent: beyond that, bytes that are left idle help nobody, and
        plans that leave many of them have small micro-batches, which hosts hold up.
        """
        fits = round(self.fits, 2)
        return self.complexity, -fits, not self.practised, self.value, str(self.plan)


@dataclass(frozen=True, slots=True, kw_only=True)
class Picked:
    """A plan that is proposed.

    Attributes:
        found: the plan.
        names: what speaks for it.
        members: the class that it leads, itself among them.
        probability: that the truly best plan is of its class.
    """

    found: Rival
    names: tuple[str, ...]
    members: tuple[Rival, ...]
    probability: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Picks:
    """What is proposed, the best first, and what choosing it adds to its error, a logarithm."""

    plans: tuple[Picked, ...]
    optimism: float


def picks(every: Sequence[Rival], errors: PlanErrors, *, money: bool, most: int = MOST) -> Picks:
    """The plans to propose of those found.

    Args:
        every: the plans, those beside the front and the simple ones too; at least one.
        errors: how far predictions of two plans err apart.
        money: whether plans differ in what a second costs.
        most: how many to propose.
    """
    order = sorted(every, key=lambda each: (each.value, each.ease))
    names: dict[int, list[str]] = {}
    shown: list[Rival] = []
    for name, wanted in _wanted(order, errors, money=money):
        place = next((n for n, it in enumerate(shown) if _equal(errors, it, wanted)), None)
        if place is None and len(shown) < most:
            shown.append(_leader(errors, wanted, order, shown=shown))
            names[len(shown) - 1] = [name]
        elif place is not None and _as_good(name, shown[place], wanted):
            names[place].append(name)
    for each in order:
        if len(shown) < min(FEWEST, most) and not any(_equal(errors, it, each) for it in shown):
            shown.append(_leader(errors, each, order, shown=shown))
            names[len(shown) - 1] = [NEXT]
    return _weighed(order, errors, shown=shown, names=names)


def _wanted(
    order: Sequence[Rival], errors: PlanErrors, *, money: bool
) -> Iterator[tuple[str, Rival]]:
    """What is shown if it differs, and under which name; the best first."""
    best = order[0]
    leader = _leader(errors, best, order)
    yield FASTEST, best
    near = [each for each in order if each.value <= SAFE_WITHIN * best.value]
    safest = min(near, key=lambda each: (each.share, each.ease))
    yield SAFEST, safest if safest.fits >= leader.fits + SAFER else leader
    simple = min(
        (each for each in order if each.value <= WINDOW * best.value),
        key=lambda each: (each.complexity, each.value),
    )
    yield SIMPLEST, simple
    if money:
        yield CHEAPEST, min(order, key=lambda each: (each.cost, each.ease))
    lean = [each for each in order if each.value <= LEAN_WITHIN * best.value]
    yield LEANEST, min(lean, key=lambda each: (each.share, each.ease))


def _as_good(name: str, shown: Rival, wanted: Rival) -> bool:
    """Whether what is shown has what an equal plan was wanted for."""
    has = {
        SAFEST: shown.fits >= wanted.fits - SAFER,
        SIMPLEST: shown.complexity <= wanted.complexity,
        LEANEST: shown.share <= wanted.share,
        CHEAPEST: shown.cost <= wanted.cost,
    }
    return has.get(name, True)


def _equal(errors: PlanErrors, one: Rival, other: Rival) -> bool:
    """Whether a prediction cannot tell two plans apart."""
    apart = abs(log(one.value / other.value))
    return apart <= log1p(distance(errors, one.plan, other.plan))


def _leader(
    errors: PlanErrors, wanted: Rival, order: Sequence[Rival], *, shown: Sequence[Rival] = ()
) -> Rival:
    """Of the plans equal to one, and to none that is shown, the one to prefer."""
    equals = [
        each
        for each in order
        if _equal(errors, wanted, each) and not any(_equal(errors, it, each) for it in shown)
    ]
    return min(equals, key=lambda each: each.ease, default=wanted)


def _weighed(
    order: Sequence[Rival],
    errors: PlanErrors,
    *,
    shown: Sequence[Rival],
    names: dict[int, list[str]],
) -> Picks:
    """What is shown, with its class and how likely the truly best plan is there."""
    homes = [
        min(
            (n for n, it in enumerate(shown) if it is each or _equal(errors, it, each)),
            default=None,
        )
        for each in order
    ]
    few = [n for n, _ in enumerate(order[:WEIGHED])]
    known: Chances = chances(errors, [order[n].plan for n in few], [order[n].value for n in few])
    plans = [
        Picked(
            found=it,
            names=tuple(names[place]),
            members=tuple(each for each, home in zip(order, homes, strict=True) if home == place),
            probability=sum(known.best[n] for n in few if homes[n] == place),
        )
        for place, it in enumerate(shown)
    ]
    first, *rest = plans
    rest.sort(key=lambda each: each.found.value)
    return Picks(plans=(first, *rest), optimism=known.optimism)


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
