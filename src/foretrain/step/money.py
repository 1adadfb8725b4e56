"""Money and energy of a stretch of time on some devices of a cluster."""

from __future__ import annotations

from typing import TypeVar

from foretrain.cluster.cluster import Cluster
from foretrain.plan.table import Column

Number = TypeVar("Number", float, Column)


def cost(cluster: Cluster, seconds: Number, *, devices: Number) -> Number | None:
    """Dollars for so many devices of a cluster; None without a price. [plan]"""
    return None if cluster.price is None else cluster.price * devices * seconds


def energy(cluster: Cluster, seconds: Number, *, devices: Number) -> Number | None:
    """Joules of the building for the nodes of so many devices; None without power figures. [plan]

    An upper bound: a training that waits draws less than the rated power.
    """
    if cluster.node_power is None:
        return None
    nodes = devices / cluster.node_devices
    return cluster.node_power * cluster.power.pue * nodes * seconds
