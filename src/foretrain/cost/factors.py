"""Factors: what few fields of a plan decide is priced once per combination, and plans gather it.

A table of plans meets small tables: its cuts and what its layers take (`Held`), then its layers'
times and its groups' collectives (`Factors`). A row is a position in each of them, so taking rows
moves positions, not prices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretrain.cluster.cluster import Cluster
from foretrain.cost.collective import Exchange, Line, exchange, send
from foretrain.cost.layers import READS, LayerMemory, LayerTimes, layer_memory, layer_times
from foretrain.cost.setting import Setting
from foretrain.plan.placement import inner_members
from foretrain.plan.plan import AXES
from foretrain.plan.table import Column, PlanTable, Rows, distinct
from foretrain.strategies.pipeline import Cuts, cuts

Inside = dict[str, NDArray[np.float64]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Held:
    """Plans, their cuts, and what their layers take.

    Attributes:
        plans: the plans.
        layers: one layer of each kind. [kind, combination]
        layer: combination of each plan. [plan]
        cuts: runs of equal stages. [run, kind, way]
        cut: way of each plan. [plan]
    """

    plans: PlanTable
    layers: LayerMemory
    layer: Rows
    cuts: Cuts
    cut: Rows

    @property
    def runs(self) -> range:
        """Positions of the runs of equal stages."""
        return range(len(self.cuts.stages))

    def take(self, rows: Rows, plans: PlanTable) -> Held:
        """The same for other plans, each of which holds what one of these rows holds."""
        return Held(
            plans=plans,
            layers=self.layers,
            layer=self.layer[rows],
            cuts=self.cuts,
            cut=self.cut[rows],
        )

    def counts(self, run: int) -> list[Column]:
        """Layers of each kind on one stage of a run. [kind][plan]"""
        return [kind[self.cut] for kind in self.cuts.layers[run]]

    def stages(self, run: int) -> Column:
        """Stages of a run. [plan]"""
        stages: Column = self.cuts.stages[run][self.cut]
        return stages

    def of_layers(self, values: NDArray[np.float64]) -> list[Column]:
        """A field of `layers`. [kind][plan]"""
        return [kind[self.layer] for kind in values]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Groups:
    """Collectives of the data and the pipeline axis. [placement]

    Attributes:
        data: algorithms of the data axis.
        hop: one message between neighbouring stages.
    """

    data: Exchange
    hop: Line


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Factors:
    """Plans with everything that their step is made of.

    Attributes:
        held: the plans and what they hold.
        times: one layer of each kind. [kind, combination]
        time: combination of each plan. [plan]
        groups: collectives. [placement]
        group: placement of each plan. [plan]
    """

    held: Held
    times: LayerTimes
    time: Rows
    groups: Groups
    group: Rows

    @property
    def plans(self) -> PlanTable:
        """The plans."""
        return self.held.plans

    def of_times(self, values: NDArray[np.float64]) -> list[Column]:
        """A field of `times`. [kind][plan]"""
        return [kind[self.time] for kind in values]


def hold(setting: Setting, plans: PlanTable) -> Held:
    """What the layers of each plan take, and how the plan cuts them."""
    rows, layer = distinct([getattr(plans, name) for name in READS])
    ways, cut = distinct([plans.pipeline, plans.interleaving])
    pairs = [(int(plans.pipeline[way]), int(plans.interleaving[way])) for way in ways]
    return Held(
        plans=plans,
        layers=layer_memory(setting, plans.take(rows)),
        layer=layer,
        cuts=cuts(setting.workload.model, pairs),
        cut=cut,
    )


def factors(setting: Setting, held: Held) -> Factors:
    """The times of each plan's layers, and the collectives of its groups."""
    plans, net = held.plans, setting.network
    placed, group = _placements(setting.cluster, plans)
    inside = placed["tensor"][:, group]
    rows, time = distinct([*(getattr(plans, name) for name in READS), *inside[:-1]])
    return Factors(
        held=held,
        times=layer_times(setting, plans.take(rows), inside=list(inside[:, rows])),
        time=time,
        groups=Groups(
            data=exchange(list(placed["data"]), net),
            hop=send(list(placed["pipeline"]), net),
        ),
        group=group,
    )


def _placements(cluster: Cluster, plans: PlanTable) -> tuple[Inside, Rows]:
    """Members inside each level of each axis' groups [level, placement], and whose they are."""
    rows, group = distinct([plans.order, *(getattr(plans, axis) for axis in AXES)])
    levels = tuple(level.members for level in cluster.levels)
    placed = [
        inner_members(
            plans.orders[int(plans.order[row])],
            tuple(int(getattr(plans, axis)[row]) for axis in AXES),
            levels,
        )
        for row in rows
    ]
    inside = np.array(placed, float).transpose(1, 2, 0)
    return dict(zip(AXES, inside, strict=True)), group


def weighted(counts: Sequence[Column], values: Sequence[Column]) -> Column:
    """Layers of each kind times what one of them costs, added in order. [plan]"""
    total = counts[0] * values[0]
    for count, value in zip(counts[1:], values[1:], strict=True):
        total = total + count * value
    return total
