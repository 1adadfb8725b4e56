"""What a stream was asked to be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

from batchcast.addresses import checked_name
from batchcast.errors import ArgumentError

ON_ERROR = ("raise", "skip")
"""What happens when a sample cannot be prepared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What `share` was asked for, checked.

    Attributes:
        name: of the stream.
        readers: that must be attached before it starts.
        workers: decode processes.
        patience: seconds to wait for the rest of the readers once one is attached.
        epochs: of every reader; nothing for as many as they like.
        shuffle: whether every epoch has an order of its own.
        seed: that all orders and draws come from.
        memory: bytes that the arena may take.
        on_error: one of `ON_ERROR`.
        batch: samples of a batch of the loader that is shared, where it was told.
        batches: of an epoch, where the loader tells.
        pinned: whether the loader pinned its batches.
        draws: numbers that a private loader draws when its first loop begins, each later one, and
            each with its first batch.
        waits: whether a loader draws its order not before its first batch is asked for.
        follows: whether a loader's orders hang on what readers draw, as nobody gave a seed.
        may_follow: whether they would if its samples drew something.
        told: what the attributes of a loader tell.
        nice: added to the niceness of the stream's processes.
    """

    name: str
    readers: int
    workers: int
    epochs: int | None
    shuffle: bool
    seed: int
    memory: int
    on_error: str
    patience: float = inf
    batch: int | None = None
    batches: int | None = None
    pinned: bool = False
    draws: tuple[int, int, int] = (0, 0, 0)
    waits: bool = False
    follows: bool = False
    may_follow: bool = False
    told: Mapping[str, int] = field(default_factory=dict)
    nice: int = 0

    def __post_init__(self) -> None:
        checked_name(self.name)
        for key, least in (("readers", 1), ("workers", 1), ("epochs", 1), ("memory", 1)):
            value = getattr(self, key)
            if value is not None and value < least:
                raise ArgumentError(f"share: {key} must be at least {least}, got {value}.")
        if not -40 <= self.nice <= 40:
            raise ArgumentError(f"share: nice must be from -40 to 40, got {self.nice}.")
        if not self.patience >= 0:
            raise ArgumentError(f"share: patience must be at least 0 s, got {self.patience}.")
        if self.on_error not in ON_ERROR:
            raise ArgumentError(
                f"share: on_error is {self.on_error!r}. Allowed: {', '.join(ON_ERROR)}."
            )
