"""Power: what a node draws when it waits, and what the building adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from foretrain.errors import InputError
from foretrain.units import WATTS


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
