"""Fewer devices of a cluster: what a job gets that shares it with others."""

from __future__ import annotations

from dataclasses import replace

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.offer import part
from foretrain.errors import InputError


def fewer(cluster: Cluster, devices: int) -> Cluster:
    """A cluster of some of another's devices, on as few nodes as can be.

    Args:
        cluster: the whole.
        devices: whole nodes, or a part of one that leaves its levels evenly filled.

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
    return replace(cluster, levels=tuple(levels))


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
