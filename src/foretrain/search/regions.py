"""Regions: plans with some fields still open, and bounds of what any of their plans takes.

The first regions say the degrees and what layers depend on. Where stages can only be equal,
how a pipeline works stays open too; elsewhere it is chosen at once, since unequal ones keep no
simple law. Open fields have the values of which a plan needs least memory: one copy of what is
sharded among all replicas, one chunk per stage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from foretrain.cluster.cluster import Cluster
from foretrain.plan.choices import PARAMETERS, STAGES, Dimension, Question, chosen, offloads
from foretrain.plan.enumeration import (
    counts,
    degrees,
    grown,
    in_pieces,
    most,
    order_counts,
    with_choices,
    with_layers,
)
from foretrain.plan.plan import Sharding
from foretrain.plan.study import Study
from foretrain.plan.table import Column, PlanTable, Rows, distinct, stacked
from foretrain.search.candidate import Priced
from foretrain.search.found import Incumbents
from foretrain.search.table import valued
from foretrain.step.bounds import any_parameters
from foretrain.step.held import Held, hold
from foretrain.step.layers import READS
from foretrain.step.memory import rooms, stage_memory
from foretrain.step.setting import Setting

DEGREES = 64
"""Degrees whose regions are worked out at once, which bounds the memory that a search takes."""

PIECE = 65_536
"""Regions that are bounded at once: more than plans are priced at once, for they gather little."""


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


def even_only(question: Question) -> bool:
    """Whether stages are equal but for what stands before and after the layers.

    With several chunks a stage of layers of different kinds has others than with one.
    """
    kinds = sum(layer.cuttable for layer in question.model.layers)
    return question.space.cut == ("even",) and (kinds == 1 or question.space.interleaving == (1,))


def gradients_wait(question: Question) -> bool:
    """Whether a schedule may put off gradients of weights."""
    return any(schedule.delays for schedule in question.space.schedule)


def layered(
    question: Question, cluster: Cluster, *, devices: tuple[int, ...]
) -> tuple[PlanTable, Rows]:
    """Degrees with what layers depend on, and how many distinct legal plans have them. [region]"""
    plans, many = with_layers(question, degrees(question, devices))
    return plans, many * order_counts(plans, cluster, question.space)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Survey:
    """The first regions of a space on one offer, whatever is asked of their plans. [region]

    Attributes:
        setting: workload, cluster and coefficients.
        question: the space.
        map: plans with what layers depend on, and how many distinct legal ones have it.
        plans: a plan of each region.
        chunks: the most that a stage may have.
        many: distinct legal plans.
        memory: bytes that no plan goes below.
        seconds: that no plan beats.
        beyond: memory and legal plans of the regions that no device holds, however safe a plan has
            to be.
    """

    setting: Setting
    question: Question
    map: Sequence[tuple[PlanTable, Rows]]
    plans: PlanTable
    chunks: Column
    many: Rows
    memory: Column
    seconds: Column
    beyond: tuple[Column, Rows]


def survey(
    setting: Setting, *, question: Question, devices: tuple[int, ...], most: float
) -> Survey:
    """The first regions of a space on some numbers of devices, with bounds.

    Args:
        setting: workload, cluster and coefficients.
        question: the space.
        devices: numbers of devices to choose among.
        most: bytes of a device above which a region is beyond it.
    """
    every = degrees(question, devices)
    # Degrees whose layers are alike come together, so that a piece has few layers to price.
    every = every.take(np.lexsort((every.context, every.tensor)))
    used = tuple(np.unique(every.devices).astype(int).tolist())
    seen: list[tuple[PlanTable, Rows]] = []
    none, no_row = np.zeros(0), np.zeros(0, np.intp)
    beyond = [(none, no_row)]
    found = [(every.take(no_row), none, no_row, none, none)]
    for some in in_pieces(every, DEGREES):
        plans, many = with_layers(question, some)
        many = many * order_counts(plans, setting.cluster, question.space)
        seen.append((plans, many))
        first = _first(setting, plans, many, question=question)
        for kept, out in _bounded(setting, first, question=question, used=used, most=most):
            found.append(kept)
            beyond.append(out)
    tables, *columns = zip(*found, strict=True)
    chunks, regions, memory, seconds = (np.concatenate(each) for each in columns)
    over, lost = (np.concatenate(each) for each in zip(*beyond, strict=True))
    return Survey(
        setting=setting,
        question=question,
        map=seen,
        plans=stacked(tables),
        chunks=chunks,
        many=regions,
        memory=memory,
        seconds=seconds,
        beyond=(over, lost),
    )


def regions_of(study: Study, known: Survey, *, found: Incumbents) -> Regions:
    """The first regions that may fit, by the least value that any of their plans may have.

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
    bounds = valued(
        study,
        setting,
        known.plans.take(rows),
        seconds=known.seconds[rows],
        memory=known.memory[rows],
    )
    regions = Regions(bounds=bounds, chunks=known.chunks[rows], many=known.many[rows])
    return regions.take(np.argsort(bounds.value, kind="stable"))


