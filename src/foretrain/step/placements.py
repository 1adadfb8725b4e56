"""Placements: where the groups of plans lie on the levels of a cluster, and what they exchange by.

The tensor, context, data and pipeline axis use every device once. Members of the context and the
data axis hold the same parameters; a shard is so many neighbours among them. Experts fold over the
devices of the first three axes: those that share an expert stand next to one another, then come
those that share all experts, then those that hold the same ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretrain.plan.plan import AXES, inner_members, neighbours
from foretrain.plan.table import Column, PlanTable, Rows, distinct
from foretrain.step.collective import Exchange, exchange, send
from foretrain.step.collectives.line import Line
from foretrain.step.setting import Holding, Setting
from foretrain.step.spreads import quickest, quickest_of_any, quickest_send
from foretrain.step.strategies.data import among
from foretrain.step.strategies.spatial import SIDES
from foretrain.step.strategies.strategy import Axis, ParameterGroup
from foretrain.step.strategies.tensor import expert_replicas

READS = ("order", *AXES, "shard", "expert", "expert_tensor", "grid")
"""Fields of a plan that decide where its groups lie."""

Levels = NDArray[np.float64]
"""Members inside each level. [level, placement]"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Placements:
    """Groups of plans. [placement]

    Attributes:
        plans: a plan of each placement.
        axes: collectives of the axes that exchange something for operators.
        groups: collectives of those that hold the same parameters.
        hop: one message between neighbouring stages.
        place: which of the distinct spreads of those axes it is.
    """

    plans: PlanTable
    axes: Mapping[Axis, Exchange]
    groups: Mapping[tuple[Holding, ParameterGroup], Exchange]
    hop: Line
    place: Rows


def replicas_of(plans: PlanTable, holding: Holding) -> Column:
    """Devices that hold the same parameters of a kind. [plan]"""
    return expert_replicas(plans) if holding is Holding.EXPERTS else plans.replicas


def placements(setting: Setting, plans: PlanTable) -> tuple[Placements, Rows]:
    """The distinct placements of some plans, and which of them each plan has."""
    rows, group = distinct([getattr(plans, name) for name in READS])
    few, net = plans.take(rows), setting.network
    axes = _axes(setting, few)
    folded = axes["tensor"] * axes["context"] * axes["data"]
    same = {Holding.COMMON: axes["context"] * axes["data"]}
    inside = {Axis.TENSOR: axes["tensor"]}
    if setting.attends:
        inside[Axis.CONTEXT] = axes["context"]
    if few.spatial.any():
        inside[Axis.GRID] = axes["context"]
        for axis, (degree, stride) in grid_lines(few).items():
            inside[axis] = neighbours(axes["context"], degree, stride=stride)
    if Holding.EXPERTS in setting.holdings:
        members = few.expert * few.expert_tensor
        inside[Axis.EXPERT_TENSOR] = neighbours(folded, few.expert_tensor)
        inside[Axis.EXPERT] = neighbours(folded, few.expert, stride=few.expert_tensor)
        same[Holding.EXPERTS] = neighbours(folded, expert_replicas(few), stride=members)
    _, place = distinct([level for levels in inside.values() for level in levels])
    return Placements(
        plans=few,
        axes={axis: exchange(list(each), net) for axis, each in inside.items()},
        groups={
            (holding, name): exchange(list(levels), setting.between)
            for holding, members in same.items()
            for name, levels in _sharded(setting, few, holding, members=members).items()
        },
        hop=send(list(axes["pipeline"]), net),
        place=place,
    ), group


