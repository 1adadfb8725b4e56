"""Exhaustive search: price every legal plan, limits first.

Fitting: the least memory that any plan of a space needs; no second is priced for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from foretrain.cluster.offer import Offer
from foretrain.plan.choices import Question, question_of
from foretrain.plan.enumeration import order_counts, plan_tables
from foretrain.plan.plan import Plan
from foretrain.plan.study import Space, Study, parts_of
from foretrain.search.found import Incumbents
from foretrain.search.regions import regions_of
from foretrain.search.survey import layered, survey
from foretrain.search.table import keep_freed_memory, price, that_fit
from foretrain.step.held import hold
from foretrain.step.memory import heaviest_total, host_full, room
from foretrain.step.setting import Setting
from foretrain.workload.graph import Model


def every_plan(
    study: Study,
    settings: Mapping[Offer, Setting],
    *,
    found: Incumbents,
    tell: Callable[[], None],
    stop: Callable[[], bool],
) -> None:
    """Look at every plan of a space on the clusters of some offers.

    Args:
        study: space, objective and limits.
        settings: the study's workload on the whole of each offer, with coefficients.
        found: takes what is found.
        tell: called after every table.
        stop: asked before every table; true ends the search with what was found.
    """
    keep_freed_memory()
    question = question_of(study.workload, study.space)
    for offer in settings:
        found.survey(*layered(question, offer.cluster, devices=offer.devices))
    waiting = dict(settings)
    for offer, setting in settings.items():
        tables = plan_tables(study.workload, offer.cluster, study.space, devices=offer.devices)
        for plans in tables:
            if found.best and stop():
                _leave(study, waiting, question=question, found=found)
                return
            orders = order_counts(plans, offer.cluster, study.space)
            held, memory, rows = that_fit(study, setting, plans, many=orders, found=found)
            few = held.take(rows, plans.take(rows))
            price(study, setting, few, memory=memory[rows], found=found)
            tell()
        del waiting[offer]
    found.bound = np.inf


def _leave(
    study: Study, settings: Mapping[Offer, Setting], *, question: Question, found: Incumbents
) -> None:
    """Bound what any plan on some offers may have, be it priced by now or not."""
    least = [np.inf]
    for offer, setting in settings.items():
        aside = Incumbents(keep=1)
        known = survey(
            setting, question=question, devices=offer.devices, most=room(setting, study.limit)
        )
        regions = regions_of(study, known, found=aside)
        found.leave(regions.between(0, len(regions)).bounds)
        least.append(regions.least())
    found.bound = min(least)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leanest:
    """The plan that needs least.

    Attributes:
        plan: the plan.
        memory: bytes that it needs on a device.
    """

    plan: Plan
    memory: float


def leanest(setting: Setting, space: Space, *, devices: Sequence[int]) -> Leanest | None:
    """The plan of a space that needs least memory on a device, first of equals.

    Args:
        setting: workload, cluster and coefficients.
        space: choices.
        devices: numbers of devices that a plan may use.

    Returns:
        None if no plan is legal. Plans that offload more than the hosts hold do not count.
    """
    workload, cluster, model = setting.workload, setting.cluster, setting.workload.model
    found: Leanest | None = None
    parts = [lean(model, part) for part in parts_of(space, model.cuttable_layers)]
    for plans in chain(*(plan_tables(workload, cluster, it, devices=devices) for it in parts)):
        if not len(plans):
            continue
        held = hold(setting, plans)
        memory = heaviest_total(setting, held)
        if any(space.offload):
            memory = np.where(host_full(setting, held), np.inf, memory)
        row = int(np.argmin(memory))
        if memory[row] < (found.memory if found else np.inf):
            found = Leanest(plan=plans.plan(row), memory=float(memory[row]))
    return found


def lean(model: Model, space: Space) -> Space:
    """A smaller space: for every legal plan it has one that needs no more memory.

    Fewer samples at once, no interleaving and more devices that share one copy need no more, and
    are legal where the other is. Balanced cuts move with the micro-batch, though; and chunks of
    different layers may add up to a leaner stage if they are interleaved.
    """
    alike = sum(layer.cuttable for layer in model.layers) == 1 and space.cut == ("even",)
    plain = alike and 1 in (space.interleaving or (1,))
    sizes = space.micro_batch
    if "balanced" not in space.cut:
        # Micro-batches that no smaller one divides.
        sizes = tuple(
            size
            for size in sizes or (1,)
            if all(size % each for each in sizes or () if each < size)
        )
    return replace(
        space,
        micro_batch=sizes,
        interleaving=(1,) if plain else space.interleaving,
        shard=(0,) if 0 in (space.shard or (0,)) else space.shard,
        sends=space.sends[:1],
        order=space.order and space.order[:1],
    )
