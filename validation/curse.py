"""Whether the best runs that were published lie where a search says its chosen plan does.

    python -m validation.curse

A plan that is picked as the least of millions looks better than it is (the optimizer's curse), so
the interval of a chosen plan allows for the choosing. Of every group of published runs that differ
in nothing but the plan, on hardware that the catalogue has and by a trainer that it knows, the best
stands for what can be had by varying what the group varies. What all its plans share (a publisher
who recomputes everything, say) is part of the question; the rest is free in a search with that
trainer named, by coefficients that were fitted without its family of software. The exit status is 1
if fewer than 70 % of the best runs lie within the interval of the chosen plan.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from validation.fitting.batches import step_samples
from validation.fitting.decisions import Decision, decisions
from validation.parts.cold import folds
from validation.parts.families import family_of
from validation.software import TEXTS, kept_out

from foretrain.app.progress import engine
from foretrain.errors import ForetrainError
from foretrain.evidence.predict import CATALOGUE
from foretrain.measured.case import case_of
from foretrain.plan.plan import Plan
from foretrain.plan.study import Space, Study
from foretrain.search.best_plans import best_plans
from foretrain.study.trainers import trainer
from foretrain.trainers.chosen import Chosen, narrowed
from foretrain.trainers.trainer import ANY

HELD = ("recompute", "recompute_layers", "attention", "sharding", "offload", "sends", "schedule")
"""Fields that a publisher may have held fixed."""

LEAST = 0.7
"""Share of the best runs that lie within the interval."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """The best run of a group beside the plan that is chosen.

    Attributes:
        source: who published it.
        name: of the run.
        measured: seconds of its step.
        chosen: what the chosen plan takes, with its interval; none where none is found.
        words: the two plans, or why none is chosen.
    """

    source: str
    name: str
    measured: float
    chosen: tuple[float, float, float] | None
    words: str

    @property
    def inside(self) -> bool:
        """Whether the run lies within the interval."""
        return self.chosen is not None and self.chosen[1] <= self.measured <= self.chosen[2]

    @property
    def ratio(self) -> float:
        """What it took over what the chosen plan takes."""
        return self.measured / self.chosen[0] if self.chosen else float("nan")


def main() -> int:
    """Prints every case and the share within; 1 if it is below the bar."""
    with engine(os.cpu_count() or 1) as pool:
        groups = decisions(kept_out(TEXTS, "software", family_of, pool=pool).scored)
        found = [each for each in pool(case, groups) if each is not None]
    asked = [each for each in found if each.chosen]
    for each in sorted(found, key=lambda each: (each.source, each.name)):
        mark = "inside" if each.inside else "outside" if each.chosen else "no plan"
        print(f"{mark:8}{each.source:20}{each.name:26}{each.ratio:6.2f}  {each.words}")
    of_source = defaultdict(list)
    for each in asked:
        of_source[each.source].append(each.inside)
    share = fmean(each.inside for each in asked)
    by_source = fmean(map(fmean, of_source.values()))
    longer = median(each.ratio for each in asked)
    print(
        f"{len(asked)} of {len(groups)} groups are asked: {share:.0%} of their best runs lie "
        f"within the interval of the chosen plan (bar {LEAST:.0%}), {by_source:.0%} in the mean "
        f"over {len(of_source)} sources; the best run takes {longer:.2f} times what the chosen "
        "plan does in the median"
    )
    return 0 if share >= LEAST else 1


def case(group: Decision) -> Case | None:
    """The best run of a group beside the plan that is chosen; None without a known trainer."""
    best = min(group.choices, key=lambda each: each.measured)
    run = best.run
    several = [case_of(each.run, CATALOGUE) for each in group.choices]
    meant = case_of(run, CATALOGUE)
    if meant.trainer == ANY.name:
        return None
    entry = trainer(meant.trainer)
    space, told = narrowed(shared([each.plan for each in several]), entry)
    if told:
        return None
    study = Study(
        workload=meant.workload, cluster=meant.cluster, space=space, trainer=Chosen(trainer=entry)
    )
    coefficients = folds("software").get(family_of(run))
    measured = best.measured * (step_samples(run) or 1.0)
    try:
        chosen = best_plans(study, **({"coefficients": coefficients} if coefficients else {})).best
    except ForetrainError as error:
        words = str(error).partition("\n")[0]
        return Case(source=run.source_id, name=run.id, measured=measured, chosen=None, words=words)
    told_ = chosen.estimate
    return Case(
        source=run.source_id,
        name=run.id,
        measured=measured,
        chosen=(told_.step_time, told_.step_time_low, told_.step_time_high),
        words=f"{meant.plan} | {chosen.plan}",
    )


def shared(plans: Sequence[Plan]) -> Space:
    """The plans that have what all of some plans have in common, degrees of the axes apart."""
    held = {name: {getattr(plan, name) for plan in plans} for name in HELD}
    return Space(**{name: tuple(values) for name, values in held.items() if len(values) == 1})


if __name__ == "__main__":
    sys.exit(main())
