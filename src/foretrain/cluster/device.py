"""Devices and the links between them.

Devices: the accelerators that compute.

Links: what connects devices, level by level.

Switches: the tree of them that connects the nodes of a site.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Annotated

from foretrain.errors import InputError
from foretrain.units import BYTES, BYTES_PER_SECOND, FLOP_PER_SECOND, MOST, SECONDS, WATTS

FlopRate = Annotated[float, FLOP_PER_SECOND]


@dataclass(frozen=True, slots=True, kw_only=True)
class Peak:
    """Dense FLOP/s that a device's data sheet promises, by precision; None where it has none."""

    fp32: FlopRate
    tf32: FlopRate | None = None
    fp16: FlopRate | None = None
    bf16: FlopRate | None = None
    fp8: FlopRate | None = None
    fp4: FlopRate | None = None

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if value is not None and not value > 0:
                raise InputError(f"Peak.{each.name} must be above 0 FLOP/s, got {value}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One accelerator as software sees it.

    Attributes:
        name: catalogue name.
        peak: dense FLOP/s by precision.
        matmul: FLOP/s of the best 16-bit matrix product that somebody measured, of fp32 where the
            device has no 16 bits; None if nobody.
        memory: bytes.
        memory_bandwidth: bytes per second, data sheet.
        triad: share of memory_bandwidth that the best Triad which somebody measured moves; None if
            nobody.
        asynchronous: whether matrix units reach their peak only with instructions that do not wait
            (Hopper and later).
        units: processors that work on tiles of a matrix side by side (streaming multiprocessors).
        quick_windows: whether libraries have Winograd's algorithm for its fp32 (NVIDIA's have it
            from Maxwell on).
        compute_capability: NVIDIA's number of its generation, 9.0 for Hopper, by which the
            collective library tunes itself; None for other makers.
        released: month in which the first device was sold that runs the same code, year first, from
            which on libraries learn to use it; None if nobody says.
        power: watts, rated; None where nobody states it. A cluster's energy counts whole nodes.
        idle_power: watts with nothing to do; None where nobody states it.
    """

    name: str
    peak: Peak
    matmul: FlopRate | None = None
    memory: Annotated[float, BYTES]
    memory_bandwidth: Annotated[float, BYTES_PER_SECOND]
    triad: float | None = field(default=None, metadata={"if_set": True})
    units: int
    asynchronous: bool = False
    quick_windows: bool = True
    compute_capability: float | None = field(default=None, metadata={"if_set": True})
    released: str | None = field(default=None, metadata={"if_set": True})
    power: Annotated[float, WATTS] | None = None
    idle_power: Annotated[float, WATTS] | None = None

    def __post_init__(self) -> None:
        for name, unit in (
            ("memory", "bytes"),
            ("memory_bandwidth", "bytes/s"),
            ("units", "unit"),
        ):
            if not getattr(self, name) > 0:
                raise InputError(
                    f"Device.{name} must be above 0 {unit}, got {getattr(self, name)}."
                )
        if self.matmul is not None and not self.matmul > 0:
            raise InputError(f"Device.matmul must be above 0 FLOP/s, got {self.matmul}.")
        if self.triad is not None and not 0 < self.triad <= 1:
            raise InputError(f"Device.triad must be above 0 and at most 1, got {self.triad}.")
        if self.compute_capability is not None and not self.compute_capability >= 1:
            raise InputError(
                f"Device.compute_capability must be at least 1, got {self.compute_capability}."
            )
        if self.power is not None and not self.power > 0:
            raise InputError(f"Device.power must be above 0 W, got {self.power}.")
        if self.idle_power is not None and not self.idle_power >= 0:
            raise InputError(f"Device.idle_power must be at least 0 W, got {self.idle_power}.")


class Topology(StrEnum):
    """The shape of a level.

    A mesh connects every pair; a cube mesh is that of a DGX-1, in which each of eight devices has
    links to four others; a dragonfly connects groups of switches all to all.
    """

    SWITCH = "switch"
    RING = "ring"
    MESH = "mesh"
    CUBE_MESH = "cube-mesh"
    TORUS = "torus"
    TREE = "tree"
    DRAGONFLY = "dragonfly"


class Technology(StrEnum):
    """What a level is made of; measured efficiencies hang on it.

    Ethernet includes RoCE, EFA and Slingshot; ICI connects TPUs; custom is any other of one maker
    (NeuronLink, HCCS, IPU-Link, Gemini).
    """

    NVLINK = "nvlink"
    PCIE = "pcie"
    INFINIBAND = "infiniband"
    ETHERNET = "ethernet"
    INFINITY_FABRIC = "infinity-fabric"
    ICI = "ici"
    CUSTOM = "custom"


DIMENSIONS = 3
"""Dimensions of a torus whose entry states none, such as Cray's Gemini."""

