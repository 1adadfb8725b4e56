"""Hosts and storage: what feeds the devices of a node."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated

from foretrain.errors import InputError
from foretrain.units import BYTES, BYTES_PER_SECOND


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
        for field in fields(self):
            value = getattr(self, field.name)
            if not value > 0:
                raise InputError(f"Host.{field.name} must be above 0, got {value}.")


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
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and not value > 0:
                raise InputError(f"Storage.{field.name} must be above 0 bytes/s, got {value}.")
