"""Protocols: how a collective library hands messages on, short ones and long ones."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocols:
    """Protocols: how a collective library hands messages on, short ones and long ones.

    Long messages go in pieces by its simple protocol, whose start is `Links.start` and whose hops
    take the latencies of the cluster. Two quicker ones, LL and LL128, send flags along with the
    data: receivers wait for no other signal, and links carry less.

    Attributes:
        ll_start: seconds before the first message, flags with every 8 bytes (LL).
        ll_hop: share of a hop's latency that is left.
        ll_share: share of the bandwidth that is left.
        ll128_start: seconds before the first message, flags with every 128 bytes (LL128).
        ll128_hop: share of a hop's latency that is left.
        ll128_share: share of the bandwidth that is left.
        piece: bytes of a message that a member receives before it hands them on, simple protocol.
        switch_hop: seconds of a hop into switches that add up, or out of them.
        ethernet_hop: latency of a hop over Ethernet, over the one that the cluster states.
        rccl_wait: starts and latencies of RCCL, AMD's library, over those of NCCL.
    """

    ll_start: float
    ll_hop: float
    ll_share: float
    ll128_start: float
    ll128_hop: float
    ll128_share: float
    piece: float
    switch_hop: float
    ethernet_hop: float
    rccl_wait: float
