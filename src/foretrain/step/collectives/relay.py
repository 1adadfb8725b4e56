"""Relays: members that hand a message on, from one to the next.

A message of any size goes in pieces of at most so many bytes. The last piece has been handed on by
everybody when the busiest link has carried all of them, and that one the others too:

    hops + per_byte * size + (all links - busiest link) * min(size, pieces at once)

That is the lesser of two lines, one for a message in one piece and one for many.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from foretrain.step.collectives.group import Algorithm, Group
from foretrain.step.collectives.line import WHOLE, Line, Number


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
