"""The levels of a cluster as collectives see them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from math import inf
from operator import mul

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.link import Level, Topology
from foretrain.coefficients.coefficients import Coefficients

NCCL = frozenset({"ring", "tree", "hierarchical", "in-network", "in-network-tree", "pairwise"})
"""Algorithms of the library that trainings use, and of the frameworks on top of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """One level as a collective sees it.

    Attributes:
        latency: seconds per hop.
        alone: bytes per second of one device that sends alone.
        share: the same when every device sends.
        adding: the same into switches that add up what they pass on; 0 where they do not.
        kind: shape of the level.
        members: groups of the level below that it connects; all of them, used or not.
    """

    latency: float
    alone: float
    share: float
    adding: float = 0.0
    kind: Topology = Topology.SWITCH
    members: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Every level of a cluster, innermost first.

    Attributes:
        wires: one per level.
        start: seconds before a collective's first message.
        known: names of the algorithms that the collective library has.
    """

    wires: tuple[Wire, ...]
    start: float
    known: frozenset[str] = NCCL


def network(cluster: Cluster, coefficients: Coefficients) -> Network:
    """The levels of a cluster with the bandwidth that collectives reach on them."""
    wires: list[Wire] = []
    below = 1
    for level in cluster.levels:
        # What leaves by an outer level has left by the ports of those between, save the innermost.
        passed = wires[-1].share if len(wires) > 1 else inf
        wires.append(_wire(level, coefficients, below=below, passed=passed))
        below *= level.members
    return Network(wires=tuple(wires), start=coefficients.links.start)


def _wire(level: Level, coefficients: Coefficients, *, below: int, passed: float) -> Wire:
    """One level that connects groups of `below` devices, which get `passed` on the way to it."""
    link = level.link
    # One direction at a time halves what a device can send while it receives.
    reached = (1.0 if link.duplex else 0.5) * coefficients.links.share(link.technology)
    alone = reached * link.bandwidth
    capacity = inf if link.capacity is None else reached * link.capacity
    share = min(alone, capacity / below, passed)
    return Wire(
        latency=link.latency,
        alone=alone,
        share=share,
        adding=coefficients.links.in_network * share if link.in_network else 0.0,
        kind=link.kind,
        members=level.members,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The slowest hop of a ring.

    Attributes:
        latency: seconds.
        bandwidth: bytes per second of one device that sends alone, as the data sheet has it.
    """

    latency: float
    bandwidth: float


def span(cluster: Cluster, devices: int) -> Span:
    """The slowest hop of a ring over the first devices of a cluster.

    Args:
        cluster: where.
        devices: how many of them; a ring of one has the links of the innermost level.

    Source: kahira2021, the spans of its oracle.
    """
    inside = accumulate((level.members for level in cluster.levels[:-1]), mul)
    crossed = 1 + sum(devices > members for members in inside)
    links = [level.link for level in cluster.levels[:crossed]]
    return Span(
        latency=max(link.latency for link in links),
        bandwidth=min(link.bandwidth for link in links),
    )
