"""Bounded search: price the plans of promising regions, prove the rest worse.

Regions come by the least value that any of their plans may have. One that can hold none of the best
plans, nor one that no other beats, is excluded whole; the others are divided, level by level, and
at each what does not fit or what a tighter bound excludes goes. What is left is priced. So the
answer is that of the exhaustive search, and so are the trade-offs.

Warm start: the best plans of a similar question exclude much before any is found here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from foretrain.cluster.offer import Offer
from foretrain.plan.choices import (
    KINDS,
    LAYERS,
    PARAMETERS,
    SHARDS,
    STAGES,
    Dimension,
    Question,
    question_of,
)
from foretrain.plan.enumeration import ROWS, counts, degrees, up_to, with_choices
from foretrain.plan.plan import Plan
from foretrain.plan.study import Study, parts_of
from foretrain.plan.table import Column, PlanTable, Rows, distinct, table_of
from foretrain.search.candidate import Priced, over_limits
from foretrain.search.exhaustive import Ordered, Regions, divided, joined, regions_of
from foretrain.search.found import Incumbents, unbeaten_of
from foretrain.search.survey import Survey, even_only, gradients_wait, stages_open, survey
from foretrain.search.table import keep_freed_memory, price, that_fit, valued
from foretrain.step.bounds import any_order, any_parameters, any_stages
from foretrain.step.held import Held
from foretrain.step.memory import room
from foretrain.step.setting import Setting

DEGREES: tuple[str, ...] = ("tensor", "context", "pipeline")
"""Axes of a plan that stay; its data axis follows devices."""


def recall(
    study: Study,
    settings: Mapping[Offer, Setting],
    plans: Iterable[Plan],
    *,
    found: Incumbents,
) -> Incumbents:
    """What plans of another answer take here, as far as they are in the space and fit.

    Args:
        study: space, objective and limits.
        settings: the study's workload on the whole of each offer, with coefficients.
        plans: they need not be legal here.
        found: takes them; as empty as that of the search.
    """
    question = question_of(study.workload, study.space)
    known = [
        plan
        for plan in dict.fromkeys(plans)
        if plan.cut in study.space.cut and plan.grid in question.grids
    ]
    used = {plan.devices for plan in known}
    for offer, setting in settings.items() if known else ():
        devices = [each for each in offer.devices if each in used] or offer.devices[-1:]
        here = among(question, devices, known)
        if not len(here):
            continue
        one = np.ones(len(here), np.intp)
        found.survey(here, one)
        held, memory, rows = that_fit(study, setting, here, many=one, found=found)
        few = held.take(rows, here.take(rows))
        price(study, setting, few, memory=memory[rows], found=found)
    return found


def among(question: Question, devices: Sequence[int], plans: Sequence[Plan]) -> PlanTable:
    """The plans of a space that agree with one of some plans in all but data axis and order."""
    cuts, grids = question.space.cut, question.grids
    wanted = table_of(plans).but(
        cut=np.array([float(cuts.index(plan.cut)) for plan in plans]),
        cuts=cuts,
        grid=np.array([float(grids.index(plan.grid)) for plan in plans]),
        grids=grids,
    )
    names = DEGREES
    found = _agreeing(degrees(question, devices), wanted, names)
    for dimension in (*LAYERS, *PARAMETERS, *STAGES):
        names = (*names, *dimension.names)
        found = _agreeing(with_choices(question, found, dimension)[0], wanted, names)
    return found


def _agreeing(plans: PlanTable, wanted: PlanTable, names: Sequence[str]) -> PlanTable:
    """Those plans that have the fields of a wanted one."""
    both = [np.concatenate([getattr(plans, name), getattr(wanted, name)]) for name in names]
    _, index = distinct(both)
    return plans.take(np.flatnonzero(np.isin(index[: len(plans)], index[len(plans) :])))


FIRST = 1_024
"""Regions of the first piece after its first division; every further piece has twice as many, up to
`ROWS`. The first ones find what excludes the rest."""

WIDTH = 1_024
"""Regions that are held against what is found at first, before they may grow; likewise doubled."""

FEW = 256
"""Plans that are priced at once, without asking which of them exclude the others."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Ground:
    """What a search of one offer reads, and where it puts what it finds."""

    study: Study
    setting: Setting
    question: Question
    used: tuple[int, ...]
    found: Incumbents


