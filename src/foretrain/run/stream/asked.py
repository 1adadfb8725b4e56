"""What a reader asks for when it attaches."""

from __future__ import annotations

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
        batch_size: samples of a batch.
        private: what every sample goes through for this member alone.
        collate: puts transformed samples together.
        policy: one of `POLICIES`.
        start: one of `STARTS`.
        drop_last: whether a batch that is not full is left out at the end of an epoch.
        copy: whether every batch has memory of its own, to be written in place.
        spill: bytes on disk, for the policy of that name.
        patience: seconds to wait for the stream to appear.
        reconnect: seconds to wait for a stream that died to appear again.
    """

    name: str
    model: str
    batch_size: int
    private: Transform | None
    collate: Collate | None
    policy: str
    start: str
    drop_last: bool
    copy: bool
    spill: int
    patience: float
    reconnect: float

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise InputError(f"attach: batch_size must be at least 1, got {self.batch_size}.")
        for key, allowed in (("policy", POLICIES), ("start", STARTS)):
            if getattr(self, key) not in allowed:
                raise InputError(
                    f"attach: {key} is {getattr(self, key)!r}. Allowed: {', '.join(allowed)}."
                )
