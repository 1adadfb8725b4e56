"""Money and energy of a stretch of time on some devices of a cluster."""

from __future__ import annotations

from typing import TypeVar

from foretrain.cluster.cluster import Cluster
from foretrain.plan.table import Column

Seconds = TypeVar("Seconds", float, Column)


def cost(cluster: Cluster, seconds: Seconds, *, devices: float | Column) -> Seconds | None:
    """Dollars for so many devices of a cluster; None without a price. [plan]"""
    return None if cluster.price is None else cluster.price * devices * seconds


def energy(cluster: Cluster, seconds: Seconds, *, devices: float | Column) -> Seconds | None:
    """Joules of the building for nodes at their rated power; None without power figures. [plan]

    An upper bound: a training that waits draws less.
    """
    drawn = power(cluster, devices=devices)
    return None if drawn is None else drawn * seconds


def power(cluster: Cluster, *, devices: float | Column) -> float | Column | None:
    """Watts of the building for the nodes of so many devices; None without power figures."""
    if cluster.node_power is None:
        return None
    return cluster.node_power * cluster.power.pue * (devices / cluster.node_devices)
