"""What a reader asks for when it attaches.

Which readers a stream can serve: what they ask for held against what it hands on.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from batchcast.errors import ArgumentError, StreamError, StreamVersion
from batchcast.greetings import Hello
from batchcast.layout import Layout
from batchcast.order import Order
from batchcast.settings import Settings
from batchcast.subscription import POLICIES, STARTS

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
            raise ArgumentError(f"attach: batch_size must be at least 1, got {self.batch_size}.")
        for key, allowed in (("policy", POLICIES), ("start", STARTS)):
            if getattr(self, key) not in allowed:
                raise ArgumentError(
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


def check_policy(hello: Hello, order: Order) -> None:
    """A reader may fall off only where samples can be prepared again.

    Raises:
        StreamError: they cannot.
    """
    if hello.policy == "detach" and order.samples is None:
        raise StreamError(
            "policy='detach' prepares samples again for a reader that fell off, which a "
            "loader cannot do. Use 'block' or 'spill', or share the data set."
        )


def check_place(hello: Hello, name: str, about: Mapping[str, object]) -> None:
    """A saved state goes on only in the data that it is about.

    Args:
        hello: what the reader asks for.
        name: of the stream.
        about: what the stream serves.

    Raises:
        StreamVersion: they are others.
    """
    if hello.about is not None and hello.about != about:
        raise StreamVersion(
            f"The saved state is about {hello.about} and the stream '{name}' serves {about}. "
            "Share the same data with the same seed."
        )


def check_batches(hello: Hello, settings: Settings, layout: Layout) -> None:
    """Whole batches cannot be torn apart; samples need to be told how many make a batch.

    Raises:
        StreamError: the reader asks for the other.
    """
    name = settings.name
    if not layout.whole:
        if hello.batch is None and settings.batch is None:
            raise StreamError(
                f"attach: the stream '{name}' gives samples, so say how many make a "
                "batch: attach(..., batch_size=...). Where every item is a batch already, say "
                "share(..., yields='batches')."
            )
        return
    if hello.policy == "drop" or hello.start == "now":
        raise StreamError(
            f"The stream '{name}' hands on whole batches, and policy='drop' or "
            "start='now' would tear one apart. Use another policy, or start='next'."
        )
    if hello.of_samples is not None:
        raise StreamError(
            f"attach: {hello.of_samples} is for samples, and the stream '{name}' hands on the "
            f"batches of its loader as they are: {layout.whole}. Attach without it, or share "
            "the loader's data set instead of the loader; where every field of a batch holds "
            "its samples along the first dimension, share(..., yields='stacks') says so."
        )
