"""In-network: switches add up and hand out, so that bytes cross each link once.

NVLink SHARP inside a switch domain, SHARP on InfiniBand. An all-reduce may have a tree or a ring on
a level whose switches do not add up, the others may not. The levels work side by side on pieces of
the message, and an outer level moves what the members below it share.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from foretrain.cost.collectives.group import Group, Stretch
from foretrain.cost.collectives.line import Line, Number
from foretrain.cost.collectives.topologies import depth


def reduce(group: Group) -> Line:
    """Up into the switches and down again; on inner levels without them twice around rings.

    Never where the outermost switches do not add up: the library joins nodes by trees there.

    Source: graham2016 (trees of switches that add up); nvidia-nccl, NVLS and CollNet chain.
    """
    return _reduce(
        group,
        hops=lambda level: (level.units - 1.0) * level.hop,
        busy=lambda level: (level.units - 1.0) / (level.inside * level.around),
        works=_outermost_adds(group),
    )


def reduce_over_trees(group: Group) -> Line:
    """Up into the switches and down again; up and down a tree where they do not add up.

    Of two units each is the root for half of the bytes: they pass once each way, not twice.

    Source: nvidia-nccl, NVLS tree.
    """
    return _reduce(
        group,
        hops=lambda level: depth(level.units) * level.far,
        busy=lambda level: np.minimum(level.units - 1.0, 2.0) / (2.0 * level.below * level.pairs),
        works=group.most(lambda level: np.where(level.crossed, level.adding, 0.0)) > 0.0,
    )


def gather(group: Group) -> Line:
    """Every member's part up once and to all others; a reduce-scatter goes the other way.

    Source: nvidia-nccl, NVLS: inside a node, and over nodes where their fabric adds up, too.
    """
    return _handed_out(group, lambda level: (level.units - 1.0) / level.inside)


def broadcast(group: Group) -> Line:
    """Up once and to all others.

    Source: nvidia-nccl, NVLS.
    """
    return _handed_out(group, lambda level: level.crossed / level.below)


def _handed_out(group: Group, share: Callable[[Stretch], Number]) -> Line:
    """By switches alone: each level takes its share of the bytes, all at once."""
    return Line(
        fixed=group.total(_hops),
        per_byte=group.most(lambda level: share(level) / (level.adding or np.inf)),
    )


def _hops(level: Stretch) -> Number:
    """To the switch and on; never where it does not add up."""
    return np.where(level.crossed, level.hop if level.adding else np.inf, 0.0)


def _reduce(
    group: Group,
    *,
    hops: Callable[[Stretch], Number],
    busy: Callable[[Stretch], Number],
    works: NDArray[np.bool_],
) -> Line:
    """An all-reduce whose levels without switches that add up take `hops` and `busy` each way.

    Hops of all levels, the busiest one's bytes; never where it does not work.
    """

    def both_hops(level: Stretch) -> Number:
        return 2.0 * (level.hop * level.crossed if level.adding else hops(level))

    def both_busy(level: Stretch) -> Number:
        if level.adding:
            return level.crossed / (level.below * level.adding)
        return 2.0 * busy(level)

    return Line(
        fixed=np.where(works, group.total(both_hops), np.inf),
        per_byte=np.where(works, group.most(both_busy), 0.0),
    )


def _outermost_adds(group: Group) -> NDArray[np.bool_]:
    """Whether the switches of the farthest level on the way add up."""
    adds = np.zeros_like(group.members, dtype=np.bool_)
    for level in group.stretches:
        adds = np.where(level.crossed, level.adding > 0.0, adds)
    return adds
