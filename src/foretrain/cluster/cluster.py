"""Hosts and storage: what feeds the devices of a node.

Power: what a node draws when it waits, and what the building adds.

Clusters: devices, the levels of links between them, what they cost and draw.

Nodes: how a number of them fills the levels of a cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from math import inf, prod
from typing import Annotated, TypeVar

import numpy as np
from numpy.typing import NDArray

from foretrain.cluster.device import Device, Level
from foretrain.errors import InputError
from foretrain.units import BYTES, BYTES_PER_SECOND, DOLLARS_PER_SECOND, SECONDS, WATTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """Processors and memory of one node beside its devices.

    Attributes:
        cores: physical cores.
        memory: bytes.
        memory_bandwidth: bytes per second of all cores together.
        device_bandwidth: bytes per second between one device and the host, one direction.
    """

    cores: int
    memory: Annotated[float, BYTES]
    memory_bandwidth: Annotated[float, BYTES_PER_SECOND]
    device_bandwidth: Annotated[float, BYTES_PER_SECOND]

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if not value > 0:
                raise InputError(f"Host.{each.name} must be above 0, got {value}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """Where data sets and checkpoints lie, as the nodes see it.

    Attributes:
        read: bytes per second that one node reads alone.
        write: bytes per second that one node writes alone.
        total_read: bytes per second that all nodes read together; None if each has its own disks.
        total_write: the same for writing.
    """

    read: Annotated[float, BYTES_PER_SECOND]
    write: Annotated[float, BYTES_PER_SECOND]
    total_read: Annotated[float, BYTES_PER_SECOND] | None = None
    total_write: Annotated[float, BYTES_PER_SECOND] | None = None

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if value is not None and not value > 0:
                raise InputError(f"Storage.{each.name} must be above 0 bytes/s, got {value}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """What refines the full load of a node (`Cluster.node_power`).

    Attributes:
        idle: watts that one node draws with nothing to do; None if not known.
        host: share of a node's full load that is not its devices': processors, memory, network
            adapters, fans; None if not known.
        pue: power of the whole building over that of its nodes, at least 1.
    """

    idle: Annotated[float, WATTS] | None = None
    host: float | None = None
    pue: float = 1.0

    def __post_init__(self) -> None:
        if self.idle is not None and not self.idle >= 0:
            raise InputError(f"Power.idle must be at least 0 W, got {self.idle}.")
        if self.host is not None and not 0 <= self.host < 1:
            raise InputError(f"Power.host must be at least 0 and below 1, got {self.host}.")
        if not self.pue >= 1:
            raise InputError(f"Power.pue must be at least 1, got {self.pue}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Where a training runs.

    Attributes:
        name: catalogue name, or the user's.
        device: the accelerator; all are alike.
        levels: from the innermost outwards. A node is what the level named "node" connects, or
            else the innermost level.
        price: dollars per second of one device; None if not known.
        price_date: the day when it was so, as 2026-11-21; None if not known.
        node_power: watts that one node draws at full load, host, links and fans included.
        power: what a node draws otherwise, and what the building adds.
        host: what stands beside the devices of a node; None if not known.
        storage: where data and checkpoints lie; None if not known.
        mtbf: mean seconds between two failures of one node that end a training; None if not known.
        collectives: algorithms by what each does, such as all-reduce: one of the table, in the
            place of those that the library chooses from, or the user's own beside them, as
            `package.module:name` or by a registered name.
    """

    name: str
    device: Device
    levels: tuple[Level, ...]
    price: Annotated[float, DOLLARS_PER_SECOND] | None = None
    price_date: str | None = None
    node_power: Annotated[float, WATTS] | None = None
    power: Power = field(default_factory=Power)
    host: Host | None = None
    storage: Storage | None = None
    mtbf: Annotated[float, SECONDS] | None = None
    collectives: tuple[tuple[str, str], ...] = field(default=(), metadata={"if_set": True})

    def __post_init__(self) -> None:
        if not self.levels:
            raise InputError(f"Cluster '{self.name}' needs at least one level of links.")
        for name in ("price", "node_power"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise InputError(f"Cluster.{name} must be at least 0, got {value}.")
        if self.power.idle is not None and not self.power.idle <= (self.node_power or inf):
            raise InputError(
                f"Cluster.power.idle must be at most the node_power of {self.node_power} W, got "
                f"{self.power.idle}."
            )
        if self.mtbf is not None and not self.mtbf > 0:
            raise InputError(f"Cluster.mtbf must be above 0 s, got {self.mtbf}.")

    @property
    def devices(self) -> int:
        """Devices in the whole cluster."""
        return prod(level.members for level in self.levels)

    @property
    def node_devices(self) -> int:
        """Devices of one node: up to the level of that name, or else of the innermost level."""
        return prod(level.members for level in self.levels[: self.node_levels])

    @property
    def node_levels(self) -> int:
        """Levels within a node, its own included."""
        names = [level.name for level in self.levels]
        return names.index("node") + 1 if "node" in names else 1

    @property
    def nodes(self) -> int:
        """Servers."""
        return self.devices // self.node_devices

    @property
    def waiting(self) -> float | None:
        """Watts of one node whose devices wait; as at full load where nobody says.

        Without `power.idle` hosts, links and fans draw what they draw at full load, and devices
        what they draw with nothing to do.
        """
        full, device = self.node_power, self.device
        if full is None or self.power.idle is not None:
            return full if full is None else self.power.idle
        if device.power is None or device.idle_power is None:
            return full
        return full - self.node_devices * (device.power - device.idle_power)

    @property
    def draw(self) -> float | None:
        """Watts of the building for all nodes at full load; None without power figures."""
        return None if self.node_power is None else self.node_power * self.power.pue * self.nodes


Number = TypeVar("Number", float, NDArray[np.float64])


def cost(cluster: Cluster, seconds: Number, *, devices: Number) -> Number | None:
    """Dollars for so many devices of a cluster; None without a price. [plan]"""
    return None if cluster.price is None else cluster.price * devices * seconds


def energy(
    cluster: Cluster, seconds: Number, *, computing: Number, devices: Number
) -> Number | None:
    """Joules of the building for the nodes of so many devices; None without power figures. [plan]

    A device that computes draws what it draws at full load, whatever limits its kernels; one that
    waits, for another or for what it exchanges, as much as one with nothing to do.

    Args:
        cluster: what nodes draw.
        seconds: how long it takes.
        computing: how long the mean device computes meanwhile.
        devices: how many.
    """
    full, waiting = cluster.node_power, cluster.waiting
    if full is None or waiting is None:
        return None
    nodes = devices / cluster.node_devices
    return cluster.power.pue * nodes * (waiting * seconds + (full - waiting) * computing)


Members = tuple[int, ...]


def spread(nodes: int, most: Sequence[int]) -> Members:
    """Members of each level above the node: as few groups as hold the nodes, all of one size.

    Args:
        nodes: of the whole cluster.
        most: groups of the level below that a group of each level can connect, innermost first;
            the outermost level, which is not among them, connects any number.

    Returns:
        One number per level, the outermost included.

    Raises:
        InputError: the nodes cannot be spread evenly; the message names numbers that can.
    """
    members = _spread(nodes, most)
    if members is None:
        groups = " of ".join(f"at most {size}" for size in reversed(most))
        raise InputError(
            f"{nodes} nodes do not spread evenly over groups of {groups}. "
            f"Take {_next(nodes, most, step=-1)} or {_next(nodes, most, step=1)}."
        )
    return members


def _spread(nodes: int, most: Sequence[int]) -> Members | None:
    """The members, or None where some level cannot be filled evenly and by more than half."""
    members: list[int] = []
    for size in most:
        fewest = -(-nodes // size)
        even = [groups for groups in range(fewest, 2 * fewest) if nodes % groups == 0]
        if not even:
            return None
        members.append(nodes // even[0])
        nodes = even[0]
    return (*members, nodes)


def _next(nodes: int, most: Sequence[int], *, step: int) -> int:
    """The nearest number that spreads evenly; there is one, as multiples of all sizes do."""
    assert prod(most) > 0
    while _spread(nodes, most) is None:
        nodes += step
    return nodes
