"""Money and energy of a stretch of time on all devices of a cluster."""

from __future__ import annotations

from typing import TypeVar

from foretrain.cluster.cluster import Cluster
from foretrain.plan.table import Column

Seconds = TypeVar("Seconds", float, Column)


def cost(cluster: Cluster, seconds: Seconds) -> Seconds | None:
    """Dollars for every device of the cluster; None without a price. [plan]"""
    return None if cluster.price is None else cluster.price * float(cluster.devices) * seconds


def energy(cluster: Cluster, seconds: Seconds) -> Seconds | None:
    """Joules of the building for every node at its rated power; None without power figures. [plan]

    An upper bound: a training that waits draws less.
    """
    if cluster.node_power is None:
        return None
    return cluster.node_power * cluster.power.pue * cluster.nodes * seconds
