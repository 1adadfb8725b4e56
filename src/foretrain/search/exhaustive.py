"""Regions of plans with some fields still open, and the search that looks at all plans of them.

Regions: plans with some fields still open, by the least value that any of them may have.

Exhaustive search: price every legal plan, limits first.

Fitting: the least memory that any plan of a space needs; no second is priced for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from foretrain.cluster.cluster import energy
from foretrain.cluster.offer import Offer
from foretrain.plan.choices import Dimension, Question, question_of
from foretrain.plan.enumeration import counts, order_counts, plan_tables, up_to, with_choices
from foretrain.plan.plan import Plan
from foretrain.plan.study import Space, Study, parts_of
from foretrain.plan.table import Column, PlanTable, Rows, stacked
from foretrain.search.candidate import Priced, counts_energy
from foretrain.search.found import Incumbents
from foretrain.search.survey import PIECE, Survey, layered, survey
from foretrain.search.table import keep_freed_memory, price, that_fit, worth_of
from foretrain.step.held import hold
from foretrain.step.memory import heaviest_total, host_full, room, rooms
from foretrain.step.passes import computing_seconds
from foretrain.step.setting import Setting
from foretrain.workload.graph import Model


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Regions:
    """Regions of a space. [region]

    Attributes:
        bounds: a plan of each, and what none of its plans takes less than.
        chunks: the most that a stage may have.
        many: distinct legal plans.
    """

    bounds: Priced
    chunks: Column
    many: Rows

    def __len__(self) -> int:
        """Regions."""
        return len(self.many)

    @property
    def plans(self) -> PlanTable:
        """A plan of each."""
        return self.bounds.plans

    def take(self, rows: Rows) -> Regions:
        """Some of them."""
        if len(rows) == len(self) and (rows == np.arange(len(rows))).all():
            return self
        return Regions(
            bounds=self.bounds.take(rows), chunks=self.chunks[rows], many=self.many[rows]
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ordered:
    """Regions of a survey that may fit, by the least value that any of their plans may have.

    Attributes:
        survey: the regions.
        rows: which of them, in their order.
        value: the least of each. [row]
        energy: the least joules of each; None where nobody asks. [row]
    """

    survey: Survey
    rows: Rows
    value: Column
    energy: Column | None

    def __len__(self) -> int:
        """Regions."""
        return len(self.rows)

    def least(self, first: int = 0) -> float:
        """The least value that any plan of a region may have, or of one after it."""
        return float(self.value[first]) if first < len(self) else np.inf

    def between(self, first: int, end: int) -> Regions:
        """Those at some places."""
        known, rows = self.survey, self.rows[first:end]
        return Regions(
            bounds=Priced(
                cluster=known.setting.cluster,
                plans=known.plans.take(rows),
                value=self.value[first:end],
                step_time=known.seconds[rows],
                memory=known.memory[rows],
                energy=None if self.energy is None else self.energy[first:end],
            ),
            chunks=known.chunks[rows],
            many=known.many[rows],
        )


def regions_of(study: Study, known: Survey, *, found: Incumbents) -> Ordered:
    """The first regions that may fit.

    Args:
        study: objective and limits.
        known: the regions.
        found: takes the map of the space, and what does not fit.
    """
    setting = known.setting
    for plans, many in known.map:
        found.survey(plans, many)
    least, lost = known.beyond
    found.fitting(least, rooms(setting, study.limit), many=lost)
    rows = found.fitting(known.memory, rooms(setting, study.limit), many=known.many)
    devices, seconds = known.devices[rows], known.seconds[rows]
    busy, joules = None, None
    if counts_energy(study):
        pieces = up_to(np.ones(len(rows), np.intp), PIECE)
        each = [computing_seconds(setting, known.plans.take(rows[piece])) for piece in pieces]
        busy = np.concatenate([np.zeros(0), *each])
        joules = energy(setting.cluster, seconds, computing=busy, devices=devices)
    value = worth_of(
        study,
        setting,
        devices=devices,
        seconds=seconds,
        memory=known.memory[rows],
        computing=busy,
    )
    order = np.argsort(value, kind="stable")
    return Ordered(
        survey=known,
        rows=rows[order],
        value=value[order],
        energy=None if joules is None else joules[order],
    )


def divided(
    question: Question,
    setting: Setting,
    regions: Regions,
    *,
    by: Sequence[Dimension],
    later: Sequence[Dimension],
) -> Regions:
    """Regions with more fields chosen; bounds are those of where they came from.

    Args:
        question: the space.
        setting: the cluster.
        regions: to be divided.
        by: dimensions to choose.
        later: dimensions that stay open.
    """
    plans, source = regions.plans, np.arange(len(regions))
    for dimension in by:
        plans, rows = with_choices(question, plans, dimension)
        source = source[rows]
    orders = order_counts(plans, setting.cluster, question.space)
    bounds = regions.bounds
    return Regions(
        bounds=Priced(
            cluster=bounds.cluster,
            plans=plans,
            value=bounds.value[source],
            step_time=bounds.step_time[source],
            memory=bounds.memory[source],
            energy=None if bounds.energy is None else bounds.energy[source],
        ),
        chunks=regions.chunks[source],
        many=orders * counts(question, plans, later),
    )


def joined(several: Sequence[Regions]) -> Regions:
    """Regions of one cluster side by side."""
    bounds = [each.bounds for each in several]
    return Regions(
        bounds=Priced(
            cluster=bounds[0].cluster,
            plans=stacked([each.plans for each in bounds]),
            value=np.concatenate([each.value for each in bounds]),
            step_time=np.concatenate([each.step_time for each in bounds]),
            memory=np.concatenate([each.memory for each in bounds]),
            energy=_side_by_side([each.energy for each in bounds]),
        ),
        chunks=np.concatenate([each.chunks for each in several]),
        many=np.concatenate([each.many for each in several]),
    )


def _side_by_side(several: Sequence[Column | None]) -> Column | None:
    """Columns as one; None where nobody asks for them."""
    asked = [each for each in several if each is not None]
    return np.concatenate(asked) if asked else None


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
