"""Rings and double binary trees, whose links all members share.

Ring: every member passes on what it got from one neighbour to the other.

The members below a level each carry one ring over it, so that their shares add up; the ring runs
at the pace of the slowest level that it crosses. Nobody waits for the slowest hop in each step: a
part meets every hop of the ring once a round. A single ring, as libraries without channels have it,
leaves a unit by one member alone, and its steps follow one another.

Double binary tree: pieces of the message go down (or up) two trees that share the links.

The trees follow the levels: one inside each unit, one over the units of the next level. Inside a
node the library lets them degenerate into chains.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from foretrain.step.collectives.group import Group, LevelUse, Relay
from foretrain.step.collectives.line import Line, Number, depth


def hops(group: Group) -> Number:
    """Seconds of the n - 1 hops from a member around to the last one, on the slowest of these ways.

    A ring over n members has n hops, and some member's part meets all but one of the quickest.

    Source: nvidia-nccl, src/graph/tuning.cc (steps inside nodes and between them: an all-reduce
    passes as many times from node to node as twice around does).
    """
    way = _quickest_way(group)
    slowest = group.most(lambda level: level.crossed * level.hop)
    quickest = -group.most(lambda level: np.where(level.crossed, -level.hop, -slowest))
    return way + (slowest - quickest)


def byte_time(group: Group) -> Number:
    """Seconds per byte that passes around."""
    return group.most(lambda level: level.crossed / (level.below * level.around))


def ring_all_gather(group: Group) -> Line:
    """Once around: n - 1 steps of `latency + size / (n bandwidth)`.

    Source: thakur2005, section 4.1.
    """
    share = (group.members - 1.0) / group.members
    return Line(fixed=hops(group), per_byte=share * byte_time(group))


def ring_all_reduce(group: Group) -> Line:
    """Around to add up, around to hand out.

    Source: patarasuk2009, equation 4.
    """
    return ring_all_gather(group).twice()


def single_gather(group: Group) -> Line:
    """One ring through all members, which every step of all of them waits for.

    Source: kahira2021, the collectives of its oracle (the slowest link of the ring, n - 1 times).
    """
    share = (group.members - 1.0) / group.members
    slowest = group.most(
        lambda level: level.crossed / np.minimum(level.alone, level.below * level.around)
    )
    waited = group.most(lambda level: level.crossed * level.hop)
    return Line(fixed=(group.members - 1.0) * waited, per_byte=share * slowest)


def single_reduce(group: Group) -> Line:
    """The same around to add up, and around to hand out."""
    return single_gather(group).twice()


def ring_broadcast(group: Group) -> Relay:
    """From neighbour to neighbour: the last waits n - 1 hops.

    Source: nvidia-nccl, ring broadcast.
    """
    return Relay(
        hops=_quickest_way(group),
        way=group.total(lambda level: _steps(group, level) / (level.below * level.around)),
        busiest=byte_time(group),
        at_once=np.ones_like(group.members),
    )


def _quickest_way(group: Group) -> Number:
    """Seconds of all hops of the ring but one of the slowest, which leads back to the first."""
    return group.total(lambda level: _steps(group, level) * level.hop)


def _steps(group: Group, level: LevelUse) -> Number:
    """Hops over a level on the way from a member around to the last one."""
    return group.members / level.inside * (level.units - 1.0)


def tree_broadcast(group: Group) -> Relay:
    """Once down: as many hops as the trees are deep, and the message once over each.

    Source: sanders2009, section 2.
    """
    return _passed(group, lambda level: level.crossed.astype(np.float64))


def tree_all_reduce(group: Group) -> Relay:
    """Up to add, down to hand out.

    Source: sanders2009, section 3.
    """
    return _passed(group, shared_by_roots).twice()


def shared_by_roots(level: LevelUse) -> Number:
    """How much of a message a unit sends each way.

    Of two units each is the root for half of the bytes: they pass once each way, not twice.
    """
    return np.minimum(level.units - 1.0, 2.0) / 2.0


def _passed(group: Group, sent: Callable[[LevelUse], Number]) -> Relay:
    """One way, on which a unit of a tree sends such a share of the message, one of a chain all."""

    def busy(level: LevelUse) -> Number:
        if level.chained:
            return level.crossed / (level.below * level.around)
        return sent(level) / (level.below * level.pairs)

    return Relay(
        hops=group.total(lambda level: rounds(level) * (level.hop if level.chained else level.far)),
        way=group.total(lambda level: rounds(level) * busy(level)),
        busiest=group.most(busy),
        at_once=np.ones_like(group.members),
    )


def rounds(level: LevelUse) -> Number:
    """Hops from the root to the last unit."""
    return level.units - 1.0 if level.chained else depth(level.units)
