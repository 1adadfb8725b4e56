"""Clusters: devices, the levels of links between them, what they cost and draw."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Annotated

from foretrain.cluster.device import Device
from foretrain.cluster.host import Host, Storage
from foretrain.cluster.link import Level
from foretrain.cluster.power import Power
from foretrain.errors import InputError
from foretrain.units import DOLLARS_PER_SECOND, SECONDS, WATTS


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

    def __post_init__(self) -> None:
        if not self.levels:
            raise InputError(f"Cluster '{self.name}' needs at least one level of links.")
        for name in ("price", "node_power"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise InputError(f"Cluster.{name} must be at least 0, got {value}.")
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
    def draw(self) -> float | None:
        """Watts of the building for all nodes at full load; None without power figures."""
        return None if self.node_power is None else self.node_power * self.power.pue * self.nodes
