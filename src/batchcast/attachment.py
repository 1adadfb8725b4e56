"""Attach a training loop to a shared stream."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import count
from typing import Any

from batchcast.admission import Asked
from batchcast.errors import lacks_files, require_linux, require_torch, too_many_files
from batchcast.reader import Reader
from batchcast.size import byte_count

_numbers = count()


def attach(
    name: str,
    *,
    batch_size: int | None = None,
    model: str | None = None,
    private: Callable[[Any], Any] | None = None,
    collate: Callable[[list[Any]], Any] | None = None,
    policy: str = "block",
    start: str = "epoch",
    drop_last: bool = False,
    lend: bool = False,
    pin_memory: bool | None = None,
    spill: str = "1 GiB",
    state: dict[str, Any] | None = None,
    patience: float = 10.0,
    reconnect: float = 0.0,
) -> Reader:
    """A reader of the stream of that name, to be used in place of a DataLoader.

    Args:
        name: that the stream is shared under.
        batch_size: samples of a batch; readers of one stream may have different ones. Nothing for
            the batches of the DataLoader that is shared.
        model: the member's name, which the random draws of its private transform depend on.
        private: what every sample goes through for this member alone.
        collate: makes a batch of a list of samples; PyTorch's way by default.
        policy: what happens when the others would have to wait for this reader. "block": they
            wait. "detach": it falls off and its samples are prepared again for it. "spill": its
            samples wait on disk. "drop": it loses samples, which are counted.
        start: where a reader that comes late begins: with the "epoch" that the others are in,
            with what they read "now", or with the "next" epoch.
        drop_last: leave out a last batch that is not full.
        lend: give batches that lie where the samples were prepared, which saves a copy; what
            would write into one raises `ReadOnly`. By default every batch is the reader's own.
        pin_memory: give batches in memory that a GPU can fetch by itself; by default as the
            DataLoader that is shared was told.
        spill: bound on the disk space of policy "spill".
        state: what `Reader.state_dict` gave, to go on there.
        patience: seconds to wait for the stream to appear.
        reconnect: seconds to wait for a stream that died to appear again; 0 raises at once.

    Raises:
        ArgumentError: an argument cannot be used.
        StreamNotFound: no stream of that name appeared in time.
        StreamTaken: a reader of that name is attached already.
        StreamVersion: the stream speaks another version, or the state is about other data.
        MissingPackage: PyTorch is not installed.
        OtherSystem: this is not Linux.
    """
    require_linux(what="attach(...)")
    require_torch(what="attach(...)")
    asked = Asked(
        name=name,
        model=model or f"reader-{os.getpid()}-{next(_numbers)}",
        batch_size=batch_size,
        private=private,
        collate=collate,
        policy=policy,
        start=start,
        drop_last=drop_last,
        lend=lend,
        pin_memory=pin_memory,
        spill=byte_count(spill),
        patience=patience,
        reconnect=reconnect,
    )
    try:
        return Reader(asked, state=state)
    except OSError as error:
        if not lacks_files(error):
            raise
        raise too_many_files(name) from error
