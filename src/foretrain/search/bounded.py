"""Bounded search: price the plans of promising regions, prove the rest worse.

Regions come by the least value that any of their plans may have. One that can hold none of the best
plans, nor one that no other beats, is excluded whole; the others grow dimension by dimension, and
after each what a tighter bound excludes goes. What is left is priced. So the answer is that of the
exhaustive search, and so are the trade-offs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from foretrain.cluster.offer import Offer
from foretrain.cost.bounds import any_order, any_stages
from foretrain.cost.held import Held, hold
from foretrain.cost.memory import heaviest_total
from foretrain.cost.setting import Setting
from foretrain.plan.choices import PARAMETERS, STAGES, Dimension, Question, question_of
from foretrain.plan.enumeration import ROWS, counts, up_to, with_choices
from foretrain.plan.orders import order_counts
from foretrain.plan.study import Study
from foretrain.plan.table import Column, PlanTable, Rows
from foretrain.search.candidate import Priced
from foretrain.search.found import Found
from foretrain.search.front import by_count
from foretrain.search.objective import over_limits
from foretrain.search.pareto import unbeaten
from foretrain.search.regions import Regions, even_only, gradients_wait, regions_of
from foretrain.search.table import keep_freed_memory, price, that_fit, valued

FIRST = 4_096
"""Plans to which the first regions grow; every further piece grows to twice as many, up to `ROWS`.
The first ones find what excludes the rest."""

FEW = 256
"""Plans that are priced at once, without asking which of them exclude the others."""

WIDTH = 1_024
"""Regions that are held against what is found at first, before they may grow; likewise doubled."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Ground:
    """What a search of one offer reads."""

    study: Study
    setting: Setting
    question: Question
    found: Found


def promising_plans(
    study: Study,
    settings: Mapping[Offer, Setting],
    *,
    found: Found,
    tell: Callable[[], None],
    stop: Callable[[], bool],
) -> None:
    """Look at every region of a space on the clusters of some offers.

    Args:
        study: space, objective and limits.
        settings: the study's workload on the whole of each offer, with coefficients.
        found: takes what is found.
        tell: called after every piece.
        stop: asked before every piece; true ends the search with what was found.
    """
    keep_freed_memory()
    question = question_of(study.workload, study.space)
    waiting: list[tuple[_Ground, Regions]] = []
    for offer, setting in settings.items():
        ground = _Ground(study=study, setting=setting, question=question, found=found)
        regions = regions_of(study, setting, question=question, devices=offer.devices)
        found.survey(regions.bounds.plans, regions.many)
        waiting.append((ground, regions))
    waiting.sort(key=lambda each: _least(each[1]))
    for place, (ground, regions) in enumerate(waiting):
        later = [_least(others) for _, others in waiting[place + 1 :]]
        for first, piece in _pieces(ground, regions):
            _look(ground, piece)
            tell()
            left = [*regions.bounds.value[first : first + 1], *later]
            if left and found.best and stop():
                found.complete, found.bound = False, float(min(left))
                return
    if not found.best:
        for ground, regions in waiting:
            _nearest(ground, regions)


def _least(regions: Regions) -> float:
    """The least value that any plan may have."""
    return float(regions.bounds.value[0]) if len(regions) else np.inf


def _pieces(ground: _Ground, regions: Regions) -> Iterator[tuple[int, Regions]]:
    """Promising regions that grow to ever more plans, and the position of what comes after them."""
    start, width, target = 0, WIDTH, FIRST
    while start < len(regions):
        promising, grown = [], 0
        while start < len(regions) and grown < target:
            rows = np.arange(start, min(start + width, len(regions)))
            some = regions.take(rows)
            left = _promising(ground, some.bounds, some.many)
            promising.append(rows[left])
            grown += int(_growth(ground, some.bounds.plans.take(left)).sum())
            start, width = start + len(rows), min(2 * width, ROWS)
        yield start, regions.take(np.concatenate(promising))
        target = min(2 * target, ROWS)


def _growth(ground: _Ground, plans: PlanTable) -> Rows:
    """To how many plans each grows by the choice of its sharding."""
    return counts(ground.question, plans, PARAMETERS)


def _look(ground: _Ground, regions: Regions) -> None:
    """Settle every plan of some regions; none where no region of a piece is promising."""
    if not len(regions):
        return
    plans, many, source = _grown(ground, regions.bounds.plans, PARAMETERS)
    if not even_only(ground.question):
        _settle(ground, plans, many)
        return
    plans = _with_promising_parameters(ground, plans, many=many, chunks=regions.chunks[source])
    for piece in up_to(counts(ground.question, plans, STAGES), ROWS):
        grown, each, _ = _grown(ground, plans.take(piece), STAGES)
        _settle(ground, grown, each)


