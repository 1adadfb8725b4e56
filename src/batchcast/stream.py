"""Share a data set or a loader with every process of this machine that attaches to it."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from functools import partial
from types import TracebackType
from typing import Any

from batchcast.addresses import listen
from batchcast.errors import (
    ArgumentError,
    BatchcastError,
    ProducerLost,
    from_text,
    require_linux,
    require_torch,
)
from batchcast.forkserver.client import Process, closed_after_fork, start
from batchcast.forkserver.parcel import Parcel, packed
from batchcast.messages import TO_OWNER, Kind, Message, receive, send
from batchcast.scratch import remove, scratch
from batchcast.serve import Serving, SourceFacts, clear_away, facts_of, serve
from batchcast.settings import Settings
from batchcast.size import byte_count
from batchcast.source import SEED, Given, Transform, source_of

MEMORY = "128 MiB"
"""Of the arena, where nothing else is asked for: some batches of pictures for each of a few
members, and little enough that most of it stays near the cores."""


Origin = Callable[[str | None], "Parcel | socket.socket"]
"""Where a stream's source comes from: given a folder for the sockets of a loader's own workers, a
parcel with a function that makes the source, or the connection to a zygote that has it."""

PATIENCE = 300.0
"""Seconds to wait for further readers, where nothing else is asked for."""


def share(
    source: Any,
    *,
    name: str,
    workers: int = 1,
    shared: Transform | None = None,
    shuffle: bool | None = None,
    seed: int | None = None,
    epochs: int | None = None,
    readers: int = 1,
    patience: float = PATIENCE,
    memory: str | int = MEMORY,
    yields: str | None = None,
    longest: int | None = None,
    on_error: str = "raise",
    nice: int = 0,
) -> Stream:
    """Share the samples of a source under a name; returns when the stream can be attached to.

    The samples are prepared once, by processes of the stream's own, and every reader gets all of
    them in the same order. What they are depends on seeds alone: neither on the number of
    workers or readers, nor on who is how fast or dies when.

    Args:
        source: a data set with `len` and an index, read by workers; or a DataLoader, an
            IterableDataset or any other iterable, gone through once per epoch by a feeder.
        name: of the stream on this machine.
        workers: processes that read and transform; a loader brings its own.
        shared: what every sample goes through once, for all members; a loader has its own.
        shuffle: whether every epoch has an order of its own; a data set's default is yes, and a
            loader has its own order.
        seed: that orders and random transforms are drawn from; 0 where nothing is given. Then a
            loader that shuffles has, in each epoch, the order that a loader of their own would give
            readers that have seeded PyTorch alike and drawn alike.
        epochs: that every reader gets; nothing for as many as they like.
        readers: that must be attached before the first sample is prepared.
        patience: seconds to wait for the rest of them once one is attached; then the stream begins
            with those that are there, and `stats()["absent"]` counts the others, who may come late.
        memory: bound on the arena, as text with a unit or in bytes.
        yields: what the items of an iterable are, where its type does not tell: "samples";
            "batches", handed on as they are; or "stacks", batches that can be cut because every
            field holds its samples along the first dimension.
        longest: bytes of the longest field that varies from sample to sample in shape or length;
            nothing for twice the longest of the first samples that are looked at.
        on_error: "raise" ends the stream when a sample cannot be prepared, "skip" passes over it
            and counts it.
        nice: added to the niceness of the stream's processes; below 0, which takes a privilege,
            they go ahead of the readers where processors are short.

    Raises:
        ArgumentError: an argument cannot be used, or the arena does not fit this machine.
        StreamTaken: a stream of that name runs already.
        SampleFailed: the first samples could not be prepared.
        MissingPackage: PyTorch is not installed.
        OtherSystem: this is not Linux.
    """
    require_linux(what="share(...)")
    require_torch(what="share(...)")
    prepared = source_of(source, shared=shared, seed=seed or 0, longest=longest, yields=yields)
    return serve_source(
        lambda _: packed(Given(prepared), what="What share(...) was given"),
        facts_of(prepared),
        name=name,
        workers=workers,
        shuffle=shuffle,
        seed=seed,
        epochs=epochs,
        readers=readers,
        patience=patience,
        memory=memory,
        on_error=on_error,
        nice=nice,
    )


def serve_source(
    origin: Origin,
    facts: SourceFacts,
    *,
    name: str,
    workers: int = 1,
    shuffle: bool | None = None,
    seed: int | None = None,
    epochs: int | None = None,
    readers: int = 1,
    patience: float = PATIENCE,
    memory: str | int = MEMORY,
    on_error: str = "raise",
    nice: int = 0,
) -> Stream:
    """Share a source that this process need not have.

    Args:
        origin: where the stream gets it.
        facts: what is known of it.
        name: of the stream on this machine.
        workers: processes that read and transform a data set.
        shuffle: whether every epoch has an order of its own; only for a data set.
        seed: that orders and random transforms are drawn from; nothing for 0, unless readers of a
            loader draw its orders.
        epochs: that every reader gets; nothing for as many as they like.
        readers: that must be attached before the first sample is prepared.
        patience: seconds to wait for the rest of them once one is attached.
        memory: bound on the arena, as text with a unit or in bytes.
        on_error: "raise" or "skip".
        nice: added to the niceness of the stream's processes.

    Raises:
        ArgumentError: an argument cannot be used, or the arena does not fit this machine.
        StreamTaken: a stream of that name runs already.
        SampleFailed: the first samples could not be prepared.
    """
    if facts.is_fed and shuffle is not None:
        raise ArgumentError("shuffle=... is for data sets; a loader has an order of its own.")
    shuffles = not facts.is_fed and shuffle is not False
    settings = Settings(
        name=name,
        readers=readers,
        patience=patience,
        workers=1 if facts.is_fed else workers,
        epochs=epochs,
        shuffle=shuffles,
        seed=seed or 0,
        memory=byte_count(memory),
        on_error=on_error,
        batch=facts.batch,
        batches=facts.batches,
        pinned=facts.pinned,
        draws=facts.draws if facts.is_fed else (*(SEED * (1 + shuffles),) * 2, 0),
        waits=facts.waits,
        follows=facts.hangs and seed is None,
        may_follow=seed is None,
        told=facts.told,
        nice=nice,
    )
    return Stream(settings, origin, facts)


class Stream:
    """A stream that runs, for the process that shares it.

    Attributes:
        name: of the stream.
        sample_bytes: of a sample in the arena.
        slots: samples that the arena can hold.

    Args:
        settings: what was asked for.
        origin: where the source comes from.
        facts: what is known of it.
    """

    def __init__(self, settings: Settings, origin: Origin, facts: SourceFacts) -> None:
        self.name = settings.name
        self._peer, self._process = _started(settings, origin, facts)
        self._is_finished = False
        self._failure: BatchcastError | None = None
        try:
            told: Any = self._hear(Kind.READY).json()
        except BaseException:
            self.close()
            raise
        self.sample_bytes: int = told["sample_bytes"]
        self.slots: int = told["slots"]

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_process"):
            self.close()

    @property
    def pid(self) -> int | None:
        """Of the conductor's process; nothing after the stream was closed."""
        return self._process.pid if self._is_open else None

    def wait(self, timeout: float | None = None) -> bool:
        """Whether, within so many seconds, every reader has had every epoch or is gone.

        Raises:
            ProducerLost: the conductor died.
            SampleFailed: a sample could not be prepared.
        """
        if self._failure is not None:
            raise self._failure
        if not self._is_finished:
            peer = self._running()
            peer.settimeout(timeout)
            try:
                self._hear(Kind.FINISHED)
            except TimeoutError:
                return False
            finally:
                peer.settimeout(None)
            self._is_finished = True
        return True

    def expect(self, readers: int) -> None:
        """Begin with so many readers, for others that were announced will not come."""
        send(self._running(), Kind.EXPECT, first=readers)

    def stats(self) -> dict[str, Any]:
        """How the stream and every reader are doing: counts, seconds, and fractions for fill."""
        send(self._running(), Kind.STATS)
        facts: dict[str, Any] = json.loads(self._hear(Kind.STATS).body)
        return facts

    def close(self) -> None:
        """Stop the stream; readers that are still attached raise `ProducerLost`."""
        if self._is_open:
            with suppress(OSError):
                send(self._peer, Kind.STOP)
            self._peer.close()
            self._process.wait()
            self._process.close()

    @property
    def _is_open(self) -> bool:
        return self._peer.fileno() >= 0

    def _running(self) -> socket.socket:
        if not self._is_open:
            raise ProducerLost(f"The stream '{self.name}' was closed.")
        return self._peer

    def _hear(self, kind: Kind) -> Message:
        """The next packet of a kind; an end that comes before it is remembered."""
        peer = self._running()
        while (message := receive(peer, TO_OWNER)) is not None:
            if message.kind is Kind.REFUSED:
                self._failure = from_text(message.body)
                raise self._failure
            if message.kind is Kind.FINISHED:
                self._is_finished = True
            if message.kind is kind:
                return message
        raise ProducerLost(f"The process that serves the stream '{self.name}' died.")


def _started(
    settings: Settings, origin: Origin, facts: SourceFacts
) -> tuple[socket.socket, Process]:
    """The conductor's process, and the connection to it."""
    folder = scratch() if facts.is_fed else None
    with ExitStack() as undo, ExitStack() as handed:
        undo.callback(remove, folder)
        source = handed.enter_context(closing(origin(folder)))
        address = handed.enter_context(closing(listen(settings.name)))
        undo.callback(clear_away, settings.name, address.folder, folder)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        undo.callback(ours.close)
        handed.enter_context(theirs)
        parcel = source if isinstance(source, Parcel) else None
        own = (source.fileno(),) if isinstance(source, socket.socket) else source.descriptors
        serving = Serving(
            settings=settings,
            facts=facts,
            parcel=parcel,
            folder=folder,
            cores=frozenset(os.sched_getaffinity(0)),
        )
        process = start(
            partial(serve, serving),
            (theirs.fileno(), address.listener.fileno(), address.lock, *own),
            leads=True,
            after=partial(clear_away, settings.name, address.folder, folder),
        )
        undo.pop_all()
    closed_after_fork(ours)
    return ours, process