def any_placement(setting: Setting, plans: PlanTable) -> tuple[Placements, Rows]:
    """Groups that lie as suits each of them best, and which placement a plan has.

    No one order does that for all of them: what exchanges take here is a lower bound of what they
    take in any order.
    """
    rows, index = distinct([getattr(plans, name) for name in READS if name != "order"])
    few = plans.take(rows)
    axes = any_axes(setting, few)
    groups = {}
    for holding in setting.holdings:
        replicas = replicas_of(few, holding)
        shard = among(few, replicas)
        # Where nothing is sharded, a plan may say any number.
        shard = np.where(replicas % shard == 0, shard, replicas)
        sizes = {
            ParameterGroup.REPLICAS: replicas / _added_by_host(setting, few),
            ParameterGroup.SHARD: shard,
            ParameterGroup.ACROSS: replicas / shard,
        }
        for name, members in sizes.items():
            groups[holding, name] = _quickest(setting, few, members)
    return Placements(
        plans=few,
        axes=axes,
        groups=groups,
        hop=quickest_send(setting.network, few.devices, few.pipeline),
        place=distinct([each.row for each in axes.values()])[1],
    ), index


def any_axes(
    setting: Setting, plans: PlanTable, *, used: tuple[int, ...] = ()
) -> dict[Axis, Exchange]:
    """Axes that exchange something for operators, each as suits it best. [plan]

    Args:
        setting: workload, cluster and coefficients.
        plans: the plans.
        used: numbers of devices that they may have; empty for their own.
    """
    sizes = {Axis.TENSOR: plans.tensor}
    if setting.attends:
        sizes[Axis.CONTEXT] = plans.context
    if plans.spatial.any():
        sizes |= {Axis.GRID: plans.context}
        sizes |= {axis: degree for axis, (degree, _) in grid_lines(plans).items()}
    net = setting.network
    found = {axis: quickest_of_any(net, members) for axis, members in sizes.items()}
    if Holding.EXPERTS in setting.holdings:
        folded = {Axis.EXPERT_TENSOR: plans.expert_tensor, Axis.EXPERT: plans.expert}
        for axis, members in folded.items():
            together = quickest_of_any(net, members, counts=used) if used else None
            found[axis] = together or _quickest(setting, plans, members)
    return found


def grid_lines(plans: PlanTable) -> dict[Axis, tuple[Column, Column]]:
    """Members in a line along each side of a grid, and the step from one to the next. [plan]

    The last side varies fastest. Where a plan has no grid, a line is one device.
    """
    sides = np.ones((len(SIDES), len(plans.grids)))
    for place, grid in enumerate(plans.grids):
        sides[: len(grid), place] = grid
    strides = np.cumprod(np.vstack([np.ones_like(sides[:1]), sides[:0:-1]]), axis=0)[::-1]
    chosen = plans.grid.astype(np.intp)
    return {
        axis: (sides[place, chosen], strides[place, chosen]) for place, axis in enumerate(SIDES)
    }


def _quickest(setting: Setting, plans: PlanTable, members: Column) -> Exchange:
    experts = Holding.EXPERTS in setting.holdings
    return quickest(setting.network, plans.devices, members, experts=experts)


def _sharded(
    setting: Setting, plans: PlanTable, holding: Holding, *, members: Levels
) -> dict[ParameterGroup, Levels]:
    """Those that hold the same parameters, by what they share of them."""
    replicas = replicas_of(plans, holding)
    shard = among(plans, replicas)
    grid = _added_by_host(setting, plans)
    return {
        ParameterGroup.REPLICAS: neighbours(members, np.floor(replicas / grid), stride=grid),
        ParameterGroup.SHARD: neighbours(members, shard),
        ParameterGroup.ACROSS: neighbours(members, np.floor(replicas / shard), stride=shard),
    }


def _added_by_host(setting: Setting, plans: PlanTable) -> Column:
    """Members that add up gradients by way of the host, so that one of them meets other grids."""
    return np.where(plans.spatial & (setting.between.staged > 0), plans.context, 1.0)


def _axes(setting: Setting, plans: PlanTable) -> dict[str, Levels]:
    """Members inside each level of each axis' groups. [axis][level, placement]"""
    levels = tuple(level.members for level in setting.cluster.levels)
    placed = [
        inner_members(
            plans.orders[int(plans.order[row])],
            tuple(int(getattr(plans, axis)[row]) for axis in AXES),
            levels,
        )
        for row in range(len(plans))
    ]
    inside = np.array(placed, float).transpose(1, 2, 0)
    return dict(zip(AXES, inside, strict=True))
