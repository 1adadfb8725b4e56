"""Regions: plans with some fields still open, and bounds of what any of their plans takes.

The first regions say the degrees and what layers depend on. How a pipeline works stays open too,
with stages that have no more layers than every way to cut leaves them, unless cuts follow predicted
times. Open fields have the values of which a plan needs least memory: one copy of what is sharded
among all replicas, one chunk per stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from foretrain.cluster.cluster import Cluster
from foretrain.plan.choices import Dimension, Question
from foretrain.plan.enumeration import counts, degrees, order_counts, with_choices, with_layers
from foretrain.plan.table import Column, PlanTable, Rows, stacked
from foretrain.search.candidate import Priced
from foretrain.step.setting import Setting


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
