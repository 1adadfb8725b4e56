"""The fleet: the devices that jobs share, in nodes and racks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import fsum
from typing import Final

from foretrain.errors import InputError

MOST_NODES: Final = 100_000
MOST_DEVICES: Final = 100_000
"""Of one node. A simulation keeps account of each node, and looks for room node by node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """Equal nodes.

    Attributes:
        count: how many, at least 1.
        devices: of each, at least 1.
        kind: of the devices.
        rack: nodes of a rack; 0 where racks do not matter.
        price: dollars per device and second; 0 if unknown.
    """

    count: int
    devices: int
    kind: str = ""
    rack: int = 0
    price: float = 0.0

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MOST_NODES:
            raise InputError(f"Nodes.count must be from 1 to {MOST_NODES:,}, got {self.count:,}.")
        if not 1 <= self.devices <= MOST_DEVICES:
            raise InputError(
                f"Nodes.devices must be from 1 to {MOST_DEVICES:,}, got {self.devices:,}."
            )
        if not (self.rack >= 0 and self.price >= 0):
            raise InputError(f"Nodes.rack and price must be at least 0, got {self}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFailures:
    """How nodes fail.

    Attributes:
        between: mean seconds from the repair of a node to its next failure; exponential.
        repair: seconds until a node is there again.
        checkpoint: seconds of work after which a job saves its state, counted from its start.
    """

    between: float
    repair: float
    checkpoint: float

    def __post_init__(self) -> None:
        if not (self.between > 0 and self.repair >= 0 and self.checkpoint > 0):
            raise InputError(
                "NodeFailures.between and checkpoint must be above 0 s and repair at least 0 s,"
                f" got {self}."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """What jobs share.

    Attributes:
        nodes: of each kind.
        quota: devices that the jobs of a group may hold at once; groups that are not named are
            bounded by the fleet alone.
    """

    nodes: tuple[Nodes, ...]
    quota: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.nodes:
            raise InputError("Fleet.nodes is empty; give at least one group of nodes.")
        kinds = [each.kind for each in self.nodes]
        if len(set(kinds)) < len(kinds):
            raise InputError(f"Fleet.nodes names a kind of device twice: {', '.join(kinds)}.")
        for group, devices in self.quota.items():
            if not devices >= 1:
                raise InputError(f"Fleet.quota of {group} must be at least 1, got {devices}.")

    @property
    def devices(self) -> int:
        """All devices."""
        return sum(each.count * each.devices for each in self.nodes)

    @property
    def price(self) -> float:
        """Dollars per second for all devices."""
        return fsum(each.count * each.devices * each.price for each in self.nodes)

    def of(self, kinds: tuple[str, ...]) -> int:
        """Devices of some kinds; all where none is named."""
        mine = [each for each in self.nodes if not kinds or each.kind in kinds]
        return sum(each.count * each.devices for each in mine)


def fleet(devices: int, *, per_node: int = 0) -> Fleet:
    """Devices of one kind.

    Args:
        devices: how many, at least 1.
        per_node: of each node; 0 for nodes that do not matter, one node of all devices.

    Raises:
        InputError: where the nodes cannot be filled.
    """
    each = per_node or devices
    if not devices >= 1 or devices % each:
        raise InputError(f"{devices} devices do not fill nodes of {each}.")
    return Fleet(nodes=(Nodes(count=devices // each, devices=each),))