def _first(
    setting: Setting, plans: PlanTable, many: Rows, *, question: Question
) -> tuple[PlanTable, Column, Rows]:
    """A plan of each region of some layers, the most chunks of a stage, and its legal plans."""
    if even_only(question):
        return plans, most(question, plans, dimension=STAGES[0], name="interleaving"), many
    plans = grown(question, plans, STAGES)
    orders = order_counts(plans, setting.cluster, question.space)
    return plans, plans.interleaving, orders * counts(question, plans, PARAMETERS)


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
        ),
        chunks=np.concatenate([each.chunks for each in several]),
        many=np.concatenate([each.many for each in several]),
    )


def _bounded(
    setting: Setting,
    first: tuple[PlanTable, Column, Rows],
    *,
    question: Question,
    used: tuple[int, ...],
    most: float,
) -> Iterator[tuple[tuple[PlanTable, Column, Rows, Column, Column], tuple[Column, Rows]]]:
    """The columns of a `Survey`, and those beyond a device, a piece at a time.

    Regions of equal layers are in one piece. `used`: numbers of devices of all plans.
    """
    plans, chunks, many = first
    alike = distinct([getattr(plans, name) for name in READS])[1]
    order = np.argsort(alike, kind="stable")
    for start in range(0, len(plans), PIECE):
        piece = order[start : start + PIECE]
        some = plans.take(piece)
        held = hold(setting, some)
        memory = _least_memory(setting, question, held)
        over, rows = np.flatnonzero(memory > most), np.flatnonzero(memory <= most)
        beyond, kept, here = (memory[over], many[piece[over]]), some.take(rows), piece[rows]
        seconds = any_parameters(
            setting,
            held.take(rows, kept),
            chunks=chunks[here],
            waits=gradients_wait(question),
            used=used,
        )
        yield (kept, chunks[here], many[here], memory[rows], seconds), beyond


def _least_memory(setting: Setting, question: Question, held: Held) -> Column:
    """Bytes that no sharding or offloading goes below. [region]

    More chunks keep more activations, and so does every other schedule; a larger shard holds less,
    and a sharded optimizer less than a whole one. The first stage alone is asked.
    """
    plans, every, space = held.plans, np.arange(len(held.plans)), question.space
    kinds = chosen(list(Sharding), space.sharding)
    if Sharding.OPTIMIZER in kinds:
        kinds = [kind for kind in kinds if kind is not Sharding.NONE]
    # Software that frees as it goes may be fullest at another moment under another schedule.
    schedules = space.schedule if setting.software.phased else (None,)
    several = [
        {"sharding": kind, "reshard": reshard, "offload": offload, "offload_layers": layers}
        | ({} if schedule is None else {"schedule": schedule})
        for schedule in schedules
        for kind in kinds
        for reshard in space.reshard[: None if kind is Sharding.PARAMETERS else 1]
        for offload, layers in offloads(question, ())
    ]
    least = np.full(len(plans), np.inf)
    for fields in several:
        columns = {name: np.full(len(plans), float(each)) for name, each in fields.items()}
        lean = plans.but(**columns)
        memory = stage_memory(setting, held.take(every, lean), run=0).total
        least = np.minimum(least, memory)
    return least
