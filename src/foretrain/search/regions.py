"""Regions: plans of which only the degrees and what their layers depend on are chosen, with bounds.

A region stands for all plans that agree in these fields. Where stages can only be cut evenly, how a
pipeline works stays open too; elsewhere it is chosen here, since an uneven cut keeps no simple law.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foretrain.cost.bounds import any_stages
from foretrain.cost.held import Held, hold
from foretrain.cost.memory import heaviest_total
from foretrain.cost.setting import Setting
from foretrain.plan.choices import LAYERS, PARAMETERS, STAGES, Question, chosen
from foretrain.plan.enumeration import ROWS, counts, degrees, grown, most
from foretrain.plan.orders import order_counts
from foretrain.plan.plan import Schedule, Sharding
from foretrain.plan.study import Study
from foretrain.plan.table import Column, PlanTable, Rows
from foretrain.search.candidate import Priced
from foretrain.search.table import valued


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

    def take(self, rows: Rows) -> Regions:
        """Some of them."""
        return Regions(
            bounds=self.bounds.take(rows), chunks=self.chunks[rows], many=self.many[rows]
        )


def even_only(question: Question) -> bool:
    """Whether stages are equal but for what stands before and after the layers."""
    return question.space.cut == ("even",)


def gradients_wait(question: Question) -> bool:
    """Whether a schedule may put off gradients of weights."""
    return Schedule.ZERO_BUBBLE in question.space.schedule


def regions_of(
    study: Study, setting: Setting, *, question: Question, devices: tuple[int, ...]
) -> Regions:
    """All regions of a space, by the least value that any of their plans may have."""
    plans = grown(question, degrees(question, devices), LAYERS)
    open_to = (*PARAMETERS, *STAGES)
    many = counts(question, plans, open_to)
    legal = np.flatnonzero(many)
    plans, many = plans.take(legal), many[legal]
    if not even_only(question) and len(plans):
        plans = grown(question, plans, STAGES)
        many = counts(question, plans, PARAMETERS)
    many = many * order_counts(plans, setting.cluster, study.space)
    chunks = _chunks(question, plans)
    bounds = _bounds(study, setting, question=question, plans=plans, chunks=chunks)
    found = Regions(bounds=bounds, chunks=chunks, many=many)
    return found.take(np.argsort(bounds.value, kind="stable"))


def _chunks(question: Question, plans: PlanTable) -> Column:
    """The most chunks that a stage may have. [region]"""
    if not even_only(question):
        return plans.interleaving
    return most(question, plans, dimension=STAGES[0], name="interleaving")


def _bounds(
    study: Study, setting: Setting, *, question: Question, plans: PlanTable, chunks: Column
) -> Priced:
    """What no plan of each region takes less than, worked out a piece of the table at a time."""
    waits, seconds, memory = gradients_wait(question), [np.zeros(0)], [np.zeros(0)]
    for start in range(0, len(plans), ROWS):
        rows = np.arange(start, min(start + ROWS, len(plans)))
        held = hold(setting, plans.take(rows))
        seconds.append(any_stages(setting, held, chunks=chunks[rows], tails=False, waits=waits))
        memory.append(_least_memory(setting, question, held))
    return valued(
        study, setting, plans, seconds=np.concatenate(seconds), memory=np.concatenate(memory)
    )


def _least_memory(setting: Setting, question: Question, held: Held) -> Column:
    """Bytes that no sharding or offloading goes below. [region]

    More chunks keep more activations, and so does every other schedule; a larger shard holds less.
    """
    plans, space = held.plans, question.space
    least = np.full(len(plans), np.inf)
    every = np.arange(len(plans))
    for sharding in chosen(list(Sharding), space.sharding):
        for reshard in space.reshard[: None if sharding is Sharding.PARAMETERS else 1]:
            for offload in space.offload:
                lean = {"sharding": sharding, "reshard": reshard, "offload": offload}
                columns = {name: np.full(len(plans), float(each)) for name, each in lean.items()}
                memory = heaviest_total(setting, held.take(every, plans.but(**columns)))
                least = np.minimum(least, memory)
    return least
