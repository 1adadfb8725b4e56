"""Groups: how many members of a collective share a group of each level, and what links them.

Relays: members that hand a message on, from one to the next.

A message of any size goes in pieces of at most so many bytes. The last piece has been handed on by
everybody when the busiest link has carried all of them, and that one the others too:

    hops + per_byte * size + (all links - busiest link) * min(size, pieces at once)

That is the lesser of two lines, one for a message in one piece and one for many.

Algorithms of one's own for collectives: a function of a `Group` that returns a `Line`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from foretrain.errors import InputError
from foretrain.plugins import COLLECTIVE, blamed, called, own
from foretrain.step.collectives.line import SHAPES, WHOLE, Extent, Line, Number
from foretrain.step.collectives.network import Network, Wire
from foretrain.step.collectives.tuning import MORE_NODES
from foretrain.workload.parts.feed_forward import ANYWHERE, RouterLimit


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LevelUse:
    """One level as a group uses it: so many units of `below` members each. [group]

    Attributes:
        inside: members inside a group of this level.
        below: members inside a group of the level below.
        hop: seconds to a neighbour.
        far: seconds to the unit that is farthest away.
        alone: bytes per second to a partner of a member that sends alone.
        around: bytes per second of a member when all pass on to neighbours.
        pairs: the same when each has one partner at a time.
        all: the same when each sends to every other at once.
        adding: the same into switches that add up; 0 where they do not.
        into_switch: seconds of a hop into those.
        chained: whether the library's trees are chains on it.
        larger: whether switches get pieces of twice the size from few members.
    """

    inside: Number
    below: Number
    hop: Number
    far: Number
    alone: Number
    around: Number
    pairs: Number
    all: Number
    adding: float
    into_switch: float
    chained: bool
    larger: bool = False

    @property
    def units(self) -> Number:
        """Groups of the level below that have members."""
        return self.inside / self.below

    @property
    def crossed(self) -> NDArray[np.bool_]:
        """Whether there is anybody to reach over this level."""
        return self.inside > self.below


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Group:
    """Members of collectives. [group]

    Attributes:
        stretches: one per level, innermost first.
        piece: bytes that a member receives before it hands them on.
        copies: receivers of each value, drawn from all members, where it counts once for each.
        limit: groups of experts from which they are drawn.
        staged: seconds that a byte of a message between neighbours takes longer than its links.
        staged_start: seconds that it starts later.
    """

    stretches: tuple[LevelUse, ...]
    piece: float
    copies: int = 1
    limit: RouterLimit = ANYWHERE
    staged: float = 0.0
    staged_start: float = 0.0

    @property
    def members(self) -> Number:
        """All of them."""
        return self.stretches[-1].inside

    def farthest(self) -> Number:
        """Seconds to the member that takes longest to reach."""
        return self.most(lambda level: level.far * level.crossed)

    def total(self, value: Callable[[LevelUse], Number]) -> Number:
        """Something of every level, added up."""
        total = value(self.stretches[0])
        for stretch in self.stretches[1:]:
            total = total + value(stretch)
        return total

    def most(self, value: Callable[[LevelUse], Number]) -> Number:
        """Something of whichever level has most of it."""
        most = value(self.stretches[0])
        for stretch in self.stretches[1:]:
            most = np.maximum(most, value(stretch))
        return most


Algorithm = Callable[[Group], Line]
"""A way to do a collective: what a group takes for it, its start-up apart."""


def group(
    inside: Sequence[Number], net: Network, *, copies: int = 1, limit: RouterLimit = ANYWHERE
) -> Group:
    """The levels of a network as groups use them.

    Args:
        inside: members that share a group of each level, innermost first; the last is all.
        net: the levels.
        copies: receivers of each value, for a dispatch.
        limit: groups of experts from which they are drawn.
    """
    below = [np.ones_like(inside[0]), *inside[:-1]]
    levels = zip(net.wires, inside, below, strict=True)
    stretches = tuple(_stretch(wire, here, under) for wire, here, under in levels)
    return Group(
        stretches=stretches,
        piece=net.piece,
        copies=copies,
        limit=limit,
        staged=net.staged,
        staged_start=net.staged_start,
    )


def _stretch(wire: Wire, inside: Number, below: Number) -> LevelUse:
    shape = SHAPES[wire.kind](inside / below, Extent(wire.members, wire.dimensions))
    # Whoever fills the groups that it leaves shares their ways out with nobody.
    crowd = np.where(below < wire.below, wire.contention, 1.0)
    alone, share = (np.full_like(inside, each) for each in (wire.alone, wire.share))
    if wire.least > 0.0:
        # What the whole unit may send, which its members share.
        most = np.where(inside / below > 2.0, MORE_NODES, 1.0) / wire.least
        alone, share = np.minimum(alone, most), np.minimum(share, most / below)
    return LevelUse(
        inside=inside,
        below=below,
        hop=np.full_like(inside, wire.latency),
        far=wire.latency * shape.hops,
        alone=alone * shape.pairs / crowd,
        around=share * shape.around / crowd,
        pairs=share * shape.pairs / crowd,
        all=share * shape.all / crowd,
        adding=wire.adding,
        into_switch=max(wire.latency, wire.into_switch),
        chained=wire.chained,
        larger=wire.larger,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Relay:
    """A way through a group that members and links share. [group]

    Attributes:
        hops: seconds of an empty message; infinite where the links cannot do it.
        way: seconds per byte that a piece takes over all links on its way.
        busiest: seconds per byte of the link that carries most of the message.
        at_once: pieces of the usual size that are under way side by side, by as many members.
    """

    hops: Number
    way: Number
    busiest: Number
    at_once: Number

    def twice(self) -> Relay:
        """There and back over the same links."""
        return replace(self, hops=2.0 * self.hops, way=2.0 * self.way, busiest=2.0 * self.busiest)


def relayed(name: str, relay: Callable[[Group], Relay]) -> Mapping[str, Algorithm]:
    """The two lines of a relay, as algorithms: in pieces, and as a whole.

    Source: nvidia-nccl, primitives of the Simple protocol: a slot is handed on when it is full.
    """

    def pieces(group: Group) -> Line:
        found = relay(group)
        filled = group.piece * found.at_once * (found.way - found.busiest)
        return Line(fixed=found.hops + filled, per_byte=found.busiest)

    def whole(group: Group) -> Line:
        found = relay(group)
        return Line(fixed=found.hops, per_byte=found.way)

    return {name: pieces, f"{name}{WHOLE}": whole}


def own_algorithm(name: str) -> Algorithm:
    """The algorithm that a user calls so, which checks what it says.

    Raises:
        InputError: there is no such thing, or it is no function.
    """
    found = own(COLLECTIVE, name)
    if found is None:
        raise InputError(
            f"unknown collective '{name}'. Write the name of one that foretrain has for "
            "this, or package.module:name, or register it by that name."
        )
    algorithm = called(found, name=name)

    def checked(group: Group) -> Line:
        with blamed(COLLECTIVE, name):
            line = algorithm(group)
        if not isinstance(line, Line):
            told = f"returned a {type(line).__name__}; a Line(fixed=, per_byte=) is wanted"
            raise InputError(f"collective '{name}': {told}.")
        return Line(
            fixed=_seconds(name, line.fixed, group), per_byte=_seconds(name, line.per_byte, group)
        )

    return checked


def _seconds(name: str, value: object, group: Group) -> Number:
    """Seconds of every group; infinite where the links cannot do it. [group]"""
    with blamed(COLLECTIVE, name):
        seconds = np.asarray(value, dtype=np.float64) + np.zeros_like(group.members)
    if seconds.shape != group.members.shape or not (seconds >= 0).all():
        raise InputError(
            f"collective '{name}': its seconds must be one number of at least 0 for each group, "
            f"got {np.asarray(value)}."
        )
    return seconds
