"""Dispatch: tokens to the members that hold their experts, once for all experts that one holds.

Whoever holds k experts of a token gets it once, and adds up what they make of it before it goes
back. The k members are taken to be drawn one by one: from all of them, or from those that hold the
groups of experts in which a router looks, where it is limited to some.
"""

from __future__ import annotations

import numpy as np

from foretrain.step.collectives.group import Group, LevelUse
from foretrain.step.collectives.line import Line, Number
from foretrain.workload.parts.feed_forward import ANYWHERE, RouterLimit


def distinct(units: Number, draws: int) -> Number:
    """Distinct units among those that some draws from them name. [group]

    The expectation `n (1 - (1 - 1/n)^k)`, worked out.
    """
    missed = np.ones_like(units)
    for _ in range(draws):
        missed = missed * (1.0 - 1.0 / units)
    return units * (1.0 - missed)


def distinct_share(units: Number, copies: int, limit: RouterLimit = ANYWHERE) -> Number:
    """Distinct units to which `copies` of a token go, over the copies. [group]

    Units that hold a part of a group of experts, or one, are reached as often as groups are; those
    that hold several are drawn as often as a token may choose a group.

    Source: deepseek2024v3, section 3.2.2 (tokens go once to each node, and to 4 nodes at most).
    """
    apart = units * limit.most / limit.groups
    within = np.where(units >= limit.groups, apart, distinct(units, limit.most))
    return distinct(within, copies) / copies


def direct(group: Group) -> Line:
    """From the sender to each of the members, all of them at once.

    Source: deepep, README of its kernels inside a node.
    """
    sent = distinct_share(group.members, group.copies, group.limit)
    return Line(
        fixed=group.farthest(),
        per_byte=group.total(
            lambda level: sent * (level.inside - level.below) / (group.members * level.all)
        ),
    )


def forwarded(group: Group) -> Line:
    """Once to each node, whose members hand it on inside, while others are still on the way.

    Source: deepseek2024v3, section 3.2.2.
    """

    def carried(level: LevelUse, *, chained: bool) -> Number:
        # A unit of the level below gets what its members need, from outside or from its like.
        sent = distinct_share(group.members / level.below, group.copies, group.limit)
        seconds = sent * (level.units - 1.0) / (level.units * level.all)
        return seconds if level.chained is chained else np.zeros_like(seconds)

    return Line(
        fixed=group.total(lambda level: level.far * level.crossed),
        per_byte=np.maximum(
            group.total(lambda level: carried(level, chained=True)),
            group.total(lambda level: carried(level, chained=False)),
        ),
    )
