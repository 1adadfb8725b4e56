"""In-network: switches add up and hand out, so that bytes cross each link once.

NVLink SHARP inside a switch domain, SHARP on InfiniBand. An all-reduce may have a tree or a ring on
a level whose switches do not add up, the others may not. The levels work side by side on pieces of
the message, and an outer level moves what the members below it share.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from foretrain.step.collectives.group import Group, LevelUse, Relay
from foretrain.step.collectives.line import Number, depth
from foretrain.step.collectives.rings import shared_by_roots

CHUNK = 0.25
"""Bytes that switches are handed at a time, over a slot of the protocol for long messages.

Source: nvidia-nccl, src/transport/nvls.cc, NVLS_CHUNKSIZE: 128 of 512 KiB.
"""

FEW_DEVICES = 4.0
"""Members of a node on two nodes that hand switches of Blackwell pieces of twice the size.

Source: nvidia-nccl, src/transport/nvls.cc, ncclNvlsTuning (sm100 between nodes).
"""

MANY_NODES, SHORTER = 4.0, 0.5
"""From so many nodes on, pieces are so much shorter that trees hand on below such switches.

Source: nvidia-nccl, src/transport/nvls.cc, ncclNvlsTreeSm100Tuning and ncclNvlsTuning (64 KiB).
"""


def all_reduce(group: Group) -> Relay:
    """Up into the switches and down again; on inner levels without them twice around rings.

    Never where the outermost switches do not add up: the library joins nodes by trees there.

    Source: graham2016 (trees of switches that add up); nvidia-nccl, NVLS and CollNet chain.
    """

    def around(level: LevelUse) -> Number:
        return (level.units - 1.0) / (level.inside * level.around)

    found = _reduce(
        group,
        hops=lambda level: (level.units - 1.0) * level.hop,
        way=around,
        busy=around,
        works=_outermost_adds(group),
    )
    return replace(found, at_once=_chunks(group))


def all_reduce_over_trees(group: Group) -> Relay:
    """Up into the switches and down again; up and down a tree where they do not add up.

    Source: nvidia-nccl, NVLS tree.
    """

    def busy(level: LevelUse) -> Number:
        return shared_by_roots(level) / (level.below * level.pairs)

    found = _reduce(
        group,
        hops=lambda level: depth(level.units) * level.far,
        way=lambda level: depth(level.units) * busy(level),
        busy=busy,
        works=group.most(lambda level: np.where(level.crossed, level.adding, 0.0)) > 0.0,
    )
    return replace(found, at_once=_pieces(group) * found.at_once)


def all_gather(group: Group) -> Relay:
    """Every member's part up once and to all others; a reduce-scatter goes the other way.

    Source: nvidia-nccl, NVLS: inside a node, and over nodes where their fabric adds up, too.
    """
    return _handed_out(group, lambda level: (level.units - 1.0) / level.inside)


def broadcast(group: Group) -> Relay:
    """Up once and to all others.

    Source: nvidia-nccl, NVLS.
    """
    return _handed_out(group, lambda level: level.crossed / level.below)


def _handed_out(group: Group, share: Callable[[LevelUse], Number]) -> Relay:
    """By switches alone: each level takes its share of the bytes, all at once."""

    def busy(level: LevelUse) -> Number:
        return share(level) / (level.adding or np.inf)

    return Relay(
        hops=group.total(_hops),
        way=group.total(busy),
        busiest=group.most(busy),
        at_once=_chunks(group),
    )


def _hops(level: LevelUse) -> Number:
    """To the switch and on; never where it does not add up."""
    return np.where(level.crossed, level.into_switch if level.adding else np.inf, 0.0)


def _reduce(
    group: Group,
    *,
    hops: Callable[[LevelUse], Number],
    way: Callable[[LevelUse], Number],
    busy: Callable[[LevelUse], Number],
    works: NDArray[np.bool_],
) -> Relay:
    """An all-reduce whose levels without switches that add up take so much each way.

    Links to switches carry one direction each way, the others both ways the same load; hops of all
    levels, the busiest one's bytes. Never where it does not work.
    """

    def added(level: LevelUse) -> Number:
        return level.crossed / (level.below * level.adding)

    def all_hops(level: LevelUse) -> Number:
        one: Number = (
            np.where(level.crossed, level.into_switch, 0.0) if level.adding else hops(level)
        )
        return 2.0 * one

    def all_links(level: LevelUse) -> Number:
        passed: Number = added(level) if level.adding else way(level)
        return 2.0 * passed

    def load(level: LevelUse) -> Number:
        both: Number = added(level) if level.adding else 2.0 * busy(level)
        return both

    return Relay(
        hops=np.where(works, group.total(all_hops), np.inf),
        way=np.where(works, group.total(all_links), 0.0),
        busiest=np.where(works, group.most(load), 0.0),
        at_once=_heads(group),
    )


def _chunks(group: Group) -> Number:
    """What the heads hand out at once where no tree joins them, in slots; at least a slot."""
    return np.maximum(1.0, CHUNK * _heads(group))


def _pieces(group: Group) -> Number:
    """Size of the pieces that go up a tree from below switches, over the usual one."""
    first = group.stretches[0]
    nodes = group.members / first.inside
    few = (nodes == 2.0) & (first.inside <= FEW_DEVICES) & (first.larger)
    sizes = np.where(nodes >= MANY_NODES, SHORTER, np.where(few, 2.0, 1.0))
    pieces: Number = np.where(first.adding > 0.0, sizes, 1.0)
    return pieces


def _heads(group: Group) -> Number:
    """Members below switches that add up: each hands out a share of the message.

    Source: nvidia-nccl, NVLS: every member of a node is the head of a part of the message.
    """
    first = group.stretches[0]
    heads: Number = np.where(first.adding > 0.0, first.inside, 1.0)
    return heads


def _outermost_adds(group: Group) -> NDArray[np.bool_]:
    """Whether the switches of the farthest level on the way add up."""
    adds = np.zeros_like(group.members, dtype=np.bool_)
    for level in group.stretches:
        adds = np.where(level.crossed, level.adding > 0.0, adds)
    return adds
