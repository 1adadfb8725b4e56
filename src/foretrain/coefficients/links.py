"""Protocols: how a collective library hands messages on, short ones and long ones.

Links: what collectives reach of their nominal bandwidth, and what they wait for.

Overlap: what may run beside compute.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from foretrain.cluster.device import Technology


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocols:
    """Protocols: how a collective library hands messages on, short ones and long ones.

    Long messages go in pieces by its simple protocol, whose start is `Links.start` and whose hops
    take the latencies of the cluster. Two quicker ones, LL and LL128, send flags along with the
    data: receivers wait for no other signal, and links carry less.

    Attributes:
        ll_start: seconds before the first message, flags with every 8 bytes (LL).
        ll_hop: share of a hop's latency that is left to a ring over NVLink.
        ll_share: share of the bandwidth that is left to a ring.
        ll_between: least seconds that a byte by LL takes out of one of two nodes.
        ll128_start: seconds before the first message, flags with every 128 bytes (LL128).
        ll128_hop: share of a hop's latency that is left to a ring over NVLink.
        ll128_share: share of the bandwidth that is left to a ring.
        piece: bytes of a message that a member receives before it hands them on, simple protocol.
        switch_hop: seconds of a hop into switches that add up, or out of them.
        ethernet_hop: latency of a hop over Ethernet, over the one that the cluster states.
        unordered_hop: the same over Ethernet that delivers out of order (EFA).
        rccl_wait: starts and latencies of RCCL, AMD's library, over those of NCCL.
    """

    ll_start: float
    ll_hop: float
    ll_share: float
    ll_between: float
    ll128_start: float
    ll128_hop: float
    ll128_share: float
    piece: float
    switch_hop: float
    ethernet_hop: float
    unordered_hop: float
    rccl_wait: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferErrors:
    """Transfer errors: how far off are transfer times on machines that were not fitted to.

    Logarithms of a factor up and down within which 80 % of them lie; the two add up like errors of
    their own.

    Attributes:
        moving: where bytes alone take time.
        waiting: what starts and hops add where they alone take time; less by the root of their
            share of it.
    """

    moving: float
    waiting: float


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
        launch: seconds that a host takes to call a collective on one device.
        staged: seconds that a byte of a message between neighbours takes longer where the framework
            takes it through the memory of the host; 0 from device to device. So do gradients that
            members of a grid add up.
        staged_start: seconds that such a message starts later.
        staged_sum: seconds that a byte of gradients takes longer where the host adds it up.
    """

    nvlink: float
    pcie: float
    infiniband: float
    ethernet: float
    custom: float
    in_network: float
    start: float
    launch: float
    staged: float
    staged_start: float
    staged_sum: float

    def share(self, technology: Technology) -> float:
        """Share of a link's nominal bandwidth that a collective reaches."""
        return float(getattr(self, NEAREST_LINK.get(technology, technology).value))


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """Overlap: what may run beside compute.

    Attributes:
        gradients: share of the gradients' reduction that may run beside the backward pass.
        contention: share of a hidden exchange of parameters by which it slows compute beside it.
        tensor: share of the tensor axis' exchanges that may run beside the products they belong to.
        experts: share of the exchanges of experts that may run beside other compute of the layer.
    """

    gradients: float
    contention: float
    tensor: float
    experts: float
