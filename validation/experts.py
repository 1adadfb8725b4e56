"""What makers of a trainer chose, asked of the default search with that trainer named.

    python -m validation.experts            # 80 recipes, drawn with a seed
    python -m validation.experts --all      # every recipe for pre-training
    python -m validation.experts 120 7      # so many, of another seed

A recipe is a plan that NVIDIA's engineers published for a model on some devices. It is expressible
where the release of its trainer may run a legal plan with its degrees. It is where the search says
it should be if it is of the class of the best, or if the reason why not is one that the answer
states: the prediction does not hold it in memory with the probability that is asked for. What a
recipe leaves open (sharding, recomputation of some modules) may be whatever suits it. The exit
status is 1 if a recipe cannot be expressed, fewer than 80 % are where they should be, or the first
proposal is one that the trainer cannot run.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import log, log1p
from statistics import median
from typing import Any

from foretrain.app.engine import engine
from foretrain.errors import ForetrainError, NoPlanFits
from foretrain.search.resolution import distance
from foretrain.search.result import SearchResult
from foretrain.search.search import search
from foretrain.step.result import Ranked
from foretrain.study.coefficients import DEFAULT
from foretrain.study.launch_files import recipes
from foretrain.study.study import study_from
from foretrain.study.trainers import trainer, trainers
from foretrain.trainers.chosen import against
from foretrain.trainers.recipes import PublishedPlan
from foretrain.trainers.trainer import Trainer

DRAWN, SEED = 80, 0
DEMAND = 0.95
LEAST = 0.8
"""How likely a plan that is proposed fits, and the share of recipes that are in the class of the
best or not for a stated reason."""

CLUSTERS = {
    "A100": "dgx-a100",
    "H100": "dgx-h100",
    "B200": "hgx-b200",
    "B300": "hgx-b300",
    "GB200": "gb200-nvl72",
    "GB300": "gb300-nvl72",
}
PRECISIONS = {
    "fp8-tensorwise": "fp8-current",
    "fp8-delayed": "fp8",
    "fp8-blockwise": "fp8-block",
}


@dataclass(frozen=True, kw_only=True)
class Told:
    """What a search says of a recipe.

    Attributes:
        recipe: the recipe.
        trainer: the release that it is for.
        refused: why no legal plan of that trainer has its degrees; empty if one does.
        fits: how likely its plan fits.
        more: its value over that of the first proposal, less 1; None where one of them is missing.
        alike: whether they are of one class.
        runnable: whether the trainer can run the first proposal.
        ours: the first proposal.
        theirs: the plan of the recipe.
    """

    recipe: PublishedPlan
    trainer: str
    refused: str = ""
    fits: float = 0.0
    more: float | None = None
    alike: bool = False
    runnable: bool = True
    ours: str = ""
    theirs: str = ""

    @property
    def stated(self) -> bool:
        """Whether the answer says why it is not of the class of the best."""
        return not self.refused and self.fits < DEMAND

    @property
    def line(self) -> str:
        """For people."""
        it = self.recipe
        head = (
            f"{it.model} on {it.count} {' or '.join(' '.join(each) for each in it.devices)}, "
            f"{it.precision}, {self.trainer}"
        )
        if self.refused:
            return f"{head}: refused: {self.refused}"
        more = "" if self.more is None else f", {self.more:+.1%}"
        where = "of the class of the best" if self.alike else "another class"
        return (
            f"{head}: {where}{more}, fits {self.fits:.0%}\n    his  {self.theirs}\n"
            f"    ours {self.ours}"
        )


def main(arguments: Sequence[str]) -> int:
    """Prints every recipe and what they come to; 1 if a bar is missed."""
    numbers = [int(each) for each in arguments if each.isdigit()]
    chosen = drawn(*numbers, everything="--all" in arguments)
    with engine(os.cpu_count() or 1) as pool:
        every = [*pool(told, chosen)]
    for each in every:
        print(each.line)
    expressible = [each for each in every if not each.refused]
    alike = [each for each in expressible if each.alike]
    stated = [each for each in expressible if not each.alike and each.stated]
    full = [each for each in stated if not each.fits]
    runnable = [each for each in expressible if each.runnable]
    more = sorted(each.more for each in expressible if each.more is not None)
    share = (len(alike) + len(stated)) / len(every)
    print(
        f"{len(every)} recipes: {len(expressible)} expressible; {len(alike)} of the class of the "
        f"best, {len(stated)} not safe enough ({len(full)} fit with no probability), together "
        f"{share:.0%} (bar {LEAST:.0%}); the first proposal runnable in {len(runnable)} of "
        f"{len(expressible)}; theirs over ours: median {median(more):+.1%}, from {more[0]:+.1%} "
        f"to {more[-1]:+.1%}"
    )
    kept = len(expressible) == len(every) and share >= LEAST and len(runnable) == len(expressible)
    return 0 if kept else 1


def drawn(many: int = DRAWN, seed: int = SEED, *, everything: bool = False) -> list[PublishedPlan]:
    """Recipes for pre-training, each model, device and release first once."""
    every = [each for each in recipes() if not each.adapts]
    if everything:
        return every
    random.Random(seed).shuffle(every)
    told: set[tuple[object, ...]] = set()
    first, rest = [], []
    for each in every:
        key = each.model, each.devices, each.release
        (rest if key in told else first).append(each)
        told.add(key)
    return [*first, *rest][:many]


def told(recipe: PublishedPlan) -> Told:
    """What the default search says of a recipe."""
    entry = trainer_of(recipe)
    try:
        theirs = best_of(document(recipe, entry, plan=True))
    except NoPlanFits as error:
        # Legal, and said to need more memory than there is.
        return Told(recipe=recipe, trainer=entry.name, theirs=first_line(error))
    except ForetrainError as error:
        return Told(recipe=recipe, trainer=entry.name, refused=str(error))
    try:
        ours = best_of(document(recipe, entry))
    except ForetrainError as error:
        fits = theirs.estimate.memory.probability_fits
        return Told(recipe=recipe, trainer=entry.name, fits=fits, ours=first_line(error))
    ratio = theirs.estimate.step_time / ours.estimate.step_time
    apart = distance(DEFAULT.plan_errors, theirs.plan, ours.plan)
    return Told(
        recipe=recipe,
        trainer=entry.name,
        fits=theirs.estimate.memory.probability_fits,
        more=ratio - 1.0,
        alike=log(ratio) <= log1p(apart),
        runnable=not against(entry, ours.plan),
        ours=str(ours.plan),
        theirs=str(theirs.plan),
    )


def first_line(error: Exception) -> str:
    """What an error says first."""
    return str(error).partition("\n")[0]


def best_of(asked: dict[str, Any]) -> Ranked:
    """The first proposal for a study."""
    answer = search(study_from(asked, "recipe"))
    assert isinstance(answer, SearchResult)
    return answer.best


def document(recipe: PublishedPlan, entry: Trainer, *, plan: bool = False) -> dict[str, Any]:
    """The study of a recipe's question; `plan`: with its plan, safe or not."""
    device = recipe.devices[-1][0]
    found: dict[str, Any] = {
        "workload": {
            "model": recipe.model,
            "global_batch": recipe.global_batch,
            "sequence": recipe.sequence,
            "precision": PRECISIONS.get(recipe.precision, recipe.precision),
            "optimizer": "adamw",
        },
        "cluster": cluster(device, recipe.count),
        "trainer": {"name": entry.name},
    }
    if plan:
        degrees = ("tensor", "pipeline", "interleaving", "context", "expert", "micro_batch")
        stated: dict[str, Any] = {name: getattr(recipe, name) for name in degrees}
        stated |= {
            name: getattr(recipe, name)
            for name in ("recompute", "sharding")
            if getattr(recipe, name)
        }
        found |= {"plan": stated, "search": {"fits": "0 %"}}
    return found


def cluster(device: str, count: int) -> dict[str, Any]:
    """So many devices of a kind."""
    node = 4 if device.startswith("GB") else 8
    return {"name": CLUSTERS[device], "nodes": max(1, count // node)}


def trainer_of(recipe: PublishedPlan) -> Trainer:
    """The newest release of a recipe's family that was out in its month.

    Of NVIDIA's submissions to MLPerf, whose code is no release, nothing is known to be impossible.
    """
    if recipe.family == "MLPerf":
        return trainer("mlperf-nemo")
    of_family = sorted(
        (each for each in trainers() if each.family == recipe.family and each.able("axes")),
        key=lambda each: each.date,
    )
    out = [each for each in of_family if each.date[:7] <= recipe.date]
    return out[-1] if out else of_family[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