Bound = Callable[[_Ground, Regions, Held], Column]
"""Seconds that no plan of a region can beat. [region]"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Level:
    """One division of regions.

    Attributes:
        by: dimensions that are chosen.
        later: dimensions that stay open.
        bound: works out a tighter bound; None keeps that of where a region came from.
    """

    by: Sequence[Dimension]
    later: Sequence[Dimension]
    bound: Bound | None


def surveys(study: Study, settings: Mapping[Offer, Setting]) -> tuple[Survey, ...]:
    """The regions of a space on the clusters of some offers, however safe a plan has to be.

    Args:
        study: space and limits.
        settings: the study's workload on the whole of each offer, with coefficients.
    """
    keep_freed_memory()
    parts = parts_of(study.space, study.workload.model.cuttable_layers)
    free = replace(study.limit, fits=0.0)
    return tuple(
        survey(
            setting,
            question=question_of(study.workload, part),
            devices=offer.devices,
            most=room(setting, free),
        )
        for (offer, setting), part in product(settings.items(), parts)
    )


def promising_plans(
    study: Study,
    known: Sequence[Survey],
    *,
    found: Incumbents,
    tell: Callable[[], None],
    stop: Callable[[], bool],
) -> None:
    """Look at every region of a space on the clusters of some offers.

    Args:
        study: space, objective and limits.
        known: its regions.
        found: takes what is found.
        tell: called after every piece.
        stop: asked after every piece; true ends the search with what was found.
    """
    keep_freed_memory()
    waiting = [
        (
            _Ground(
                study=study,
                setting=each.setting,
                question=each.question,
                used=each.used,
                found=found,
            ),
            regions_of(study, each, found=found),
        )
        for each in known
    ]
    waiting.sort(key=lambda each: each[1].least())
    found.bound = min((regions.least() for _, regions in waiting), default=np.inf)
    for place, (ground, regions) in enumerate(waiting):
        later = [others for _, others in waiting[place + 1 :]]
        least = later[0].least() if later else np.inf
        levels = _levels(ground)
        for first, piece in _pieces(ground, regions, levels[0].by):
            _look(ground, piece, levels)
            found.bound = min(regions.least(first), least)
            tell()
            if found.bound < np.inf and found.best and stop():
                found.leave(regions.between(first, len(regions)).bounds)
                for others in later:
                    found.leave(others.between(0, len(others)).bounds)
                return


def _levels(ground: _Ground) -> tuple[_Level, ...]:
    """How regions are divided until only the order of the axes is open."""
    if even_only(ground.question):
        return (
            _Level(by=KINDS, later=(*SHARDS, *STAGES), bound=None),
            _Level(by=SHARDS, later=STAGES, bound=_any_stages),
            _Level(by=STAGES, later=(), bound=_any_order),
        )
    last = _Level(by=SHARDS, later=(), bound=_any_order)
    if stages_open(ground.question, ground.setting):
        return _Level(by=(*STAGES, *KINDS), later=SHARDS, bound=_any_parameters), last
    return _Level(by=KINDS, later=SHARDS, bound=None), last


def _any_parameters(ground: _Ground, regions: Regions, held: Held) -> Column:
    return any_parameters(
        ground.setting,
        held,
        chunks=regions.plans.interleaving,
        waits=gradients_wait(ground.question),
        used=ground.used,
    )


def _any_stages(ground: _Ground, regions: Regions, held: Held) -> Column:
    waits = gradients_wait(ground.question)
    return any_stages(ground.setting, held, chunks=regions.chunks, waits=waits)


def _any_order(ground: _Ground, _regions: Regions, held: Held) -> Column:
    return any_order(ground.setting, held)


def _pieces(
    ground: _Ground, regions: Ordered, by: Sequence[Dimension]
) -> Iterator[tuple[int, Regions]]:
    """Promising regions, ever more at once, and the position of what comes after them.

    `by`: the dimensions by which they are divided first.
    """
    start, width, target = 0, WIDTH, FIRST
    while start < len(regions):
        promising, many = [], 0
        while start < len(regions) and many < target:
            some = regions.between(start, start + width)
            start, width = start + len(some), min(2 * width, ROWS)
            some = some.take(_promising(ground, some, rows=np.arange(len(some))))
            promising.append(some)
            many += int(counts(ground.question, some.plans, by).sum())
        yield start, joined(promising)
        target = min(2 * target, ROWS)


def _look(ground: _Ground, regions: Regions, levels: Sequence[_Level]) -> None:
    """Settle every plan of some regions."""
    level, *further = levels
    for rows in up_to(counts(ground.question, regions.plans, level.by), ROWS):
        found, held = _divided(ground, regions.take(rows), level)
        if not len(found):
            continue
        if further:
            _look(ground, found, further)
        else:
            # Price plans in all their orders: first those that may exclude the others.
            left = np.arange(len(found))
            for choose in (_leading, _all):
                left = _promising(ground, found, rows=left)
                first = left[choose(ground.found, found.bounds.take(left))]
                few = held.take(first, found.plans.take(first))
                memory = found.bounds.memory[first]
                price(ground.study, ground.setting, few, memory=memory, found=ground.found)
                left = np.setdiff1d(left, first)


def _divided(ground: _Ground, regions: Regions, level: _Level) -> tuple[Regions, Held]:
    """Regions of the next level that fit and are promising, and what their plans hold."""
    study, setting = ground.study, ground.setting
    parts = divided(ground.question, setting, regions, by=level.by, later=level.later)
    held, memory, rows = that_fit(study, setting, parts.plans, many=parts.many, found=ground.found)
    parts = _bounded(ground, parts, parts.bounds.step_time, memory=memory)
    parts, held = _left(ground, parts, held, rows=rows)
    if level.bound and len(parts):
        seconds = level.bound(ground, parts, held)
        parts = _bounded(ground, parts, seconds, memory=parts.bounds.memory)
        parts, held = _left(ground, parts, held, rows=np.arange(len(parts)))
    return parts, held


def _left(ground: _Ground, regions: Regions, held: Held, *, rows: Rows) -> tuple[Regions, Held]:
    """The promising ones of some rows."""
    left = _promising(ground, regions, rows=rows)
    regions = regions.take(left)
    return regions, held.take(left, regions.plans)


def _bounded(ground: _Ground, regions: Regions, seconds: Column, *, memory: Column) -> Regions:
    """The same regions with other bounds."""
    bounds = valued(ground.study, ground.setting, regions.plans, seconds=seconds, memory=memory)
    return Regions(bounds=bounds, chunks=regions.chunks, many=regions.many)


def _all(_found: Incumbents, bounds: Priced) -> Rows:
    """Every plan."""
    return np.arange(len(bounds.plans))


def _leading(found: Incumbents, bounds: Priced) -> Rows:
    """Plans whose bounds are among the best, or unbeaten: if any are worth pricing, these are."""
    if len(bounds.plans) <= FEW:
        return _all(found, bounds)
    best = np.argsort(bounds.value)[: found.keep]
    if found.front is None:
        return best
    return np.unique(np.concatenate([best, unbeaten_of(bounds)]))


def _promising(ground: _Ground, regions: Regions, *, rows: Rows) -> Rows:
    """Those of some rows that may keep all limits and hold a plan that counts for something."""
    found, bounds, many = ground.found, regions.bounds, regions.many
    kept = np.zeros(len(regions), bool)
    kept[rows] = True
    limits = over_limits(
        ground.study, bounds.cluster, devices=bounds.plans.devices, seconds=bounds.step_time
    )
    for reason, over in limits.items():
        found.reject(reason, int(many[kept & over].sum()))
        kept &= ~over
    rows = np.flatnonzero(kept)
    hopeless = found.hopeless(bounds, rows)
    found.exclude(bounds, rows[hopeless], many)
    return rows[~hopeless]
