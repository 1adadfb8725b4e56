"""Hierarchical: level by level, one after the other, so that few members wait for far ones."""

from __future__ import annotations

from foretrain.step.collectives.group import Group
from foretrain.step.collectives.line import Line


def all_gather(group: Group) -> Line:
    """One ring per level; an outer level moves what is left by the members below it.

    Source: thakur2005, section 4.1, on each level.
    """
    return Line(
        fixed=group.total(lambda level: (level.units - 1.0) * level.hop),
        per_byte=group.total(lambda level: (level.units - 1.0) / (level.inside * level.around)),
    )


def all_reduce(group: Group) -> Line:
    """Reduce-scatter outwards, all-gather back inwards.

    Source: jia2018, hierarchical all-reduce (two levels).
    """
    return all_gather(group).twice()


def all_to_all(group: Group) -> Line:
    """Pairwise inside a unit, so that what goes to another unit leaves in one message.

    Source: hwang2023, two-dimensional hierarchical all-to-all (two levels).
    """
    return Line(
        fixed=group.total(lambda level: (level.units - 1.0) * level.far),
        per_byte=group.total(lambda level: (level.units - 1.0) / (level.units * level.pairs)),
    )
