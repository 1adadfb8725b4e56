"""What NCCL's own tables say of links, protocols and generations of devices.

Shares and ratios only: what a cluster or a set of coefficients says of the same thing is multiplied
by them. A generation is a compute capability, 9.0 for Hopper; devices without one are those of
other makers, to which no line applies.

Source: nvidia-nccl, src/graph/topo.h and tuning.cc, releases 2.18 to 2.30; what differs in older
ones stands in docs/reference/collectives.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from foretrain.cluster.device import Technology

Table = tuple[tuple[float, float], ...]
"""Values by the least compute capability that they hold for, in its order."""

BEFORE_ALL: Final = 0.0

NVLINK: Final[Table] = (
    (BEFORE_ALL, 18 / 20),
    (7.0, 20 / 25),
    (8.6, 12 / 14),
    (9.0, 20.6 / 25),
    (10.0, 40.1 / 50),
)
"""GB/s that a link of NVLink is taken to reach, over those of the data sheet (topo.h)."""

USUAL_NVLINK: Final = 20 / 25
"""The same where nothing is known of the generation: V100 and A100."""

IN_NETWORK: Final[Table] = ((BEFORE_ALL, 0.85 * 15 / 16), (10.0, 0.74 * 23 / 24))
"""What switches that add up reach of the links' bandwidth: efficiency times all channels but one.

16 channels on Hopper, 24 on Blackwell within a node (tuning.cc, nvlsEfficiency; since 2.28).
"""

CHANNELS_BETWEEN: Final = (31 / 32) / (23 / 24)
"""The same on Blackwell where nodes are joined: 32 channels, over those within one."""

LL_SHARES: Final[Table] = (
    (BEFORE_ALL, 39 / 120),
    (8.0, 87.7 / 240),
    (9.0, 141 / 370.8),
    (10.0, 282 / 721.8),
)
"""Most that LL carries within a node, GB/s, over what all its NVLink reaches (llMaxBws)."""

USUAL_LL: Final = 1 / 2
"""LL anywhere else: half of what is sent are flags."""

MORE_NODES: Final = 20.4 / 39
"""What LL carries out of a node at most, more than two nodes over two (llMaxBws)."""

IN_LINES_FROM: Final = 7.0
"""Least compute capability that has LL128, in which 128 bytes of a warp arrive as one."""

LARGER_CHUNKS_FROM: Final = 10.0
"""Least compute capability that hands larger pieces to switches between few devices."""

NVLINK_ROW, PCIE_ROW, NETWORK_ROW = "nvlink", "pcie", "network"

ROWS: Mapping[Technology, str] = MappingProxyType(
    {Technology.PCIE: PCIE_ROW}
    | dict.fromkeys((Technology.INFINIBAND, Technology.ETHERNET), NETWORK_ROW)
)
"""Rows of the table of hops for links; any other has that of NVLink."""

HOPS: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "ring": {NVLINK_ROW: 3.4, PCIE_ROW: 5.7, NETWORK_ROW: 14.0},
        "ring LL": {NVLINK_ROW: 0.6, PCIE_ROW: 1.0, NETWORK_ROW: 2.7},
        "ring LL128": {NVLINK_ROW: 1.9, PCIE_ROW: 2.5, NETWORK_ROW: 4.0},
        "tree LL": {NVLINK_ROW: 0.6, PCIE_ROW: 1.0, NETWORK_ROW: 5.0},
        "tree LL128": {NVLINK_ROW: 1.25, PCIE_ROW: 1.9, NETWORK_ROW: 8.5},
    }
)
"""Microseconds of a hop by algorithm and protocol, by row (hwLat)."""

TREE_SHARES: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "LL": dict.fromkeys((NVLINK_ROW, PCIE_ROW, NETWORK_ROW), 0.92 / 3.8 / USUAL_LL),
        "LL128": {NVLINK_ROW: 7 / 9, PCIE_ROW: 7 / 9, NETWORK_ROW: 120 / 128},
    }
)
"""Bandwidth of a tree by a protocol for short messages, over that of a ring by it."""


def by_generation(table: Table, capability: float | None, *, unknown: float) -> float:
    """The value of the last line whose generation a device has reached.

    Args:
        table: lines in the order of generations.
        capability: of the device; None of one without.
        unknown: what holds then.
    """
    if capability is None:
        return unknown
    return [value for least, value in table if capability >= least][-1]


def hop(algorithm: str, protocol: str, row: str) -> float:
    """A hop by a protocol for short messages over one of a ring in long ones, as NVLink has it 1.

    The coefficient that it multiplies is the share of a ring's hop over NVLink.
    """
    kind = f"{'tree' if algorithm == 'tree' else 'ring'} {protocol}"
    inside = HOPS[f"ring {protocol}"][NVLINK_ROW] / HOPS["ring"][NVLINK_ROW]
    return HOPS[kind][row] / HOPS["ring"][row] / inside


def carried(algorithm: str, protocol: str, row: str) -> float:
    """Bandwidth by a protocol for short messages, over that of a ring by it."""
    return TREE_SHARES[protocol][row] if algorithm == "tree" else 1.0
