"""What a choice by the rule of proposals costs, and whether its probabilities are reliable.

    python -m validation.choosing            # prints every figure; fails on a drop below the record
    python -m validation.choosing --record   # writes recorded_choosing.toml and the page's table

Plans of published groups (runs that differ in nothing but the plan) stand for what a search found.
Each is predicted by the set that was fitted without its family of software, and how far two
predictions err apart is learned without the group's source. The exit status is 1 if a figure is
worse than the recorded one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from validation.fitting.decisions import Choice, Decision, decisions
from validation.fitting.plan_errors import fitted, pairs
from validation.order import ninetieth
from validation.parts.claims import Claim
from validation.parts.cold import folds
from validation.parts.families import family_of
from validation.parts.record import Recorded, told
from validation.software import TEXTS, kept_out

from foretrain.app.engine import engine
from foretrain.coefficients.coefficients import Coefficients
from foretrain.coefficients.uncertainty import PlanErrors
from foretrain.evidence.predict import CATALOGUE, meant_of, setting_of
from foretrain.measured.case import case_of
from foretrain.search.candidate import Candidate
from foretrain.search.proposals import Rival, picks
from foretrain.search.resolution import chances
from foretrain.search.simple import complexity_of
from foretrain.step.alternatives import climb
from foretrain.step.price import price_plan
from foretrain.study.coefficients import DEFAULT
from foretrain.study.launch_files import practised

RECORDED = Recorded(
    path=Path(__file__).parent / "recorded_choosing.toml",
    command="validation.choosing",
    mark="choosing",
    page=Path(__file__).parents[1] / "docs" / "background" / "choosing.md",
)
THIRDS = ((0.0, 1 / 3), (1 / 3, 2 / 3), (2 / 3, 1.0 + 1e-9))
MOST = 64
"""Plans of a group, the best predicted ones, among which the best is looked for, as in a search."""


@dataclass(frozen=True, kw_only=True)
class Told:
    """A plan of a group.

    Attributes:
        probability: of being the best of its group, as predicted.
        best: whether it is.
    """

    probability: float
    best: bool


def main(arguments: Sequence[str]) -> int:
    """Prints every figure; 1 if one has dropped."""
    with engine(os.cpu_count() or 1) as pool:
        texts = kept_out(TEXTS, "software", family_of, pool=pool)
    groups = decisions(texts.scored)
    errors, sets = errors_without(groups), folds("software")
    least, chosen, plans = [], [], []
    for group in groups:
        known = errors[group.source_id]
        rivals = [rival(choice, sets) for choice in group.choices]
        first = min(zip(rivals, group.choices, strict=True), key=lambda each: each[0].value)[1]
        led = picks(rivals, known, money=False, most=1).plans[0].found
        picked = next(choice for it, choice in zip(rivals, group.choices, strict=True) if it is led)
        least.append(first.measured / group.best - 1.0)
        chosen.append(picked.measured / group.best - 1.0)
        plans += told_of(group, rivals, known)
    print(f"{len(groups)} groups, {len(plans)} plans")
    claims = [*of_rule(least, chosen), *of_probabilities(plans)]
    return told(claims, RECORDED, record="--record" in arguments)


def errors_without(groups: Sequence[Decision]) -> Mapping[str, PlanErrors]:
    """For every source how far two predictions err apart, by the pairs of all other sources."""
    every = tuple(pairs(groups))
    return {
        name: fitted([it for it in every if it.source_id != name])
        for name in sorted({it.source_id for it in every})
    }


def rival(choice: Choice, sets: Mapping[str, Coefficients]) -> Rival:
    """A published plan as a search would have found it.

    Args:
        choice: the plan.
        sets: the set of every family of software that one was fitted without.
    """
    coefficients = sets.get(family_of(choice.run), DEFAULT)
    case = meant_of(case_of(choice.run, CATALOGUE), coefficients).case
    known = setting_of(case, coefficients)
    plan = climb(known, case.plausible).plan
    memory = price_plan(known, plan, played=False).memory
    candidate = Candidate(
        plan=plan,
        cluster=known.cluster,
        value=choice.predicted,
        step_time=choice.predicted,
        memory=memory.total,
    )
    return Rival(
        candidate=candidate,
        value=choice.predicted,
        complexity=complexity_of(plan),
        share=memory.total / known.cluster.device.memory,
        fits=memory.probability_fits,
        practised=practised(plan),
        cost=choice.predicted * plan.devices,
    )


def told_of(group: Decision, rivals: Sequence[Rival], errors: PlanErrors) -> Iterator[Told]:
    """How likely each plan of a group is the best of it, and whether it is."""
    both = sorted(zip(rivals, group.choices, strict=True), key=lambda each: each[0].value)[:MOST]
    likely = chances(errors, [it.plan for it, _ in both], [it.value for it, _ in both]).best
    for probability, (_, choice) in zip(likely, both, strict=True):
        yield Told(probability=probability, best=choice.measured == group.best)


def of_rule(least: Sequence[float], chosen: Sequence[float]) -> Iterator[Claim]:
    """What the rule loses beside the plan of least predicted time."""
    yield Claim(
        name="mean regret over that by least time", figure=fmean(chosen) / fmean(least), most=1.0
    )
    yield Claim(
        name="90th percentile of regret over that by least time",
        figure=ninetieth(chosen) / ninetieth(least),
        most=1.0,
    )
    yield Claim(name="mean regret by least time", figure=fmean(least))
    yield Claim(name="mean regret by the rule", figure=fmean(chosen))
    yield Claim(name="90th percentile by least time", figure=ninetieth(least))
    yield Claim(name="90th percentile by the rule", figure=ninetieth(chosen))


def of_probabilities(plans: Sequence[Told]) -> Iterator[Claim]:
    """Of plans that are told to be the best with some probability, how many more are than told."""
    for (low, high), name in zip(THIRDS, ("lowest", "middle", "highest"), strict=True):
        its = [it for it in plans if low <= it.probability < high]
        gap = fmean(it.best for it in its) - fmean(it.probability for it in its) if its else None
        yield Claim(
            name=f"{name} third of probabilities: share that was the best, less what was told",
            figure=gap,
            least=-0.05,
            most=0.05,
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
