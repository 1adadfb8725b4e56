"""Links: what collectives reach of their nominal bandwidth, and what they wait for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from foretrain.cluster.link import Technology

NEAREST_LINK: Mapping[Technology, Technology] = MappingProxyType(
    {
        Technology.INFINITY_FABRIC: Technology.NVLINK,
        Technology.ICI: Technology.NVLINK,
    }
)
"""Links that nobody measured for us, and those whose efficiency stands for theirs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Links: what collectives reach of their nominal bandwidth, and what they wait for.

    Attributes:
        nvlink: collectives' bandwidth over the nominal one, NVLink.
        pcie: the same for PCIe.
        infiniband: the same for InfiniBand.
        ethernet: the same for Ethernet.
        custom: the same for fabrics of one maker.
        in_network: share of that which switches reach when they add up what they pass on.
        start: seconds before a collective's first message.
    """

    nvlink: float
    pcie: float
    infiniband: float
    ethernet: float
    custom: float
    in_network: float
    start: float

    def share(self, technology: Technology) -> float:
        """Share of a link's nominal bandwidth that a collective reaches."""
        return float(getattr(self, NEAREST_LINK.get(technology, technology).value))
