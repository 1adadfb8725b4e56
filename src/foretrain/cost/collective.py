"""Collectives: seconds to move bytes among the members of a group that may span several levels.

A group is described by how many of its members share a group of each level (`plan/placement.py`).
All groups of an axis communicate at once, so a device has its fair share of what may leave its
node; members on one node each drive their own rail, so that together they use all of it.

Sources: patarasuk2009 (ring, equation 4), thakur2005 (reduce-scatter, all-gather), sanders2009
(double binary tree), nvidia-nccl (levels, start-up).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretrain.cluster.cluster import Cluster
from foretrain.cost.coefficients import Coefficients
from foretrain.strategies.strategy import Pattern

Number = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """One level as a collective sees it.

    Attributes:
        latency: seconds per hop.
        alone: bytes per second of one device that sends alone.
        share: the same when every device sends.
    """

    latency: float
    alone: float
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Every level of a cluster, innermost first.

    Attributes:
        wires: one per level.
        start: seconds before a collective's first message.
    """

    wires: tuple[Wire, ...]
    start: float


def network(cluster: Cluster, coefficients: Coefficients) -> Network:
    """The levels of a cluster with the bandwidth that collectives reach on them."""
    wires, below = [], 1
    for level in cluster.levels:
        # One direction at a time halves what a device can send while it receives.
        ways = 1.0 if level.link.duplex else 0.5
        reached = ways * coefficients.link(level.link.technology)
        alone = reached * level.link.bandwidth
        capacity = level.link.capacity
        share = alone if capacity is None else min(alone, reached * capacity / below)
        wires.append(Wire(latency=level.link.latency, alone=alone, share=share))
        below *= level.members
    return Network(wires=tuple(wires), start=coefficients.collective_start)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Line:
    """Seconds that grow linearly with bytes: `fixed + per_byte * size`. [group]

    Attributes:
        fixed: seconds of an empty message.
        per_byte: seconds per byte.
    """

    fixed: Number
    per_byte: Number

    def take(self, index: NDArray[np.intp]) -> Line:
        """The lines of some groups. [plan]"""
        return Line(fixed=self.fixed[index], per_byte=self.per_byte[index])


def cheapest(size: Number, lines: Sequence[Line]) -> Number:
    """Seconds by whichever algorithm takes least for that size."""
    time: Number = lines[0].fixed + lines[0].per_byte * size
    for line in lines[1:]:
        time = np.minimum(time, line.fixed + line.per_byte * size)
    return time


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Exchange:
    """Every algorithm that a group may choose from. [group]

    Attributes:
        reduce: those that leave each member with the sum of everyone's bytes.
        gather: those that leave each member with all bytes, equal parts from each; a
            reduce-scatter takes as long.
        all_to_all: those that send one equal part of each member's bytes to every other.
    """

    reduce: tuple[Line, ...]
    gather: tuple[Line, ...]
    all_to_all: tuple[Line, ...]

    def seconds(self, size: Number, pattern: Pattern) -> Number:
        """The cheapest algorithm's, for that many bytes; nothing for no bytes."""
        lines = {
            Pattern.REDUCE: self.reduce,
            Pattern.GATHER: self.gather,
            Pattern.ALL_TO_ALL: self.all_to_all,
        }
        return cheapest(size, lines[pattern]) * (size > 0)

    def take(self, index: NDArray[np.intp]) -> Exchange:
        """The algorithms of some groups. [plan]"""
        return Exchange(
            reduce=tuple(line.take(index) for line in self.reduce),
            gather=tuple(line.take(index) for line in self.gather),
            all_to_all=tuple(line.take(index) for line in self.all_to_all),
        )


