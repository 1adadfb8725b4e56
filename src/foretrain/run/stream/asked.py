"""What a reader asks for when it attaches."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from foretrain.errors import InputError
from foretrain.run.stream.lane import POLICIES, STARTS

Transform = Callable[[Any], Any]
Collate = Callable[[list[Any]], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What `attach` was asked for, checked.

    Attributes:
        name: of the stream.
        model: name of the member.
        batch_size: samples of a batch; nothing for batches as their loader makes them.
        private: what every sample goes through for this member alone.
        collate: puts transformed samples together.
        policy: one of `POLICIES`.
        start: one of `STARTS`.
        drop_last: whether a batch that is not full is left out at the end of an epoch.
        lend: whether batches may lie in memory that all read and nobody may write.
        pin_memory: whether batches are to be in memory that a GPU can fetch by itself; nothing for
            what the loader that is shared was told.
        spill: bytes on disk, for the policy of that name.
        patience: seconds to wait for the stream to appear.
        reconnect: seconds to wait for a stream that died to appear again.
    """

    name: str
    model: str
    batch_size: int | None
    private: Transform | None
    collate: Collate | None
    policy: str
    start: str
    drop_last: bool
    lend: bool
    pin_memory: bool | None
    spill: int
    patience: float
    reconnect: float

    def __post_init__(self) -> None:
        if self.batch_size is not None and self.batch_size < 1:
            raise InputError(f"attach: batch_size must be at least 1, got {self.batch_size}.")
        for key, allowed in (("policy", POLICIES), ("start", STARTS)):
            if getattr(self, key) not in allowed:
                raise InputError(
                    f"attach: {key} is {getattr(self, key)!r}. Allowed: {', '.join(allowed)}."
                )

    def of_samples(self) -> str | None:
        """The argument that says what happens to single samples; nothing where none was given."""
        given = {
            "batch_size": self.batch_size,
            "private": self.private,
            "collate": self.collate,
            "drop_last": self.drop_last or None,
        }
        return next((name for name, value in given.items() if value is not None), None)

    def pins(self, loader: bool) -> bool:
        """Whether batches are pinned, which takes a GPU; as a DataLoader does without one, none is.

        Args:
            loader: whether the shared loader pinned its batches.
        """
        import torch

        wanted = loader if self.pin_memory is None else self.pin_memory
        if wanted and not torch.cuda.is_available():
            if self.pin_memory:
                warnings.warn("attach: pin_memory=True, and there is no GPU here.", stacklevel=4)
            return False
        return wanted