MOST_DIMENSIONS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One level's connection, one direction.

    Attributes:
        latency: seconds before the first byte arrives, one hop, as a collective library sees it.
        bandwidth: bytes per second of one device in one direction, alone.
        capacity: bytes per second of everything that may leave one group of the level below at
            once, one direction; None if each of its devices may send at full bandwidth.
        duplex: whether both directions run at full bandwidth at once.
        kind: shape of the level.
        technology: what it is made of.
        in_network: whether its switches add up what they pass on (NVLink SHARP, SHARP).
        dimensions: of a torus, at least 2 (one is a ring); None for three, and for other shapes.
        contention: what-if on top of that: the factor by which bandwidth shrinks where several
            collectives leave one group of the level below together; None for none.
        ordered: whether bytes arrive in the order in which they were sent, on which protocols for
            short messages rely; those of EFA may not.
    """

    latency: Annotated[float, SECONDS]
    bandwidth: Annotated[float, BYTES_PER_SECOND]
    capacity: Annotated[float, BYTES_PER_SECOND] | None = None
    duplex: bool = True
    kind: Topology = Topology.SWITCH
    technology: Technology
    in_network: bool = False
    ordered: bool = True
    dimensions: int | None = field(default=None, metadata={"if_set": True})
    contention: float | None = field(default=None, metadata={"if_set": True})

    def __post_init__(self) -> None:
        if not self.latency >= 0:
            raise InputError(f"Link.latency must be at least 0 s, got {self.latency}.")
        if not self.bandwidth > 0:
            raise InputError(f"Link.bandwidth must be above 0 bytes/s, got {self.bandwidth}.")
        if self.capacity is not None and not self.capacity > 0:
            raise InputError(f"Link.capacity must be above 0 bytes/s, got {self.capacity}.")
        if self.dimensions is not None and not (
            self.kind is Topology.TORUS and 2 <= self.dimensions <= MOST_DIMENSIONS
        ):
            raise InputError(
                f"Link.dimensions is of a torus and from 2 to {MOST_DIMENSIONS}, got"
                f" {self.dimensions} for a {self.kind}."
            )
        if self.contention is not None and not 1 <= self.contention <= MOST:
            raise InputError(f"Link.contention must be at least 1, got {self.contention}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """Groups of devices that one kind of link connects.

    Attributes:
        name: package, node, rack, fabric.
        members: how many groups of the level below (devices, for the first level) it connects.
        link: between two of them.
    """

    name: str
    members: int
    link: Link

    def __post_init__(self) -> None:
        if not self.members >= 1:
            raise InputError(f"Level.members must be at least 1, got {self.members}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """A switch of a tree: a leaf with nodes, or one with switches under it.

    Attributes:
        name: as others name it.
        nodes: of a leaf.
        switches: names of those under it.
    """

    name: str
    nodes: tuple[tuple[int, int], ...] = ()
    switches: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if bool(self.nodes) == bool(self.switches):
            raise InputError(f"Switch {self.name} needs nodes, or switches, and not both.")


def switch_problems(switches: Sequence[Switch]) -> Iterator[str]:
    """What is wrong with switches beside each other, in words; leaves must come first."""
    seen: set[str] = set()
    under: set[str] = set()
    for each in switches:
        for other in each.switches:
            if other not in seen:
                yield (
                    f"Switch.switches of {each.name} names {other}, which is none before it. Write"
                    " leaves first."
                )
            if other in under:
                yield f"Switch.switches of {each.name} names {other}, which is under another one."
            under.add(other)
        seen.add(each.name)
