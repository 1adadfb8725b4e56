"""Lines over bytes, and what the shape of a level leaves of its bandwidth.

Lines: seconds that grow linearly with bytes.

Topologies: what the shape of a level leaves of its bandwidth, and how far apart members are.

A switch is exact. The other shapes are approximations: a group that uses a part of a level is
priced as if that part had the level's shape, and routes are assumed to spread evenly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foretrain.cluster.device import DIMENSIONS, Topology

Number = NDArray[np.float64]

WHOLE = "-whole"
"""How the names of algorithms end that hand on whole messages."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Line:
    """What an algorithm takes: `fixed + per_byte * size`. [group]

    Attributes:
        fixed: seconds of an empty message; infinite where the links cannot do it.
        per_byte: seconds per byte.
    """

    fixed: Number
    per_byte: Number

    def take(self, index: NDArray[np.intp]) -> Line:
        """The lines of some groups. [plan]"""
        return Line(fixed=self.fixed[index], per_byte=self.per_byte[index])

    def after(self, start: float) -> Line:
        """The same, begun later."""
        return Line(fixed=start + self.fixed, per_byte=self.per_byte)

    def twice(self) -> Line:
        """Two passes, such as a reduce-scatter and an all-gather."""
        return Line(fixed=2.0 * self.fixed, per_byte=2.0 * self.per_byte)


MOST_MEMBERS = 1 << 24
"""Members of the largest torus that is priced."""


class Extent(NamedTuple):
    """A level as its entry describes it.

    Attributes:
        members: groups of the level below that it connects; all of them, used or not.
        dimensions: of a torus.
    """

    members: int
    dimensions: int = DIMENSIONS


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shape:
    """Shares of a device's bandwidth that the shape leaves it. [group]

    Attributes:
        around: when everybody passes on to neighbours, on as many rings as there are.
        pairs: when everybody has one partner at a time, near or far.
        all: when everybody sends to everybody at once.
        hops: links between the two members that are farthest apart.
    """

    around: Number
    pairs: Number
    all: Number
    hops: Number


def switch(units: Number, _: Extent) -> Shape:
    """Every device has its full bandwidth to every other, one hop away."""
    one = np.ones_like(units)
    return Shape(around=one, pairs=one, all=one, hops=one)


def ring(units: Number, _: Extent) -> Shape:
    """Half of the bandwidth leads either way; messages to all go a quarter of the way around."""
    spread = np.minimum(1.0, 4.0 / units)
    return Shape(
        around=np.ones_like(units),
        pairs=np.minimum(np.where(units > 2.0, 0.5, 1.0), spread),
        all=spread,
        hops=np.maximum(1.0, np.floor(units / 2.0)),
    )


def torus(units: Number, level: Extent) -> Shape:
    """A square or a cube with wraparound: a ring in each dimension, limited by its bisection.

    A message to anybody passes `d side / 4` links on average in `d` dimensions, so that `2 d` links
    a device carry `4 / (d side)` of what they could inject. Two members use one dimension, four
    two.
    """
    dimensions = level.dimensions
    side = 1.0 + np.searchsorted(boxes(dimensions), units)
    around = np.minimum(1.0, depth(np.maximum(2.0, units)) / dimensions)
    spread = np.minimum(around, 4.0 / (dimensions * side))
    return Shape(
        around=around,
        pairs=np.minimum(0.5 / dimensions, spread),
        all=spread,
        hops=np.maximum(1.0, dimensions * np.floor(side / 2.0)),
    )


@cache
def boxes(dimensions: int) -> Number:
    """Members of a torus of equal sides by its side; a table, since roots round by row."""
    sides = np.arange(1.0, 2.0 + MOST_MEMBERS ** (1.0 / dimensions))
    members = np.ones_like(sides)
    for _ in range(dimensions):
        members = members * sides
    return members


def mesh(units: Number, level: Extent) -> Shape:
    """A link to each other member; those to members outside the group lie idle."""
    links = max(1.0, level.members - 1.0)
    used = np.maximum(1.0, units - 1.0) / links
    one = np.ones_like(units)
    return Shape(around=used, pairs=one / links, all=used, hops=one)


AROUND_A_CUBE = np.array([1, 1, 1 / 6, 1 / 3, 2 / 3, 1 / 12, 1 / 12, 1 / 12, 1])
"""By members: rings of 25 GB/s that fit into the six links of a V100; PCIe where none does."""

ALL_IN_A_CUBE = np.array([1, 1, 1 / 6, 1 / 3, 1 / 2, 1 / 12, 1 / 12, 1 / 12, 7 / 10])
"""By members: single links fill first in a quad; in the cube three of seven are two hops away."""


def cube_mesh(units: Number, _: Extent) -> Shape:
    """The hybrid cube mesh of a DGX-1: two quads, two single and two double links a device.

    Source: nvidia-dgx1, the figure of its NVLink mesh, on which the shares are counted.
    """
    place = np.minimum(8.0, np.ceil(units)).astype(np.intp)
    far = np.where(units > 4.0, 2.0, 1.0)
    # The partner may be at the other end of a single link, or behind PCIe.
    pairs = np.minimum(1.0 / 6.0, ALL_IN_A_CUBE[place])
    return Shape(around=AROUND_A_CUBE[place], pairs=pairs, all=ALL_IN_A_CUBE[place], hops=far)


def tree(units: Number, _: Extent) -> Shape:
    """A binary tree of equal links: half of all messages to anybody meet at its root.

    An oversubscribed fat tree is several levels of switches, each with its capacity, instead.
    """
    spread = np.minimum(1.0, 4.0 / units)
    hops = np.maximum(1.0, depth(units))
    return Shape(around=np.ones_like(units), pairs=spread, all=spread, hops=hops)


def dragonfly(units: Number, _: Extent) -> Shape:
    """Groups of switches, all to all: routes around busy links are twice as long.

    Source: kim2008, non-minimal routing (a message passes two global links, not one).
    """
    one = np.ones_like(units)
    return Shape(around=one, pairs=0.5 * one, all=0.5 * one, hops=2.0 * one)


SHAPES: Mapping[Topology, Callable[[Number, Extent], Shape]] = MappingProxyType(
    {
        Topology.SWITCH: switch,
        Topology.RING: ring,
        Topology.TORUS: torus,
        Topology.MESH: mesh,
        Topology.CUBE_MESH: cube_mesh,
        Topology.TREE: tree,
        Topology.DRAGONFLY: dragonfly,
    }
)

APPROXIMATIONS: Mapping[Topology, str] = MappingProxyType(
    {
        Topology.RING: "messages to anybody share the links of a ring",
        Topology.TORUS: "a square or a cube with wraparound, limited by its bisection",
        Topology.MESH: "links to members outside a group lie idle",
        Topology.CUBE_MESH: "by the links of a DGX-1 that a group of this size has",
        Topology.TREE: "a binary tree whose root is shared",
        Topology.DRAGONFLY: "routes to anybody are twice as long and half as wide",
    }
)
"""How a shape that is not exact is priced, in words."""


def depth(members: Number) -> Number:
    """Levels of a binary tree: log2 of the members, rounded up, exactly."""
    return np.frexp(np.ceil(members) - 0.5)[1].astype(np.float64)
