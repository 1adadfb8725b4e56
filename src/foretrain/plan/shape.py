"""Shapes: what a team keeps of a plan when the devices or the workload change.

A shape is a plan without its replicas: tensor, context, pipeline and expert degree, micro-batch,
sharding, recomputation and the rest stay, and the data axis takes the devices that are left. It is
written as the plan with one replica. Shapes that differ on some devices may be one plan on others:
a shard of eight is all replicas where there are eight, and two orders may put the groups on the
same levels. So a plan may have several shapes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

from foretrain.plan.enumeration import ORDERS
from foretrain.plan.plan import (
    AXES,
    ContextExchange,
    Offload,
    Order,
    Plan,
    Recompute,
    Schedule,
    Sends,
    Sharding,
    inner_members,
)
from foretrain.plan.study import Space

Layout = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Where a plan may lie.

    Attributes:
        devices: how many.
        levels: members of each level of their cluster, innermost first.
    """

    devices: int
    levels: tuple[int, ...]


def on(shape: Plan, devices: int, *, experts: bool = False) -> Plan | None:
    """The plan of a shape on so many devices; None where no number of replicas fills them.

    Args:
        shape: a plan with one replica.
        devices: to be filled.
        experts: whether the model has experts, of which one replica may hold several copies.
    """
    data, rest = divmod(devices, shape.tensor * shape.context * shape.pipeline)
    if rest or not data:
        return None
    # A shard of all replicas goes by the name of "all", unless experts have more copies than that.
    everybody = shape.shard == data * shape.context and _copies(shape, experts=experts) <= 1
    return replace(shape, data=data, shard=0 if everybody else shape.shard)


def shapes_of(
    plan: Plan, room: Room, *, rooms: Sequence[Room], spaces: Sequence[Space], experts: bool = False
) -> list[Plan]:
    """Every shape that a plan may have.

    Args:
        plan: the plan.
        room: where it lies.
        rooms: where its shapes may lie, `room` among them.
        spaces: what of them is worth telling apart.
        experts: whether the model has experts, of which one replica may hold several copies.
    """
    shape = _neutral(replace(plan, data=1))
    degrees = tuple(getattr(plan, axis) for axis in AXES)
    worth = _worth(tuple(space.order for space in spaces))
    return [
        replace(shape, order=order, sharding=kind, shard=shard, reshard=reshard)
        for order in _alike(degrees, plan.order, at=(room, tuple(rooms)), worth=worth)
        for kind, shard, reshard in _shardings(plan, spaces, experts=experts)
    ]


@lru_cache(maxsize=64)
def _worth(allowed: tuple[tuple[Order, ...] | None, ...]) -> tuple[Order, ...]:
    """The orders that every space allows."""
    return tuple(each for each in ORDERS if all(each in (some or ORDERS) for some in allowed))


def _neutral(plan: Plan) -> Plan:
    """The plan with one value for each field that changes nothing."""
    if plan.tensor == 1:
        plan = replace(plan, sequence_parallel=False)
    if plan.context == 1:
        plan = replace(plan, exchange=ContextExchange.RING)
    if plan.pipeline == 1:
        plan = replace(plan, schedule=Schedule.ONE_F_ONE_B, sends=Sends.OVERLAPPED, cut="even")
    if plan.recompute is not Recompute.FULL:
        plan = replace(plan, recompute_layers=0)
    if plan.offload < Offload.ACTIVATIONS:
        plan = replace(plan, offload_layers=0)
    return plan


def _shardings(
    plan: Plan, spaces: Sequence[Space], *, experts: bool
) -> Iterator[tuple[Sharding, int, bool]]:
    """Every way to shard that comes to the same for so many replicas."""
    replicas = plan.data * plan.context
    alike = _copies(plan, experts=experts)
    if replicas == 1 and alike <= 1:
        yield from _any_sharding(spaces)
    elif plan.sharding is Sharding.NONE:
        yield Sharding.NONE, 0, True
    else:
        reshard = plan.reshard or plan.sharding is not Sharding.PARAMETERS
        yield plan.sharding, plan.shard, reshard
        if plan.shard == 0 and alike <= 1:
            yield plan.sharding, replicas, reshard


def _copies(plan: Plan, *, experts: bool) -> int:
    """Copies of an expert that one replica holds; 1 of what is no expert."""
    return plan.tensor // (plan.expert * plan.expert_tensor) if experts else 1


def _any_sharding(spaces: Sequence[Space]) -> Iterator[tuple[Sharding, int, bool]]:
    """Every way to shard among all replicas, which a single one cannot tell apart."""
    for kind in Sharding:
        if all(kind in (space.sharding or Sharding) for space in spaces):
            told = kind is Sharding.PARAMETERS
            for reshard in (True, False) if told else (True,):
                if not told or all(reshard in space.reshard for space in spaces):
                    yield kind, 0, reshard


@lru_cache(maxsize=65_536)
def _alike(
    degrees: tuple[int, ...],
    order: Order,
    *,
    at: tuple[Room, tuple[Room, ...]],
    worth: tuple[Order, ...],
) -> tuple[Order, ...]:
    """One order for each way to lie in all rooms, of those that lie in one of them like this."""
    room, rooms = at
    here = inner_members(order, degrees, room.levels)
    found: dict[tuple[Layout | None, ...], Order] = {}
    for each in worth:
        if inner_members(each, degrees, room.levels) == here:
            found.setdefault(tuple(_layout(each, degrees, other) for other in rooms), each)
    return tuple(found.values())


def _layout(order: Order, degrees: tuple[int, ...], room: Room) -> Layout | None:
    """How the groups lie in a room; None where they cannot fill it."""
    place = AXES.index("data")
    others = prod(degrees) // degrees[place]
    if room.devices % others:
        return None
    filled = (*degrees[:place], room.devices // others, *degrees[place + 1 :])
    return inner_members(order, filled, room.levels)
