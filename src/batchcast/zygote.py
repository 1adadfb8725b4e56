"""The zygote: a process that has loaded the source, and from which workers are forked.

What it loaded is there once, however many workers there are, and a worker that died is replaced in
milliseconds. It has one thread, and does nothing but fork. Where the code of a source starts
threads as it is loaded, nobody is forked from it: every worker loads the source for itself then.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from batchcast.errors import BatchcastError, as_text, from_text
from batchcast.feeder import feed
from batchcast.forkserver.client import ForkServer, Process
from batchcast.forkserver.fork import die_with_parents, fork, threads
from batchcast.forkserver.parcel import Parcel
from batchcast.forkserver.server import Request, Server
from batchcast.messages import FROM_ZYGOTE, Kind, receive, send
from batchcast.scratch import use
from batchcast.source import Source, slot_within
from batchcast.worker import work


@dataclass(frozen=True, slots=True, kw_only=True)
class Making:
    """What makes samples.

    Attributes:
        origin: a parcel with a function that gives the source; or the connection to a zygote
            that somebody else has started.
        folder: for the sockets of a loader's own workers; nothing for a data set.
        memory: bytes that the arena may take.
        lock: of the stream's name, which the conductor alone keeps.
    """

    origin: Parcel | socket.socket
    folder: str | None
    memory: int
    lock: int

    def source(self) -> Source:
        """The source, made in this process.

        Raises:
            ArgumentError: it cannot be made here.
        """
        assert isinstance(self.origin, Parcel)
        try:
            source: Source = self.origin.unpacked()()
        finally:
            self.origin.close()
        return source


class Running(Protocol):
    """A process of ours."""

    def end(self) -> None:
        """Kill it and wait."""


@dataclass(frozen=True, slots=True)
class Forked:
    """A process that this one forked itself."""

    pid: int

    def end(self) -> None:
        """Kill it and wait."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


class Zygote:
    """The zygote, as the conductor sees it.

    Attributes:
        peer: it tells there how it went.
        is_ready: whether the source is loaded.

    Args:
        making: what it loads.
        forget: closes, in a new process, what belongs to this one.
    """

    def __init__(self, making: Making, *, forget: Callable[[], None]) -> None:
        self._making = making
        self._forget = forget
        self._forks = False
        self._process: Forked | None = None
        self.is_ready = False
        if isinstance(making.origin, Parcel):
            self.peer, self._process = self._fork(partial(_load_and_serve, making))
        else:
            self.peer = making.origin
        self._server = ForkServer(self.peer)

    def hear(self) -> None:
        """It is ready.

        Raises:
            BatchcastError: it is not, and why.
            ConnectionError: it died.
        """
        message = receive(self.peer, FROM_ZYGOTE)
        if message is None:
            raise ConnectionError("The process that loads the source died.")
        if message.kind is Kind.REFUSED:
            raise from_text(message.body)
        self.is_ready = True
        self._forks = message.first == 1

    def child(self) -> tuple[socket.socket, Running]:
        """A new worker or feeder, and the connection to it.

        Raises:
            ConnectionError: the zygote died.
        """
        if not self._forks:
            return self._fork(partial(_load_and_prepare, self._making))
        ours, theirs = _pair()
        with theirs:
            request = Request(body=b"", dies_with_us=signal.SIGKILL)
            process: Process = self._server.fork(request, [theirs.fileno()])
        return ours, process

    def end(self) -> None:
        """Kill it, and whatever was forked from it."""
        self.peer.close()
        if self._process is not None:
            self._process.end()

    def _fork(self, run: Callable[[socket.socket], None]) -> tuple[socket.socket, Forked]:
        ours, theirs = _pair()

        def forget() -> None:
            ours.close()
            os.close(self._making.lock)
            self._forget()

        with theirs:
            pid = fork(partial(run, theirs), forget=forget, dies_with_us=signal.SIGKILL)
        return ours, Forked(pid)


def _pair() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def serve_zygote(source: Source, peer: socket.socket, *, folder: str | None, memory: int) -> None:
    """Be the zygote of a source that is loaded: fork what the other end asks for.

    Args:
        source: what samples are made of.
        peer: the connection to the conductor.
        folder: for the sockets of a loader's own workers; nothing for a data set.
        memory: bytes that the arena may take.
    """
    use(folder)
    sized = replace(source, slot=slot_within(memory))
    send(peer, Kind.READY, first=threads())
    Server(peer, partial(_begin, sized)).run()


def _load_and_serve(making: Making, peer: socket.socket) -> None:
    source = _loaded(making, peer)
    if source is not None:
        serve_zygote(source, peer, folder=making.folder, memory=making.memory)


def _begin(source: Source, _: bytes, descriptors: Sequence[int]) -> None:
    with socket.socket(fileno=descriptors[0]) as peer:
        _prepare(source, peer)


def _load_and_prepare(making: Making, peer: socket.socket) -> None:
    use(making.folder)
    source = _loaded(making, peer)
    if source is not None:
        _prepare(replace(source, slot=slot_within(making.memory)), peer)


def _loaded(making: Making, peer: socket.socket) -> Source | None:
    """The source; nothing, once it is told, where it cannot be made."""
    try:
        return making.source()
    except BatchcastError as error:
        send(peer, Kind.REFUSED, as_text(error))
        return None


def _prepare(source: Source, peer: socket.socket) -> None:
    die_with_parents()  # a loader's own workers
    if source.samples_of is None:
        feed(peer, source)
    else:
        work(peer, source)
