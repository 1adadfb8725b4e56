"""Queues with quotas, as Kueue, Volcano and KAI have them."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from foretrain.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaQueue:
    """A queue that is promised devices.

    Attributes:
        name: as jobs name it by their group.
        cohort: queues of one cohort lend to each other; empty for a queue that lends to nobody.
        devices: that it is promised (nominal quota, deserved).
        borrows: devices beyond these that it may use at most.
        lends: of these that others may use at most.
        most: devices that it may use at all (Volcano's capability, KAI's limit).
        weight: among queues that share what is left.
        strict: whether its first job that does not fit blocks those behind it.
        reclaims: whether it may stop jobs of queues that borrow, as far as it is promised devices.
        preempts: whether its jobs may stop its own of lower priority.
        past: share of the cluster that it used before now, for shares over time.
    """

    name: str
    cohort: str = ""
    devices: float = 0.0
    borrows: float = inf
    lends: float = inf
    most: float = inf
    weight: float = 1.0
    strict: bool = False
    reclaims: bool = False
    preempts: bool = False
    past: float = 0.0

    def __post_init__(self) -> None:
        bounds = (self.devices, self.borrows, self.lends, self.most, self.weight, self.past)
        if not min(bounds) >= 0:
            raise InputError(
                f"QuotaQueue.devices, borrows, lends, most, weight and past of {self.name} must be"
                f" at least 0, got {bounds}."
            )
