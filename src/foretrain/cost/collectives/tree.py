"""Double binary tree: pieces of the message go down (or up) two trees that share the links.

The trees follow the levels: one inside each unit, one over the units of the next level.
"""

from __future__ import annotations

from foretrain.cost.collectives.group import Group
from foretrain.cost.collectives.line import Line
from foretrain.cost.collectives.topologies import depth


def broadcast(group: Group) -> Line:
    """Once down, pipelined: as many hops as the trees are deep, and the message once.

    Source: sanders2009, section 2.
    """
    return Line(
        fixed=group.total(lambda level: depth(level.units) * level.far),
        per_byte=group.most(lambda level: level.crossed / (level.below * level.pairs)),
    )


def reduce(group: Group) -> Line:
    """Up to add, down to hand out.

    Source: sanders2009, section 3.
    """
    return broadcast(group).twice()
