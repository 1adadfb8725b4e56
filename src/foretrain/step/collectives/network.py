"""The levels of a cluster as collectives see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import accumulate
from math import inf
from operator import mul
from types import MappingProxyType

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.device import DIMENSIONS, Level, Technology, Topology
from foretrain.coefficients.coefficients import Coefficients
from foretrain.step.collectives.line import WHOLE
from foretrain.step.collectives.tuning import (
    CHANNELS_BETWEEN,
    IN_LINES_FROM,
    IN_NETWORK,
    LARGER_CHUNKS_FROM,
    LL_SHARES,
    NETWORK_ROW,
    NVLINK,
    NVLINK_ROW,
    ROWS,
    USUAL_LL,
    USUAL_NVLINK,
    by_generation,
    carried,
    hop,
)

RELAYS = ("ring", "tree", "in-network", "in-network-tree")
"""Algorithms whose members hand messages on, in pieces or as a whole."""

LIBRARY = frozenset({*RELAYS, *(name + WHOLE for name in RELAYS), "pairwise", "neighbour"})
"""Algorithms of the library that trainings use (NCCL, RCCL)."""

NCCL = LIBRARY | {"hierarchical", "direct-dispatch", "forwarded"}
"""The same with what frameworks on top of it make from its parts, or beside it for experts."""

FABRICS = frozenset({Technology.INFINIBAND, Technology.ETHERNET})
"""Links between nodes; inside a node the library's trees are chains."""

CARRIED: Mapping[Technology, frozenset[str]] = MappingProxyType(
    {
        Technology.NVLINK: frozenset({"LL", "LL128"}),
        Technology.PCIE: frozenset({"LL"}),
        Technology.INFINITY_FABRIC: frozenset({"LL"}),
        Technology.INFINIBAND: frozenset({"LL", "LL128"}),
        Technology.ETHERNET: frozenset({"LL", "LL128"}),
    }
)
"""Protocols for short messages that NCCL and RCCL have over links; other libraries have none."""


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
        dimensions: of a torus.
        into_switch: least seconds of a hop into switches that add up.
        chained: whether the library's trees are chains on it.
        carries: protocols for short messages that work over it.
        below: devices of a group of the level below.
        contention: factor by which bandwidth shrinks where several groups leave one of those.
        row: which row of the library's table of hops is its own.
        ll: share of the bandwidth that LL carries over it at most, over the usual half.
        least: least seconds that a byte takes out of a unit, of two units.
        ll_least: the same by LL.
        larger: whether switches get pieces of twice the size from few members.
    """

    latency: float
    alone: float
    share: float
    adding: float = 0.0
    kind: Topology = Topology.SWITCH
    members: int = 1
    dimensions: int = DIMENSIONS
    into_switch: float = 0.0
    chained: bool = False
    carries: frozenset[str] = frozenset()
    below: int = 1
    contention: float = 1.0
    row: str = NVLINK_ROW
    ll: float = 1.0
    least: float = 0.0
    ll_least: float = 0.0
    larger: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """A way to send short messages: flags travel with the data, so that nobody waits for signals.

    Attributes:
        name: LL or LL128.
        start: seconds before a collective's first message.
        hop: share of a hop's latency that is left, of a ring over NVLink.
        share: share of the bandwidth that is left to a ring.
    """

    name: str
    start: float
    hop: float
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Every level of a cluster, innermost first.

    Attributes:
        wires: one per level.
        start: seconds before a collective's first message.
        known: names of the algorithms that the collective library has.
        own: what the user asks for: what each does, and its name, of the table or the user's own.
        piece: bytes that a member receives before it hands them on.
        protocols: those for short messages.
        staged: seconds that a byte of a message between neighbours takes longer than its links.
        staged_start: seconds that it starts later.
        staged_sum: seconds that a byte takes longer where the host adds it up.
    """

    wires: tuple[Wire, ...]
    start: float
    known: frozenset[str] = NCCL
    own: tuple[tuple[str, str], ...] = ()
    piece: float = 0.0
    protocols: tuple[Protocol, ...] = ()
    staged: float = 0.0
    staged_start: float = 0.0
    staged_sum: float = 0.0

    def over(self, protocol: Protocol, algorithm: str = "ring") -> Network:
        """The same as a protocol for short messages has it: flags let every word pass at once."""
        flagged = protocol.name == "LL"
        wires = []
        for wire in self.wires:
            share = protocol.share * carried(algorithm, protocol.name, wire.row)
            share *= wire.ll if flagged else 1.0
            wires.append(
                replace(
                    wire,
                    latency=protocol.hop * hop(algorithm, protocol.name, wire.row) * wire.latency,
                    alone=share * wire.alone,
                    share=share * wire.share,
                    adding=0.0,
                    least=wire.ll_least if flagged else 0.0,
                )
            )
        return replace(self, wires=tuple(wires), start=protocol.start, piece=0.0)

    def slowed(self, factor: float) -> Network:
        """The same where everything takes so many times as long."""
        if factor == 1.0:
            return self
        wires = tuple(
            replace(
                wire,
                latency=wire.latency * factor,
                into_switch=wire.into_switch * factor,
                alone=wire.alone / factor,
                share=wire.share / factor,
                adding=wire.adding / factor,
                least=wire.least * factor,
                ll_least=wire.ll_least * factor,
            )
            for wire in self.wires
        )
        protocols = tuple(replace(each, start=each.start * factor) for each in self.protocols)
        return replace(
            self,
            wires=wires,
            start=self.start * factor,
            staged=self.staged * factor,
            staged_start=self.staged_start * factor,
            staged_sum=self.staged_sum * factor,
            protocols=protocols,
        )