def exchange(inside: Sequence[Number], net: Network) -> Exchange:
    """Ring, tree and hierarchical collectives of a group.

    Args:
        inside: members that share a group of each level, innermost first; the last is all.
        net: the levels.
    """
    latency, bandwidth = _slowest(inside, net)
    ring = _ring(inside[-1], latency, bandwidth)
    tree = _tree(inside[-1], latency, bandwidth)
    steps = _hierarchical(inside, net)
    several = inside[-1] > 1
    return Exchange(
        reduce=tuple(
            _started(line, several, net.start, passes=2.0) for line in (ring, tree, steps)
        ),
        gather=tuple(_started(line, several, net.start, passes=1.0) for line in (ring, steps)),
        all_to_all=(_started(_pairwise(inside, net), several, net.start, passes=1.0),),
    )


def send(inside: Sequence[Number], net: Network) -> Line:
    """One message to the next member, over the slowest hop of the group. [group]

    Of the members inside a node, neighbours in the pipeline, only the last sends out of it: each
    sender has the shares of all of them, as far as its own port goes.
    """
    fixed, per_byte = np.zeros_like(inside[-1]), np.zeros_like(inside[-1])
    for wire, here, below in _levels(inside, net):
        fixed = np.where(here > below, wire.latency, fixed)
        reached = np.minimum(wire.alone, below * wire.share)
        per_byte = np.where(here > below, 1.0 / reached, per_byte)
    return Line(fixed=fixed, per_byte=per_byte)


def _levels(inside: Sequence[Number], net: Network) -> list[tuple[Wire, Number, Number]]:
    """Each level with the members inside it and inside the level below."""
    below = [np.ones_like(inside[0]), *inside[:-1]]
    return list(zip(net.wires, inside, below, strict=True))


def _slowest(inside: Sequence[Number], net: Network) -> tuple[Number, Number]:
    """Latency and bandwidth of a ring or tree over every level that the group crosses.

    The members below a level each carry one ring over it, so their shares add up.
    """
    latency, bandwidth = np.zeros_like(inside[-1]), np.full_like(inside[-1], np.inf)
    for wire, here, below in _levels(inside, net):
        crossed = here > below
        latency = np.where(crossed, np.maximum(latency, wire.latency), latency)
        bandwidth = np.where(crossed, np.minimum(bandwidth, below * wire.share), bandwidth)
    return latency, bandwidth


def _ring(members: Number, latency: Number, bandwidth: Number) -> Line:
    """Once around: n - 1 steps of `latency + size / (n bandwidth)`; an all-reduce goes twice."""
    steps = members - 1.0
    return Line(fixed=steps * latency, per_byte=steps / (members * bandwidth))


def _tree(members: Number, latency: Number, bandwidth: Number) -> Line:
    """Once up a binary tree, pipelined: `depth latency + size / bandwidth`; then down."""
    return Line(fixed=_depth(members) * latency, per_byte=1.0 / bandwidth)


def _hierarchical(inside: Sequence[Number], net: Network) -> Line:
    """One ring per level outwards; the bytes left for a level are divided by the members below."""
    fixed, per_byte = np.zeros_like(inside[-1]), np.zeros_like(inside[-1])
    for wire, here, below in _levels(inside, net):
        steps = here / below - 1.0
        fixed = fixed + steps * wire.latency
        per_byte = per_byte + steps / (here * wire.share)
    return Line(fixed=fixed, per_byte=per_byte)


def _pairwise(inside: Sequence[Number], net: Network) -> Line:
    """A message to each other member in turn, over the level that the two share."""
    fixed, per_byte = np.zeros_like(inside[-1]), np.zeros_like(inside[-1])
    for wire, here, below in _levels(inside, net):
        fixed = fixed + (here - below) * wire.latency
        per_byte = per_byte + (here - below) / (inside[-1] * wire.share)
    return Line(fixed=fixed, per_byte=per_byte)


def _depth(members: Number) -> Number:
    """Levels of a binary tree: log2 of the members, rounded up, exactly."""
    return np.frexp(members - 0.5)[1].astype(np.float64)


def _started(once: Line, several: NDArray[np.bool_], start: float, *, passes: float) -> Line:
    """So many passes after the start-up; nothing for a member that is alone."""
    return Line(
        fixed=np.where(several, start + passes * once.fixed, 0.0),
        per_byte=np.where(several, passes * once.per_byte, 0.0),
    )
