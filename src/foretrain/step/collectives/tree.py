"""Double binary tree: pieces of the message go down (or up) two trees that share the links.

The trees follow the levels: one inside each unit, one over the units of the next level. Inside a
node the library lets them degenerate into chains.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from foretrain.step.collectives.group import Group, LevelUse, Relay
from foretrain.step.collectives.line import Number
from foretrain.step.collectives.topologies import depth


def broadcast(group: Group) -> Relay:
    """Once down: as many hops as the trees are deep, and the message once over each.

    Source: sanders2009, section 2.
    """
    return _passed(group, lambda level: level.crossed.astype(np.float64))


def all_reduce(group: Group) -> Relay:
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