def network(cluster: Cluster, coefficients: Coefficients) -> Network:
    """The levels of a cluster with the bandwidth that collectives reach on them."""
    wires: list[Wire] = []
    below = 1
    for level in cluster.levels:
        # What leaves by an outer level has left by the ports of those between, save the innermost.
        passed = wires[-1].share if len(wires) > 1 else inf
        wire = _wire(level, coefficients, below=below, passed=passed)
        wires.append(_tuned(wire, level, cluster=cluster, coefficients=coefficients))
        below *= level.members
    known = coefficients.protocols
    # AMD's library starts later and waits longer at every hop.
    by_amd = any(level.link.technology is Technology.INFINITY_FABRIC for level in cluster.levels)
    wait = known.rccl_wait if by_amd else 1.0
    flagged, in_lines = (
        Protocol(name="LL", start=wait * known.ll_start, hop=known.ll_hop, share=known.ll_share),
        Protocol(
            name="LL128",
            start=wait * known.ll128_start,
            hop=known.ll128_hop,
            share=known.ll128_share,
        ),
    )
    return Network(
        wires=tuple(replace(wire, latency=wait * wire.latency) for wire in wires),
        start=wait * coefficients.links.start,
        own=cluster.collectives,
        piece=known.piece,
        protocols=(flagged, in_lines),
        staged=coefficients.links.staged,
        staged_start=coefficients.links.staged_start,
        staged_sum=coefficients.links.staged_sum,
    )


def _wire(level: Level, coefficients: Coefficients, *, below: int, passed: float) -> Wire:
    """One level that connects groups of `below` devices, which get `passed` on the way to it."""
    link, protocols = level.link, coefficients.protocols
    # One direction at a time halves what a device can send while it receives.
    reached = (1.0 if link.duplex else 0.5) * coefficients.links.share(link.technology)
    alone = reached * link.bandwidth
    capacity = inf if link.capacity is None else reached * link.capacity
    share = min(alone, capacity / below, passed)
    contention = link.contention or 1.0
    ethernet = protocols.ethernet_hop if link.ordered else protocols.unordered_hop
    hop = ethernet if link.technology is Technology.ETHERNET else 1.0
    return Wire(
        latency=hop * link.latency,
        alone=alone,
        share=share,
        adding=coefficients.links.in_network * share / contention if link.in_network else 0.0,
        kind=link.kind,
        dimensions=link.dimensions or DIMENSIONS,
        members=level.members,
        into_switch=protocols.switch_hop if link.in_network else 0.0,
        chained=link.technology not in FABRICS,
        carries=CARRIED.get(link.technology, frozenset()) if link.ordered else frozenset(),
        below=below,
        contention=contention,
    )


def _tuned(wire: Wire, level: Level, *, cluster: Cluster, coefficients: Coefficients) -> Wire:
    """A level with what the library's tables say of the generation of its devices.

    Source: nvidia-nccl, tuning.cc: LL128 is off in nodes whose devices are not all joined by
    NVLink, and before Volta.
    """
    capability, technology = cluster.device.compute_capability, level.link.technology
    inside = {each.link.technology for each in cluster.levels} - FABRICS
    old = capability is not None and capability < IN_LINES_FROM
    lines = inside <= {Technology.NVLINK} and not old
    row = ROWS.get(technology, NVLINK_ROW)
    carries = wire.carries if lines else wire.carries - {"LL128"}
    if row == NETWORK_ROW:
        return replace(wire, row=row, carries=carries, ll_least=coefficients.protocols.ll_between)
    if technology is not Technology.NVLINK or capability is None:
        return replace(wire, row=row, carries=carries)
    reached = by_generation(NVLINK, capability, unknown=USUAL_NVLINK) / USUAL_NVLINK
    adding = by_generation(IN_NETWORK, capability, unknown=IN_NETWORK[0][1]) / IN_NETWORK[0][1]
    newest = capability >= LARGER_CHUNKS_FROM
    if newest and cluster.nodes > 1:
        adding *= CHANNELS_BETWEEN
    return replace(
        wire,
        alone=reached * wire.alone,
        share=reached * wire.share,
        adding=reached * adding * wire.adding,
        ll=by_generation(LL_SHARES, capability, unknown=USUAL_LL) / USUAL_LL,
        carries=carries,
        larger=newest,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowestHop:
    """The slowest hop of a ring.

    Attributes:
        latency: seconds.
        bandwidth: bytes per second of one device that sends alone, as the data sheet has it.
    """

    latency: float
    bandwidth: float


def span(cluster: Cluster, devices: int) -> SlowestHop:
    """The slowest hop of a ring over the first devices of a cluster.

    Args:
        cluster: where.
        devices: how many of them; a ring of one has the links of the innermost level.

    Source: kahira2021, the spans of its oracle.
    """
    inside = accumulate((level.members for level in cluster.levels[:-1]), mul)
    crossed = 1 + sum(devices > members for members in inside)
    links = [level.link for level in cluster.levels[:crossed]]
    return SlowestHop(
        latency=max(link.latency for link in links),
        bandwidth=min(link.bandwidth for link in links),
    )
