"""Clusters that are offered, and parts of one for jobs that share it.

Offers: a cluster, and how many of its nodes may be rented.

Fewer devices of a cluster: what a job gets that shares it with others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.device import Topology
from foretrain.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A cluster of which whole nodes are rented, as many as one likes of some numbers.

    Attributes:
        cluster: with the most nodes that may be rented.
        nodes: numbers of nodes to choose among, ascending.
    """

    cluster: Cluster
    nodes: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.nodes or list(self.nodes) != sorted(set(self.nodes)):
            raise InputError(f"Offer.nodes must be ascending numbers, got {self.nodes}.")
        for nodes in self.nodes:
            _groups(self.cluster, nodes)
        if self.nodes[-1] != self.cluster.nodes:
            raise InputError(
                f"Offer.cluster has {self.cluster.nodes} nodes, the largest number of Offer.nodes "
                f"is {self.nodes[-1]}; they must be the same."
            )

    @property
    def devices(self) -> tuple[int, ...]:
        """The same numbers in devices."""
        return tuple(nodes * self.cluster.node_devices for nodes in self.nodes)

    def of(self, devices: int) -> Cluster:
        """The cluster with only so many of its devices."""
        return part(self.cluster, devices // self.cluster.node_devices)


def whole(cluster: Cluster) -> Offer:
    """All nodes of a cluster or none."""
    return Offer(cluster=cluster, nodes=(cluster.nodes,))


def offers_of(clusters: Iterable[Cluster]) -> tuple[Offer, ...]:
    """Clusters as offers: those that differ only in groups of their outermost level are one.

    Returns:
        Offers of exactly these clusters, in the order in which each is first met.
    """
    sizes: dict[Cluster, dict[int, Cluster]] = {}
    for cluster in clusters:
        alike = cluster
        if divisible(cluster):
            # What it has in common with its parts.
            outermost = replace(cluster.levels[-1], members=1)
            alike = replace(cluster, levels=(*cluster.levels[:-1], outermost))
        sizes.setdefault(alike, {})[cluster.nodes] = cluster
    return tuple(
        Offer(cluster=found[max(found)], nodes=tuple(sorted(found))) for found in sizes.values()
    )


def rented(offers: Iterable[Offer], name: str, nodes: int) -> Cluster:
    """The cluster of a name with so many nodes, which one of the offers has."""
    [found] = (each for each in offers if each.cluster.name == name and nodes in each.nodes)
    return part(found.cluster, nodes)


def part(cluster: Cluster, nodes: int) -> Cluster:
    """A cluster with fewer groups on its outermost level.

    Raises:
        InputError: the nodes do not fill whole groups of the levels below, or the outermost level
            is one whose shape depends on how many it connects.
    """
    if nodes == cluster.nodes:
        return cluster
    outermost = replace(cluster.levels[-1], members=_groups(cluster, nodes))
    return replace(cluster, levels=(*cluster.levels[:-1], outermost))


def divisible(cluster: Cluster) -> bool:
    """Whether fewer nodes of a cluster are a cluster with the same links.

    The outermost level must have nodes, and more of them must not change how one reaches another.
    """
    outermost = cluster.levels[-1].link.kind
    return len(cluster.levels) > cluster.node_levels and outermost in (
        Topology.SWITCH,
        Topology.TREE,
    )


def _groups(cluster: Cluster, nodes: int) -> int:
    """Groups on the outermost level that so many nodes fill."""
    groups, rest = divmod(nodes * cluster.levels[-1].members, cluster.nodes)
    if nodes == cluster.nodes:
        return cluster.levels[-1].members
    if rest or not groups or not divisible(cluster):
        raise InputError(
            f"{nodes} nodes of '{cluster.name}' are no whole part of its {cluster.nodes} nodes."
        )
    return groups


def fewer(cluster: Cluster, devices: int) -> Cluster:
    """A cluster of some of another's devices, on as few nodes as can be.

    Args:
        cluster: the whole.
        devices: whole nodes, or a part of one that leaves its levels evenly filled. The part draws
            its share of the node's power; the host is all there for it.

    Raises:
        InputError: where so many devices are neither.
    """
    if devices >= cluster.node_devices:
        if devices % cluster.node_devices:
            raise _uneven(cluster, devices)
        return part(cluster, devices // cluster.node_devices)
    levels, left = [], devices
    for level in cluster.levels:
        members = min(level.members, left)
        if left % members:
            raise _uneven(cluster, devices)
        left //= members
        levels.append(replace(level, members=members))
    share = devices / cluster.node_devices
    return replace(
        cluster,
        levels=tuple(levels),
        node_power=None if cluster.node_power is None else share * cluster.node_power,
        power=replace(
            cluster.power,
            idle=None if cluster.power.idle is None else share * cluster.power.idle,
        ),
    )


def even(cluster: Cluster) -> tuple[int, ...]:
    """Doubling numbers of devices that a cluster can give: of a node, then of nodes, then all."""
    counts = {cluster.devices}
    devices = 1
    while devices < cluster.devices:
        counts.add(devices)
        devices *= 2
    return tuple(sorted(count for count in counts if _can(cluster, count)))


def _can(cluster: Cluster, devices: int) -> bool:
    try:
        fewer(cluster, devices)
    except InputError:
        return False
    return True


def _uneven(cluster: Cluster, devices: int) -> InputError:
    return InputError(
        f"{devices} devices of '{cluster.name}' are neither whole nodes of {cluster.node_devices}"
        " nor an even part of one."
    )
