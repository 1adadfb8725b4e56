"""Regions: plans with some fields still open, by the least value that any of them may have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from foretrain.cluster.cluster import energy
from foretrain.plan.choices import (
    Dimension,
    Question,
)
from foretrain.plan.enumeration import (
    counts,
    order_counts,
    up_to,
    with_choices,
)
from foretrain.plan.study import Study
from foretrain.plan.table import (
    Column,
    PlanTable,
    Rows,
    stacked,
)
from foretrain.search.candidate import Priced, counts_energy
from foretrain.search.found import Incumbents
from foretrain.search.survey import PIECE, Survey
from foretrain.search.table import worth_of
from foretrain.step.memory import rooms
from foretrain.step.passes import computing_seconds
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
