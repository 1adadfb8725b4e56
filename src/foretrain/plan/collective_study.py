"""The question about one collective: what is exchanged, among how many devices, in which sizes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import prod

from foretrain.cluster.cluster import Cluster
from foretrain.errors import InputError
from foretrain.units import BYTES, MOST


class CollectiveKind(StrEnum):
    """What a group of devices does, as MPI and NCCL call it; bytes count as `nccl-tests` has them.

    Of an all-gather they are the gathered result, of a reduce-scatter its input, of anything else
    what one device holds or sends.
    """

    ALL_REDUCE = "all-reduce"
    ALL_GATHER = "all-gather"
    REDUCE_SCATTER = "reduce-scatter"
    ALL_TO_ALL = "all-to-all"
    BROADCAST = "broadcast"
    SEND_RECEIVE = "send-receive"


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveStudy:
    """One collective, again and again, with messages of several sizes.

    Attributes:
        cluster: where.
        kind: what the devices do.
        sizes: bytes, the smallest first.
        devices: how many take part, one node filled after the other.
        together: devices that one process calls for, one after the other.
        assumed: what was assumed for keys that are left out.
    """

    cluster: Cluster
    kind: CollectiveKind
    sizes: tuple[float, ...]
    devices: int
    together: int = 1
    assumed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.sizes or list(self.sizes) != sorted(set(self.sizes)):
            raise InputError("CollectiveStudy.sizes must be some sizes, the smallest first.")
        if not 0 < self.sizes[0] <= self.sizes[-1] <= MOST:
            raise InputError(
                f"CollectiveStudy.sizes must be above 0 bytes, got {BYTES.write(self.sizes[0])}."
            )
        most = self.cluster.devices
        if not 2 <= self.devices <= most:
            raise InputError(
                f"CollectiveStudy.devices must be from 2 to the {most:,} of the cluster,"
                f" got {self.devices:,}."
            )
        if not 1 <= self.together <= self.devices:
            raise InputError(
                f"CollectiveStudy.together must be from 1 to the {self.devices:,} devices,"
                f" got {self.together:,}."
            )
        uneven = partly(self.cluster, self.devices)
        if uneven is not None:
            raise InputError(
                f"CollectiveStudy.devices must fill every {uneven[0]} that they spread over, got"
                f" {self.devices:,} where one holds {uneven[1]:,}."
            )

    @property
    def nodes(self) -> int:
        """Nodes over which the devices are spread."""
        return -(-self.devices // self.cluster.node_devices)


def partly(cluster: Cluster, devices: int) -> tuple[str, int] | None:
    """The first level whose groups the devices would fill in part, and what one of them holds."""
    for place, level in enumerate(cluster.levels[:-1]):
        held = prod(each.members for each in cluster.levels[: place + 1])
        if devices > held and devices % held:
            return level.name, held
    return None
