"""The server: forks on request, signals and reaps what it forked, and ends after its client.

Between a process and whoever asked for it there is a line, a socket over which its number comes,
then its exit status, and in the other direction signals. A line that closes says that nobody wants
the process any more, so nothing outlives whoever asked for it.
"""

from __future__ import annotations

import array
import os
import pickle
import selectors
import signal
import socket
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from math import inf
from time import monotonic
from typing import Any, Final

from batchcast.forkserver.fork import fork

Begin = Callable[[bytes, Sequence[int]], None]
"""What a process does with the body of its request and the descriptors that came along."""

LONGEST: Final = 1 << 16
"""Bytes of a request."""

MOST_DESCRIPTORS: Final = 250
"""Of a request; the kernel takes 253."""

NUMBER: Final = struct.Struct("<q")
"""A process' number, its exit status, or a signal, on its line."""

_LOOK: Final = 0.25
"""Seconds between two looks whether the client lives, beside listening to its lines: somebody may
have inherited those from it."""

_ROOM: Final = socket.CMSG_SPACE(4 * (MOST_DESCRIPTORS + 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One process that is wanted; its line is the first descriptor that comes along.

    Attributes:
        body: what it is to do.
        leads: whether it leads a session, which is killed as a whole when it has ended.
        load: modules that the server imports first, so that they are imported once.
        after: what the server does when the process has ended, or nothing.
        dies_with_us: signal that it gets when the server dies; 0 for none.
        told: signal that it gets when its line is closed; 0 for none.
        patience: seconds from then on until it is killed; inf for never.
    """

    body: bytes
    leads: bool = False
    load: tuple[str, ...] = ()
    after: Callable[[], None] | None = None
    dies_with_us: int = 0
    told: int = 0
    patience: float = 0.0


@dataclass(slots=True)
class _Child:
    """A process that was forked."""

    pid: int
    request: Request
    line: socket.socket
    wanted: bool = True
    until: float = inf


class Server:
    """Serves one client.

    Args:
        client: the connection to it.
        begin: what every process does.
    """

    def __init__(self, client: socket.socket, begin: Begin) -> None:
        self._client: socket.socket | None = client
        self._begin = begin
        self._parent = os.getppid()
        self._children: dict[int, _Child] = {}
        self._selector = selectors.DefaultSelector()
        self._woken, self._wakes = socket.socketpair()
        for each in (self._woken, self._wakes):
            each.setblocking(False)

    def run(self) -> None:
        """Serve until the client is gone and all that was forked for it has ended."""
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wakes.fileno(), warn_on_full_buffer=False)
        assert self._client is not None
        self._selector.register(self._woken, selectors.EVENT_READ, lambda: self._woken.recv(4096))
        self._selector.register(self._client, selectors.EVENT_READ, self._hear)
        while not self._is_over():
            for key, _ in self._selector.select(_LOOK if self._children else None):
                key.data()
            if os.getppid() != self._parent:
                self._lose_client()
            self._reap()
            self._kill_the_late()

    def _is_over(self) -> bool:
        return self._client is None and not self._children

    def _hear(self) -> None:
        """One request, or the end of the client."""
        assert self._client is not None
        try:
            packet, ancillary, flags, _ = self._client.recvmsg(
                LONGEST, _ROOM, socket.MSG_CMSG_CLOEXEC
            )
        except ConnectionError:
            packet, ancillary, flags = b"", [], 0
        if not packet:
            self._lose_client()
            return
        line, *descriptors = _descriptors(ancillary)
        # The client made this process and alone has the other end, so a pickle is no risk.
        request: Request = pickle.loads(packet)
        if flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC):
            raise AssertionError("A request was cut.")
        self._fork(request, socket.socket(fileno=line), descriptors)

    def _fork(self, request: Request, line: socket.socket, descriptors: Sequence[int]) -> None:
        for name in request.load:
            import_module(name)

        def run() -> None:
            if request.leads:
                os.setsid()
            self._begin(request.body, descriptors)

        def forget() -> None:
            line.close()
            self._forget()

        try:
            pid = fork(run, forget=forget, dies_with_us=request.dies_with_us)
        except OSError:
            line.close()  # which tells the client that there is no process
            return
        finally:
            for each in descriptors:
                os.close(each)
        child = _Child(pid, request, line)
        self._children[pid] = child
        self._selector.register(line, selectors.EVENT_READ, lambda: self._obey(child))
        _tell(line, pid)

    def _obey(self, child: _Child) -> None:
        """A signal for a process, or the end of its line."""
        try:
            told = child.line.recv(NUMBER.size)
        except ConnectionError:
            told = b""
        if told:
            os.kill(child.pid, *NUMBER.unpack(told))
        else:
            self._unwanted(child)

    def _unwanted(self, child: _Child) -> None:
        """Nobody wants this process any more."""
        if child.wanted:
            child.wanted = False
            self._selector.unregister(child.line)
            child.until = monotonic() + child.request.patience
            if child.request.told:
                os.kill(child.pid, child.request.told)

    def _lose_client(self) -> None:
        if self._client is not None:
            self._selector.unregister(self._client)
            self._client.close()
            self._client = None
        if os.getppid() != self._parent:
            for child in self._children.values():
                self._unwanted(child)

    def _kill_the_late(self) -> None:
        for child in self._children.values():
            if child.until <= monotonic():
                if child.request.leads:
                    _kill_session(child.pid)
                os.kill(child.pid, signal.SIGKILL)  # it may not lead its session yet

    def _reap(self) -> None:
        """Whoever has ended leaves nothing behind."""
        for child in list(self._children.values()):
            # Its number, which is its session's too, is nobody else's until it is waited for.
            if os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                continue
            if child.request.leads:
                _kill_session(child.pid)
            _, status = os.waitpid(child.pid, 0)
            if child.request.after is not None:
                child.request.after()
            del self._children[child.pid]
            if child.wanted:
                self._selector.unregister(child.line)
            _tell(child.line, os.waitstatus_to_exitcode(status))
            child.line.close()

    def _forget(self) -> None:
        """Close, in a process that was forked, what belongs to the server."""
        self._selector.close()
        if self._client is not None:
            self._client.close()
        for each in (self._woken, self._wakes, *(child.line for child in self._children.values())):
            each.close()


def _kill_session(leader: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def _tell(line: socket.socket, number: int) -> None:
    with suppress(OSError):
        line.send(NUMBER.pack(number), socket.MSG_NOSIGNAL)


def _descriptors(ancillary: Sequence[tuple[int, int, Any]]) -> tuple[int, ...]:
    found = array.array("i")
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            found.frombytes(data[: len(data) - len(data) % found.itemsize])
    return tuple(found)
