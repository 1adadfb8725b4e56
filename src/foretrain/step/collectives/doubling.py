"""Recursive doubling: partners at distance 1, 2, 4, ... so that few rounds reach everybody."""

from __future__ import annotations

import numpy as np

from foretrain.step.collectives.group import Group
from foretrain.step.collectives.line import Line, Number
from foretrain.step.collectives.topologies import depth


def all_gather(group: Group) -> Line:
    """What a member knows doubles with every round; outer levels first, while it is little.

    A count that is no power of two takes its last round with fewer parts.

    Source: thakur2005, section 4.1 (recursive doubling; Bruck for any count).
    """
    return Line(
        fixed=group.total(lambda level: depth(level.units) * level.far),
        per_byte=group.total(lambda level: (level.units - 1.0) / (level.inside * level.pairs)),
    )


def all_reduce_in_halves(group: Group) -> Line:
    """Halving to add up, doubling to hand out: a reduce-scatter and an all-gather.

    Source: thakur2005, section 4.5 (Rabenseifner).
    """
    return all_gather(group).twice()


def all_reduce(group: Group) -> Line:
    """Partners exchange all they have; members beyond a power of two join before and after.

    Source: thakur2005, section 4.5.
    """
    return Line(
        fixed=group.total(lambda level: _rounds(level.units) * level.far),
        per_byte=group.total(lambda level: _rounds(level.units) / level.pairs),
    )


def all_to_all(group: Group) -> Line:
    """Every round passes on half of the bytes, also those that others have passed on.

    Source: thakur2005, section 4.3 (Bruck).
    """
    return Line(
        fixed=group.total(lambda level: depth(level.units) * level.far),
        per_byte=group.total(lambda level: depth(level.units) / (2.0 * level.pairs)),
    )


def broadcast(group: Group) -> Line:
    """Scatter down a binomial tree, then gather by doubling.

    Source: thakur2005, section 4.2 (van de Geijn).
    """
    return all_gather(group).twice()


def _rounds(members: Number) -> Number:
    """Rounds of an exchange of everything: one more where a power of two is exceeded."""
    rounds = depth(members)
    return np.where(np.ldexp(1.0, rounds.astype(np.int32)) == members, rounds, rounds + 1.0)
