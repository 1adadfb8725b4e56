"""The client's side: a fork server of this process' own, and the processes that it started."""

from __future__ import annotations

import atexit
import json
import os
import pickle
import resource
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from multiprocessing.util import spawnv_passfds
from threading import Lock
from time import monotonic
from typing import Any, Final
from weakref import WeakSet

from batchcast.errors import BatchcastError
from batchcast.forkserver.fork import ONE_THREAD
from batchcast.forkserver.parcel import check_not_importing_main
from batchcast.forkserver.server import LONGEST, NUMBER, Request

PRELOAD: Final = ("torch",)
"""What takes seconds to import, is imported once for all processes of a server."""

_PROGRAM: Final = """\
import json, os, sys
told = json.loads(sys.argv[2])
os.environ.update(told["environment"])
sys.path[:] = told["path"]
from batchcast.forkserver.program import main
main(int(sys.argv[1]), told)
"""

_RESOURCES: Final = tuple(
    getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")
)

_ours: WeakSet[socket.socket] = WeakSet()


class Process:
    """A process that a server forked for us.

    Attributes:
        status: its exit code, or minus the signal that ended it; nothing before its end, or where
            the server died with it.
    """

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._pid: int | None = None
        self._is_over = False
        self.status: int | None = None
        closed_after_fork(line)

    @property
    def pid(self) -> int:
        """Its number.

        Raises:
            BatchcastError: it was never started.
        """
        if self._pid is None:
            self._pid = self._told(inf)
        if self._pid is None:
            raise BatchcastError("A process could not be started: its fork server ended.")
        return self._pid

    def fileno(self) -> int:
        """What can be waited for, once its number is known."""
        return self._line.fileno()

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it is still there."""
        with suppress(OSError):
            self._line.send(NUMBER.pack(number), socket.MSG_NOSIGNAL)

    def wait(self, timeout: float = inf) -> bool:
        """Whether it ends within so many seconds; what it left is gone then, too."""
        until = monotonic() + timeout
        while not self._is_over:
            try:
                told = self._told(max(0.0, until - monotonic()))
            except TimeoutError:
                return False
            if self._pid is None and told is not None:
                self._pid = told
                continue
            self.status = told
            self._is_over = True
        return True

    def end(self) -> None:
        """Kill it and wait."""
        self.send_signal(signal.SIGKILL)
        self.wait()
        self.close()

    def close(self) -> None:
        """Leave it: it is not wanted any more."""
        self._line.close()

    def _told(self, timeout: float) -> int | None:
        """What the server says next; nothing where it is gone."""
        try:
            self._line.settimeout(None if timeout == inf else max(timeout, 1e-6))
            told = self._line.recv(NUMBER.size)
        except TimeoutError:
            raise
        except OSError:
            return None
        return int(NUMBER.unpack(told)[0]) if told else None


@dataclass(frozen=True, slots=True)
class ForkServer:
    """A server, as its client sees it.

    Attributes:
        peer: the connection to it.
        pid: its number; 0 where somebody else waits for its end.
    """

    peer: socket.socket
    pid: int = 0

    def fork(self, request: Request, descriptors: Sequence[int]) -> Process:
        """A process that does what is requested with these descriptors.

        Raises:
            ConnectionError: the server has died.
        """
        packet = pickle.dumps(request)
        if len(packet) > LONGEST:
            raise AssertionError(f"A request of {len(packet)} bytes is too long.")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                socket.send_fds(self.peer, [packet], [theirs.fileno(), *descriptors])
            except BaseException:
                ours.close()
                raise
        return Process(ours)


def start(
    run: Callable[[Sequence[int]], None],
    descriptors: Sequence[int],
    *,
    load: Sequence[str] = (),
    **asked: Any,
) -> Process:
    """A clean process that runs a function of a module, from this process' own server.

    Args:
        run: gets the descriptors; a function of ours, or `partial` of one, that pickles in few
            bytes.
        descriptors: that it inherits; it has no other but those of input, output and errors.
        load: modules that the server imports before, besides that of the function.
        asked: fields of `Request`.
    """
    modules = (getattr(run, "func", run).__module__, *load)
    request = Request(body=pickle.dumps(run), load=modules, **asked)
    with suppress(ConnectionError):
        return _server().fork(request, descriptors)
    _servers.forget()
    return _server().fork(request, descriptors)


def closed_after_fork(peer: socket.socket) -> None:
    """Close this connection in every process that is forked from this one from here on."""
    _ours.add(peer)


@dataclass(slots=True)
class _Servers:
    """The server of this process, and what it was started under.

    A process that changes its user or its limits gets another server: processes must not have
    rights that the one that asks for them has given up.
    """

    lock: Lock = field(default_factory=Lock)
    server: ForkServer | None = None
    rights: object = None
    former: list[int] = field(default_factory=list)

    def forget(self) -> None:
        """The server is of no use any more; it ends after what it started."""
        if self.server is not None:
            self.server.peer.close()
            self.former.append(self.server.pid)
        self.server = None
        self.former = [pid for pid in self.former if not _has_ended(pid)]


def _has_ended(pid: int) -> bool:
    """Whether a process that this one started has ended; it is forgotten then."""
    try:
        return os.waitpid(pid, os.WNOHANG) != (0, 0)
    except ChildProcessError:
        return True


_servers = _Servers()


def _server() -> ForkServer:
    check_not_importing_main()
    rights = (
        os.getresuid(),
        os.getresgid(),
        os.getgroups(),
        [resource.getrlimit(each) for each in _RESOURCES],
        os.getpriority(os.PRIO_PROCESS, 0),
    )
    with _servers.lock:
        if _servers.server is None or _servers.rights != rights:
            _servers.forget()
            _servers.server, _servers.rights = _spawned(), rights
        return _servers.server


def _spawned() -> ForkServer:
    """A new server, which will not be forked from this process but started anew."""
    if not sys.executable:
        raise BatchcastError(
            "Processes cannot be started from here: Python does not know where its interpreter "
            "is (sys.executable is empty)."
        )
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    told = {"path": list(map(str, sys.path)), "environment": ONE_THREAD, "preload": PRELOAD}
    program = [sys.executable, *_flags(), "-c", _PROGRAM, str(theirs.fileno()), json.dumps(told)]
    with theirs:
        pid = spawnv_passfds(os.fsencode(sys.executable), program, [theirs.fileno()])
    closed_after_fork(ours)
    return ForkServer(ours, pid)


def _flags() -> list[str]:
    """Options with which this interpreter was started."""
    from subprocess import _args_from_interpreter_flags  # type: ignore[attr-defined]

    flags: list[str] = _args_from_interpreter_flags()
    return flags


def _after_fork() -> None:
    """A forked process has no part in what its parent started."""
    global _servers  # noqa: PLW0603 - a lock of the parent may be held for ever
    for each in list(_ours):
        each.close()
    _ours.clear()
    _servers = _Servers()


def close() -> None:
    """The server ends after what it started has ended."""
    if _servers.server is not None:
        _servers.server.peer.close()


os.register_at_fork(after_in_child=_after_fork)
atexit.register(close)
