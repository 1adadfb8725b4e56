"""Spreads: the ways in which the members of a group may lie on the levels of a cluster.

What bounds every order of the axes has to ask all of them. Neighbours are not always the quickest:
outer links may have lower latencies or switches that add up, and a collective that goes level by
level takes fewer hops among 2 x 4 members than among 8.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import accumulate, combinations
from operator import mul
from typing import NamedTuple

import numpy as np

from foretrain.plan.choices import divisors
from foretrain.plan.plan import AXES
from foretrain.plan.table import Column, Members, Rows, distinct, neighbours
from foretrain.step.collective import Exchange, Inside, Menu, menu_of, send, shortened
from foretrain.step.collectives.line import Line
from foretrain.step.collectives.network import Network
from foretrain.step.strategies.strategy import Pattern
from foretrain.workload.parts.feed_forward import ANYWHERE, RouterLimit


class GroupKey(NamedTuple):
    """Devices that a plan may have, members of one of its groups, and whether it has experts.

    Without devices it is an axis of a plan that may have any number of them.
    """

    counts: tuple[int, ...]
    members: int
    experts: bool


def quickest(net: Network, devices: Column, members: Column, *, experts: bool) -> Exchange:
    """Collectives of groups that lie as suits each of them best. [group]

    Args:
        net: the levels.
        devices: of the plan that a group belongs to.
        members: of the group.
        experts: whether the model has experts, whose groups lie in more ways.
    """
    groups, row = _groups(devices, members, experts=experts)
    return Exchange(menu=partial(_menus, net, groups), row=row)


def quickest_of_any(net: Network, members: Column, *, counts: tuple[int, ...] = ()) -> Exchange:
    """The same for plans of other numbers of devices. [group]

    Args:
        net: the levels.
        members: of the group.
        counts: numbers of devices of plans with experts, to which a group belongs; empty for the
            members of one axis, in plans of any number of devices.
    """
    rows, row = distinct([members])
    groups = tuple(GroupKey(counts, int(each), bool(counts)) for each in members[rows])
    return Exchange(menu=partial(_menus, net, groups), row=row)


def quickest_send(net: Network, devices: Column, members: Column) -> Line:
    """A message to the next member of groups that lie as suits each of them best. [group]"""
    groups, row = _groups(devices, members, experts=False)
    lines = [_send(net, group) for group in groups]
    every = Line(
        fixed=np.concatenate([line.fixed for line in lines]),
        per_byte=np.concatenate([line.per_byte for line in lines]),
    )
    return every.take(row)


def _groups(
    devices: Column, members: Column, *, experts: bool
) -> tuple[tuple[GroupKey, ...], Rows]:
    """The distinct groups, and which of them each is."""
    rows, row = distinct([devices, members])
    pairs = zip(devices[rows].astype(int).tolist(), members[rows].astype(int).tolist(), strict=True)
    return tuple(GroupKey((count,), each, experts) for count, each in pairs), row


@lru_cache(maxsize=1024)
def _menus(
    net: Network,
    groups: tuple[GroupKey, ...],
    pattern: Pattern,
    *,
    copies: int,
    limit: RouterLimit = ANYWHERE,
) -> Menu:
    """The algorithms of a pattern for groups, the first again where one has fewer."""
    menus = [_menu(net, group, pattern, copies=copies, limit=limit) for group in groups]
    height = np.arange(max(len(menu.fixed) for menu in menus))
    places = [np.where(height < len(menu.fixed), height, 0) for menu in menus]
    pairs = [*zip(menus, places, strict=True)]
    return Menu(
        fixed=np.concatenate([menu.fixed[place] for menu, place in pairs], axis=1),
        per_byte=np.concatenate([menu.per_byte[place] for menu, place in pairs], axis=1),
        algorithm=np.concatenate([menu.algorithm[place] for menu, place in pairs], axis=1),
        names=menus[0].names,
    )


@lru_cache(maxsize=4096)
def _menu(
    net: Network, group: GroupKey, pattern: Pattern, *, copies: int, limit: RouterLimit
) -> Menu:
    """The algorithms for one group, in every spread, as if each were an algorithm of its own."""
    every = menu_of(net, _spreads_of(net, group), pattern, copies=copies, limit=limit)
    order = np.lexsort((every.per_byte.ravel(), every.fixed.ravel()))[:, np.newaxis]
    return shortened(
        Menu(
            fixed=every.fixed.ravel()[order],
            per_byte=every.per_byte.ravel()[order],
            algorithm=every.algorithm.ravel()[order],
            names=every.names,
        )
    )


@lru_cache(maxsize=4096)
def _send(net: Network, group: GroupKey) -> Line:
    """A message in whichever spreads start and move it quickest."""
    line = send([np.array(inside) for inside in _spreads_of(net, group)], net)
    return Line(
        fixed=np.min(line.fixed, keepdims=True), per_byte=np.min(line.per_byte, keepdims=True)
    )


def _spreads_of(net: Network, group: GroupKey) -> Inside:
    """The spreads of a group in plans of any of its numbers of devices."""
    levels = tuple(wire.members for wire in net.wires)
    if not group.counts:
        return _of_any_stride(levels, group.members)
    every = (spreads(levels, count, experts=group.experts) for count in group.counts)
    found = [np.array(each[group.members]) for each in every if group.members in each]
    return tuple(map(tuple, _several(found).tolist()))


def _of_any_stride(levels: tuple[int, ...], members: int) -> Inside:
    """Members of an axis inside each level, however many devices stand between two of them.

    Those further apart than the last level but one has devices share no group of it.
    """
    sizes = [*accumulate(levels[:-1], mul)]
    strides = np.arange(1, 1 + max(sizes, default=1))
    inside = [np.maximum(1, np.gcd(size, strides * members) // strides) for size in sizes]
    every = np.array([*inside, np.full(len(strides), members)], float)
    return tuple(map(tuple, _several([every]).tolist()))


@lru_cache(maxsize=4096)
def spreads(levels: tuple[int, ...], devices: int, *, experts: bool) -> Mapping[int, Inside]:
    """Members inside each level of every group of so many members that some plan has.

    Args:
        levels: members of each level of the cluster, innermost first.
        devices: of the plans.
        experts: whether groups of experts count too.

    Replicas lie on the devices of two axes, and shards within them; experts lie within three axes,
    those that hold the same ones within that, and their shards within those.
    """
    degrees = np.array([*_products(devices, len(AXES))]).T
    sizes = [*accumulate(levels[:-1], mul)]
    axes, stride = [], np.ones_like(degrees[0])
    for degree in degrees:
        reach = stride * degree
        inside = [np.maximum(1, np.gcd(size, reach) // stride) for size in sizes]
        axes.append(np.array([*inside, degree], float))
        stride = reach
    replicas = _several([one * other for one, other in combinations(axes, 2)])
    found = [replicas, *_shards(replicas)]
    if experts:
        folded = _several([one * other * third for one, other, third in combinations(axes, 3)])
        within = _several([*_within(folded)])
        found += [within, *_shards(within)]
    every = _several(found)
    return {
        int(members): tuple(map(tuple, every[:, every[-1] == members].tolist()))
        for members in np.unique(every[-1])
    }


def _products(number: int, factors: int) -> Iterator[tuple[int, ...]]:
    """Every way to write a number as a product, order included."""
    if factors == 1:
        yield (number,)
        return
    for first in divisors(number):
        for others in _products(number // first, factors - 1):
            yield (first, *others)


def _shards(wholes: Members) -> Iterator[Members]:
    """Neighbours within groups, and those that have the same place among them."""
    for whole in _by_members(wholes):
        members = int(whole[-1, 0])
        for shard in divisors(members):
            yield _part(whole, shard, stride=1)
            yield _part(whole, members // shard, stride=shard)


def _within(wholes: Members) -> Iterator[Members]:
    """Every group of every so-manieth member of larger groups."""
    for whole in _by_members(wholes):
        for members, stride, _ in _products(int(whole[-1, 0]), 3):
            yield _part(whole, members, stride=stride)


def _part(whole: Members, members: int, *, stride: int) -> Members:
    return neighbours(whole, np.array(float(members)), stride=float(stride))


def _by_members(wholes: Members) -> Iterator[Members]:
    """Groups of equal size."""
    for members in np.unique(wholes[-1]):
        yield wholes[:, wholes[-1] == members]


def _several(groups: Sequence[Members]) -> Members:
    """The distinct ones. [level, group]"""
    every: Members = np.unique(np.concatenate(groups, axis=1), axis=1)
    return every
