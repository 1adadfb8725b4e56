"""What the conductor's process does, from its start in the fork server to its end."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from batchcast.addresses import clear
from batchcast.conductor import Conductor
from batchcast.errors import BatchcastError, as_text
from batchcast.forkserver.parcel import Parcel
from batchcast.messages import Kind, send
from batchcast.niceness import renice
from batchcast.order import Order
from batchcast.scratch import make, remove
from batchcast.settings import Settings
from batchcast.source import Source
from batchcast.zygote import Making


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFacts:
    """What is known of a source where it is not loaded.

    Attributes:
        samples: of an epoch; nothing where only its end tells.
        is_fed: whether it is gone through once per epoch, by a feeder.
        repeats: whether it can be gone through more than once.
        batch: samples of a batch of the loader that is shared, where it was told.
        batches: of an epoch, where the loader tells.
        pinned: whether the loader pinned its batches.
        draws: numbers that a private loader draws when its first loop begins, each later one, and
            each with its first batch.
        waits: whether a loader draws its order not before its first batch is asked for.
        hangs: whether its order hangs on PyTorch's generator, as that is then.
        told: what the attributes of a loader tell.
    """

    samples: int | None
    is_fed: bool
    repeats: bool
    batch: int | None
    batches: int | None
    pinned: bool
    draws: tuple[int, int, int] = (0, 0, 0)
    waits: bool = False
    hangs: bool = False
    told: Mapping[str, int] = field(default_factory=dict)


def facts_of(source: Source) -> SourceFacts:
    """What must be known of a source."""
    return SourceFacts(
        samples=source.samples,
        is_fed=source.samples_of is None,
        repeats=source.repeats,
        batch=source.batch,
        batches=source.batches,
        pinned=source.pinned,
        draws=source.draws,
        waits=source.waits,
        hangs=source.hangs,
        told=source.told,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """A stream that is to be served.

    Attributes:
        settings: what was asked for.
        facts: what is known of its source.
        parcel: a function that gives the source; nothing where a zygote is handed over.
        folder: for the sockets of a loader's own workers; nothing for a data set.
        cores: that its processes may use.
    """

    settings: Settings
    facts: SourceFacts
    parcel: Parcel | None
    folder: str | None
    cores: frozenset[int]


def serve(serving: Serving, descriptors: Sequence[int]) -> None:
    """Serve a stream.

    Args:
        serving: what there is to serve.
        descriptors: owner, listener, lock, and those of a parcel or that of a zygote.
    """
    owner, listener = (socket.socket(fileno=each) for each in descriptors[:2])
    settings, facts = serving.settings, serving.facts
    os.sched_setaffinity(0, serving.cores)
    try:
        renice(settings.nice)
        make(serving.folder)
    except BatchcastError as error:
        send(owner, Kind.REFUSED, as_text(error))
        return
    order = Order(
        samples=facts.samples,
        epochs=settings.epochs,
        shuffle=settings.shuffle,
        seed=settings.seed,
    )
    origin: Parcel | socket.socket
    if serving.parcel is None:
        origin = socket.socket(fileno=descriptors[3])
    else:
        origin = serving.parcel.arrived(descriptors[3:])
    Conductor(
        listener,
        owner,
        settings=settings,
        making=Making(
            origin=origin,
            folder=serving.folder,
            memory=settings.memory,
            lock=descriptors[2],
        ),
        order=order,
        restarts=facts.repeats,
    ).run()


def clear_away(name: str, folder: str, scratch: str | None) -> None:
    """Remove what a stream has left that ended, however it did."""
    clear(name, folder)
    remove(scratch)
