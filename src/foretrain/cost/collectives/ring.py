"""Ring: every member passes on what it got from one neighbour to the other.

The members below a level each carry one ring over it, so that their shares add up; the ring runs
at the pace of the slowest level that it crosses.
"""

from __future__ import annotations

from foretrain.cost.collectives.group import Group
from foretrain.cost.collectives.line import Line, Number


def slowest_hop(group: Group) -> Number:
    """Seconds of a step, bytes apart."""
    return group.most(lambda level: level.hop * level.crossed)


def byte_time(group: Group) -> Number:
    """Seconds per byte that passes around."""
    return group.most(lambda level: level.crossed / (level.below * level.around))


def gather(group: Group) -> Line:
    """Once around: n - 1 steps of `latency + size / (n bandwidth)`.

    Source: thakur2005, section 4.1.
    """
    steps = group.members - 1.0
    return Line(fixed=steps * slowest_hop(group), per_byte=steps / group.members * byte_time(group))


def reduce(group: Group) -> Line:
    """Around to add up, around to hand out.

    Source: patarasuk2009, equation 4.
    """
    return gather(group).twice()


def broadcast(group: Group) -> Line:
    """From neighbour to neighbour in pieces that follow one another: the last waits n - 1 hops.

    Source: nvidia-nccl, ring broadcast.
    """
    return Line(fixed=(group.members - 1.0) * slowest_hop(group), per_byte=byte_time(group))
