"""Exchanges from member to member: at once, in pairs, level by level, by doubling, to a neighbour.

Direct: every member sends to every other at once, as switches and full meshes allow.

One latency, however many partners: starting a message is taken to cost nothing.

Pairwise: one partner after the other, every member with another one.

Hierarchical: level by level, one after the other, so that few members wait for far ones.

Recursive doubling: partners at distance 1, 2, 4, ... so that few rounds reach everybody.

Neighbour: every member sends a message of its own to the next one.

Dispatch: tokens to the members that hold their experts, once for all experts that one holds.

Whoever holds k experts of a token gets it once, and adds up what they make of it before it goes
back. The k members are taken to be drawn one by one: from all of them, or from those that hold the
groups of experts in which a router looks, where it is limited to some.
"""

from __future__ import annotations

import numpy as np

from foretrain.step.collectives.group import Group, LevelUse
from foretrain.step.collectives.line import Line, Number, depth
from foretrain.workload.parts.feed_forward import ANYWHERE, RouterLimit


def direct_all_to_all(group: Group) -> Line:
    """Each level carries what leaves the groups that it connects, all levels side by side.

    Source: the bytes over each link, counted; whichever is busiest decides.
    """
    first = group.stretches[0]

    def leaving(level: LevelUse) -> Number:
        # What goes beyond the innermost level leaves by other ports; outer levels stack up.
        outside = level.inside if level is first else group.members
        return (outside - level.below) * level.crossed / (group.members * level.all)

    return Line(fixed=group.farthest(), per_byte=group.most(leaving))


def direct_all_gather(group: Group) -> Line:
    """Everybody's part to everybody; a reduce-scatter sends the same parts the other way.

    Source: as for an all-to-all, which sends as much.
    """
    return direct_all_to_all(group)


def direct_all_reduce(group: Group) -> Line:
    """Parts to whoever adds them up, sums to everybody: two hops.

    Source: nvidia-nccl, symmetric memory (two-shot).
    """
    return direct_all_gather(group).twice()


def direct_all_reduce_at_once(group: Group) -> Line:
    """Everything to everybody, who each add up all of it: one hop.

    Source: nvidia-nccl, symmetric memory (one-shot).
    """
    parts = direct_all_gather(group)
    return Line(fixed=parts.fixed, per_byte=group.members * parts.per_byte)


def pairwise_all_to_all(group: Group) -> Line:
    """In n - 1 steps of `latency + size / (n bandwidth)`, each over the level that two share.

    Source: thakur2005, section 4.3.
    """
    return Line(
        fixed=group.total(lambda level: (level.inside - level.below) * level.far),
        per_byte=group.total(
            lambda level: (level.inside - level.below) / (group.members * level.pairs)
        ),
    )


def hierarchical_all_gather(group: Group) -> Line:
    """One ring per level; an outer level moves what is left by the members below it.

    Source: thakur2005, section 4.1, on each level.
    """
    return Line(
        fixed=group.total(lambda level: (level.units - 1.0) * level.hop),
        per_byte=group.total(lambda level: (level.units - 1.0) / (level.inside * level.around)),
    )


def hierarchical_all_reduce(group: Group) -> Line:
    """Reduce-scatter outwards, all-gather back inwards.

    Source: jia2018, hierarchical all-reduce (two levels).
    """
    return hierarchical_all_gather(group).twice()


def hierarchical_all_to_all(group: Group) -> Line:
    """Pairwise inside a unit, so that what goes to another unit leaves in one message.

    Source: hwang2023, two-dimensional hierarchical all-to-all (two levels).
    """
    return Line(
        fixed=group.total(lambda level: (level.units - 1.0) * level.far),
        per_byte=group.total(lambda level: (level.units - 1.0) / (level.units * level.pairs)),
    )


def doubling_all_gather(group: Group) -> Line:
    """What a member knows doubles with every round; outer levels first, while it is little.

    A count that is no power of two takes its last round with fewer parts.

    Source: thakur2005, section 4.1 (recursive doubling; Bruck for any count).
    """
    return Line(
        fixed=group.total(lambda level: depth(level.units) * level.far),
        per_byte=group.total(lambda level: (level.units - 1.0) / (level.inside * level.pairs)),
    )


def doubling_all_reduce_in_halves(group: Group) -> Line:
    """Halving to add up, doubling to hand out: a reduce-scatter and an all-gather.

    Source: thakur2005, section 4.5 (Rabenseifner).
    """
    return doubling_all_gather(group).twice()


def doubling_all_reduce(group: Group) -> Line:
    """Partners exchange all they have; members beyond a power of two join before and after.

    Source: thakur2005, section 4.5.
    """
    return Line(
        fixed=group.total(lambda level: _rounds(level.units) * level.far),
        per_byte=group.total(lambda level: _rounds(level.units) / level.pairs),
    )


def doubling_all_to_all(group: Group) -> Line:
    """Every round passes on half of the bytes, also those that others have passed on.

    Source: thakur2005, section 4.3 (Bruck).
    """
    return Line(
        fixed=group.total(lambda level: depth(level.units) * level.far),
        per_byte=group.total(lambda level: depth(level.units) / (2.0 * level.pairs)),
    )


def doubling_broadcast(group: Group) -> Line:
    """Scatter down a binomial tree, then gather by doubling.

    Source: thakur2005, section 4.2 (van de Geijn).
    """
    return doubling_all_gather(group).twice()


def _rounds(members: Number) -> Number:
    """Rounds of an exchange of everything: one more where a power of two is exceeded."""
    rounds = depth(members)
    return np.where(np.ldexp(1.0, rounds.astype(np.int32)) == members, rounds, rounds + 1.0)


def send(group: Group) -> Line:
    """One message over the slowest hop of the group.

    Of the members inside a node, neighbours in a line, only the last sends out of it: it has the
    shares of all of them, as far as its own port goes. A framework may take messages through the
    memory of the host.
    """
    levels = group.stretches
    fixed, per_byte = np.zeros_like(levels[0].inside), np.zeros_like(levels[0].inside)
    for level in levels:
        reached = np.minimum(level.alone, level.below * level.around)
        fixed = np.where(level.crossed, level.hop, fixed)
        per_byte = np.where(level.crossed, 1.0 / reached, per_byte)
    return Line(fixed=fixed + group.staged_start, per_byte=per_byte + group.staged)


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