def _with_promising_parameters(
    ground: _Ground, plans: PlanTable, *, many: Rows, chunks: Column
) -> PlanTable:
    """Those whose sharding fits and may count for something, however their stages work."""
    study, setting, question = ground.study, ground.setting, ground.question
    held, memory, rows = that_fit(study, setting, plans, many=many, found=ground.found)
    if not len(rows):
        return held.plans
    seconds = any_stages(
        setting, held, chunks=chunks[rows], tails=True, waits=gradients_wait(question)
    )
    left = _surviving(ground, held, memory=memory, seconds=seconds, many=many[rows])
    return held.plans.take(left)


def _settle(ground: _Ground, plans: PlanTable, many: Rows) -> None:
    """Price plans in those orders that may count for something."""
    study, setting, found = ground.study, ground.setting, ground.found
    held, memory, rows = that_fit(study, setting, plans, many=many, found=found)
    if not len(rows):
        return
    bounds = valued(
        study, setting, held.plans, seconds=any_order(setting, held), memory=memory
    )
    many, left = many[rows], np.arange(len(rows))
    for choose in (_leading, _all):
        left = left[_promising(ground, bounds.take(left), many[left])]
        first = choose(found, bounds.take(left))
        few = held.take(left[first], held.plans.take(left[first]))
        price(study, setting, few, memory=memory[left[first]], found=found)
        left = np.delete(left, first)


def _all(_found: Found, bounds: Priced) -> Rows:
    """Every plan."""
    return np.arange(len(bounds.plans))


def _leading(found: Found, bounds: Priced) -> Rows:
    """Plans whose bounds are among the best, or unbeaten: if any are worth pricing, these are."""
    if len(bounds.plans) <= FEW:
        return _all(found, bounds)
    best = np.argsort(bounds.value)[: found.keep]
    if found.front is None:
        return best
    unbeaten_rows = [
        some[unbeaten(bounds.step_time[some], bounds.memory[some])]
        for some in by_count(bounds.plans.devices)
    ]
    return np.unique(np.concatenate([best, *unbeaten_rows]))


def _grown(
    ground: _Ground, plans: PlanTable, dimensions: Sequence[Dimension]
) -> tuple[PlanTable, Rows, Rows]:
    """Plans with more fields chosen, how many each stands for, and where it came from."""
    source = np.arange(len(plans))
    for dimension in dimensions:
        plans, rows = with_choices(ground.question, plans, dimension)
        source = source[rows]
    many = order_counts(plans, ground.setting.cluster, ground.study.space)
    if dimensions is PARAMETERS and even_only(ground.question):
        many = many * counts(ground.question, plans, STAGES)
    return plans, many, source


def _surviving(ground: _Ground, held: Held, *, memory: Column, seconds: Column, many: Rows) -> Rows:
    """Plans that may count for something, given a bound of their time."""
    bounds = valued(ground.study, ground.setting, held.plans, seconds=seconds, memory=memory)
    return _promising(ground, bounds, many)


def _promising(ground: _Ground, bounds: Priced, many: Rows) -> Rows:
    """Regions that may keep all limits and hold a plan that counts for something."""
    study, found = ground.study, ground.found
    kept = np.ones(len(many), bool)
    limits = over_limits(
        study, bounds.cluster, devices=bounds.plans.devices, seconds=bounds.step_time
    )
    for reason, over in limits.items():
        found.reject(reason, int(many[kept & over].sum()))
        kept &= ~over
    rows = np.flatnonzero(kept)
    hopeless = found.hopeless(bounds.take(rows))
    out = rows[hopeless]
    found.exclude(bounds.take(out), many[out])
    return rows[~hopeless]


def _nearest(ground: _Ground, regions: Regions) -> None:
    """Remember the plan that needs least memory, where none fits."""
    if len(regions):
        row = np.argmin(regions.bounds.memory, keepdims=True)
        plans, _, _ = _grown(ground, regions.bounds.plans.take(row), PARAMETERS)
        if even_only(ground.question):
            plans, _, _ = _grown(ground, plans, STAGES)
        memory = heaviest_total(ground.setting, hold(ground.setting, plans))
        ground.found.miss(ground.setting.cluster, plans, memory)
