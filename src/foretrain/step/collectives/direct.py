"""Direct: every member sends to every other at once, as switches and full meshes allow.

One latency, however many partners: starting a message is taken to cost nothing.
"""

from __future__ import annotations

from foretrain.step.collectives.group import Group, LevelUse
from foretrain.step.collectives.line import Line, Number


def all_to_all(group: Group) -> Line:
    """Each level carries what leaves the groups that it connects, all levels side by side.

    Source: the bytes over each link, counted; whichever is busiest decides.
    """
    first = group.stretches[0]

    def leaving(level: LevelUse) -> Number:
        # What goes beyond the innermost level leaves by other ports; outer levels stack up.
        outside = level.inside if level is first else group.members
        return (outside - level.below) * level.crossed / (group.members * level.all)

    return Line(fixed=group.farthest(), per_byte=group.most(leaving))


def all_gather(group: Group) -> Line:
    """Everybody's part to everybody; a reduce-scatter sends the same parts the other way.

    Source: as for an all-to-all, which sends as much.
    """
    return all_to_all(group)


def all_reduce(group: Group) -> Line:
    """Parts to whoever adds them up, sums to everybody: two hops.

    Source: nvidia-nccl, symmetric memory (two-shot).
    """
    return all_gather(group).twice()


def all_reduce_at_once(group: Group) -> Line:
    """Everything to everybody, who each add up all of it: one hop.

    Source: nvidia-nccl, symmetric memory (one-shot).
    """
    parts = all_gather(group)
    return Line(fixed=parts.fixed, per_byte=group.members * parts.per_byte)
