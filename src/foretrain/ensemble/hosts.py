"""What the hosts of a cluster can do for the members of an ensemble that runs on it.

Nothing is measured here: the cluster says cores and links, and copying is priced by what one core
is known to do.
"""

from __future__ import annotations

from math import inf

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.fewer import fewer
from foretrain.cluster.link import Link
from foretrain.ensemble.costs import Cores, Exchange
from foretrain.ensemble.one_node import MeasuredLoaders
from foretrain.errors import InputError

COPY = 8 / 42e9
"""Seconds in which one core takes in a byte from the network: 42 Gb/s, most of it copying. A copy
inside a node is not believed to be quicker. Source: cai2021, section 3.1 (from memory)."""

OWN = 1
"""Cores that each device keeps busy: its process starts kernels and polls for them; assumed."""


def cores_for(cluster: Cluster, devices: int) -> Cores:
    """Cores of a node that are left to feed members, in proportion to the devices they use.

    Args:
        cluster: with a host.
        devices: of the ensemble; up to a whole node of them counts.

    Raises:
        InputError: where the processes of the devices leave none.
    """
    assert cluster.host
    used = min(devices, cluster.node_devices)
    share = cluster.host.cores * used // cluster.node_devices
    left = share - OWN * used
    if left < 1:
        raise InputError(
            f"{used} devices of '{cluster.name}' come with {share} cores, and each keeps {OWN} of"
            " them busy: none is left to prepare samples."
        )
    return Cores(count=left)


def exchange_of(cluster: Cluster, devices: int) -> Exchange:
    """How the nodes of an ensemble on so many devices hand samples on: one thread, one adapter."""
    links = _between_nodes(fewer(cluster, devices))
    return Exchange(
        byte_time=COPY,
        bandwidth=min((_one_way(link) for link in links), default=inf),
        latency=max((link.latency for link in links), default=0.0),
    )


def loaders_of(*, prepare: float, sample_bytes: float) -> MeasuredLoaders:
    """What handing on takes inside a node: copies.

    A worker of a private loader copies a sample into shared memory and the member copies it to its
    device; a shared one is prepared in its place and copied once by each member.
    """
    copy = COPY * sample_bytes
    return MeasuredLoaders(hand=2.0 * copy, store=prepare, feed=copy, deliver=copy)


def _between_nodes(cluster: Cluster) -> list[Link]:
    """Links beyond the node that the cluster's nodes span."""
    inside, found = cluster.node_devices, []
    reached = 1
    for level in cluster.levels:
        if reached >= inside and level.members > 1:
            found.append(level.link)
        reached *= level.members
    return found


def _one_way(link: Link) -> float:
    return link.bandwidth if link.capacity is None else min(link.bandwidth, link.capacity)
