"""Survey: the first regions of a space, and bounds of what any of their plans takes.

The first regions say the degrees and what layers depend on. How a pipeline works stays open too,
with stages that have no more layers than every way to cut leaves them, unless cuts follow predicted
times. Open fields have the values of which a plan needs least memory: one copy of what is sharded
among all replicas, one chunk per stage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from foretrain.cluster.cluster import Cluster
from foretrain.plan.choices import (
    PARAMETERS,
    STAGES,
    Question,
    chosen,
    offloads,
    schedules,
)
from foretrain.plan.enumeration import (
    counts,
    degrees,
    grown,
    in_pieces,
    most,
    order_counts,
    with_layers,
)
from foretrain.plan.plan import AXES, Sharding
from foretrain.plan.table import (
    Column,
    PackedTable,
    PlanTable,
    Rows,
    constant,
    distinct,
    packed,
    packed_together,
)
from foretrain.step.bounds import any_parameters
from foretrain.step.held import Held, hold
from foretrain.step.layers import READS
from foretrain.step.memory import stage_memory
from foretrain.step.setting import Setting
from foretrain.step.strategies.pipeline import Cuts, Way, least_cuts, named

DEGREES = 256
"""Degrees whose regions are worked out at once, which bounds the memory that a search takes."""

PIECE = 65_536
"""Regions that are bounded at once: more than plans are priced at once, for they gather little."""


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
        used: numbers of devices of all plans.
        map: a plan of each tensor and pipeline degree, and how many distinct legal ones have it.
        plans: a plan of each region.
        devices: that each of its plans uses.
        chunks: the most that a stage may have.
        many: distinct legal plans.
        memory: bytes that no plan goes below.
        seconds: that no plan beats.
        beyond: memory and legal plans of the regions that no device holds, however safe a plan has
            to be.
    """

    setting: Setting
    question: Question
    used: tuple[int, ...]
    map: Sequence[tuple[PlanTable, Rows]]
    plans: PackedTable
    devices: Column
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
    found = [(packed(every.take(no_row)), none, none, no_row, none, none)]
    for some in in_pieces(every, DEGREES):
        plans, many = with_layers(question, some)
        many = many * order_counts(plans, setting.cluster, question.space)
        corner, index = distinct([plans.tensor, plans.pipeline])
        seen.append((plans.take(corner), np.bincount(index, many, len(corner)).astype(np.intp)))
        first = _first(setting, plans, many, question=question)
        for kept, out in _bounded(setting, first, question=question, used=used, most=most):
            found.append(kept)
            beyond.append(out)
    tables, *columns = zip(*found, strict=True)
    home, chunks, regions, memory, seconds = (np.concatenate(each) for each in columns)
    over, lost = (np.concatenate(each) for each in zip(*beyond, strict=True))
    return Survey(
        setting=setting,
        question=question,
        used=used,
        map=seen,
        plans=packed_together(tables),
        devices=home,
        chunks=chunks,
        many=regions,
        memory=memory,
        seconds=seconds,
        beyond=(over, lost),
    )


def stages_open(question: Question, setting: Setting) -> bool:
    """Whether the first regions leave open how a pipeline works.

    Balanced cuts have no law by which one of them has least. Software that frees as it goes holds
    more of what a layer keeps where a stage has fewer of its kind, which equal stages do not.
    """
    if even_only(question):
        return True
    return "balanced" not in question.space.cut and not setting.software.phased


def _first(
    setting: Setting, plans: PlanTable, many: Rows, *, question: Question
) -> tuple[PlanTable, Column, Rows]:
    """A plan of each region of some layers, the most chunks of a stage, and its legal plans."""
    if stages_open(question, setting):
        if "even" in question.space.cut:
            # The simplest of them.
            plans = plans.but(cut=constant(question.space.cut.index("even"), len(plans)))
        return plans, most(question, plans, dimension=STAGES[0], name="interleaving"), many
    plans = grown(question, plans, STAGES)
    orders = order_counts(plans, setting.cluster, question.space)
    return plans, plans.interleaving, orders * counts(question, plans, PARAMETERS)


def _least_cuts(question: Question, plans: PlanTable) -> tuple[Cuts, Rows]:
    """What every way to cut leaves the stages of regions whose stages are open."""
    rows, index = distinct([plans.pipeline])
    ways = [_ways(question, int(each)) for each in plans.pipeline[rows]]
    return least_cuts(question.model, ways), index


@lru_cache(maxsize=1024)
def _ways(question: Question, pipeline: int) -> tuple[Way, ...]:
    """Every way to cut into so many stages, as if micro-batches came in groups of them."""
    found: list[Way] = []
    for _, chunks, place in schedules(question, (pipeline, True)):
        cut = question.space.cut[place]
        assert cut != "balanced", "balanced cuts follow the seconds of layers"
        parts = pipeline * chunks
        if isinstance(cut, tuple):
            found.append((pipeline, cut))
        else:
            found.append((pipeline, named(question.model, cut, pipeline=pipeline, chunks=parts)))
    return tuple(dict.fromkeys(found))


Kept = tuple[PackedTable, Column, Column, Rows, Column, Column]
"""The columns of a `Survey`."""


def _bounded(
    setting: Setting,
    first: tuple[PlanTable, Column, Rows],
    *,
    question: Question,
    used: tuple[int, ...],
    most: float,
) -> Iterator[tuple[Kept, tuple[Column, Rows]]]:
    """The columns of a `Survey`, and those beyond a device, a piece at a time.

    Where stages are open, a region that is beyond a device takes along all that differ from it by
    larger micro-batches, which need no less memory.

    Args:
        setting: workload, cluster and coefficients.
        first: a plan of each region, the most chunks of a stage, and its legal plans.
        question: the space.
        used: numbers of devices of all plans.
        most: bytes of a device.
    """
    plans, chunks, many = first
    is_open = stages_open(question, setting)
    grows = is_open and not setting.software.phased and len(plans) > PIECE
    alike = distinct([getattr(plans, name) for name in READS])[1]
    left = np.lexsort((alike, plans.micro_batch)) if grows else np.argsort(alike, kind="stable")
    # Regions that differ by their micro-batch alone, and bytes of those that are beyond a device.
    others = [getattr(plans, name) for name in (*AXES, *READS) if name != "micro_batch"]
    kin = distinct(others)[1] if grows else np.arange(len(plans))
    full = np.zeros(kin.max() + 1 if len(kin) else 0)
    while len(left):
        piece, left = left[:PIECE], left[PIECE:]
        some = plans.take(piece)
        held = hold(setting, some, cut=_least_cuts(question, some) if is_open else None)
        memory = _least_memory(setting, question, held)
        over, rows = np.flatnonzero(memory > most), np.flatnonzero(memory <= most)
        lost, least = piece[over], memory[over]
        if grows and len(over):
            full[kin[lost]] = least
            gone = full[kin[left]] > 0
            lost = np.concatenate([lost, left[gone]])
            least, left = full[kin[lost]], left[~gone]
        beyond, kept, here = (least, many[lost]), some.take(rows), piece[rows]
        seconds = any_parameters(
            setting,
            held.take(rows, kept),
            chunks=chunks[here],
            waits=gradients_wait(question),
            used=used,
        )
        columns = kept.devices, chunks[here], many[here], memory[rows], seconds
        yield (packed(kept), *columns), beyond


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
        columns = {name: constant(each, len(plans)) for name, each in fields.items()}
        lean = plans.but(**columns)
        memory = stage_memory(setting, held.take(every, lean), run=0).total
        least = np.minimum(least, memory)
    return least
