"""Pairwise: one partner after the other, every member with another one."""

from __future__ import annotations

from foretrain.step.collectives.group import Group
from foretrain.step.collectives.line import Line


def all_to_all(group: Group) -> Line:
    """In n - 1 steps of `latency + size / (n bandwidth)`, each over the level that two share.

    Source: thakur2005, section 4.3.
    """
    return Line(
        fixed=group.total(lambda level: (level.inside - level.below) * level.far),
        per_byte=group.total(
            lambda level: (level.inside - level.below) / (group.members * level.pairs)
        ),
    )
