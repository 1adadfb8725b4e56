"""Forked processes that talk to the process that forked them, and never outlive it.

Whoever holds an end of a connection open keeps it alive, so a process that is forked closes every
end that is not its own: then the death of one process is seen at once by its peers.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from weakref import WeakSet

from foretrain.run.stream.precedence import go_first

_PR_SET_PDEATHSIG = 1
_OURS: WeakSet[socket.socket] = WeakSet()


@dataclass(frozen=True, slots=True)
class Forked:
    """A process of ours.

    Attributes:
        pid: of the process.
        peer: the connection to it.
    """

    pid: int
    peer: socket.socket

    def reap(self) -> None:
        """Wait for its end, so that it does not stay behind as a zombie."""
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)

    def end(self) -> None:
        """Kill it and wait."""
        self.peer.close()
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self.reap()


def fork(
    run: Callable[[socket.socket], None], *, close: Iterable[socket.socket], dies_with_us: bool
) -> Forked:
    """Run a function in a new process, with a connection to this one.

    Args:
        run: gets its end of the connection; the process ends when it returns.
        close: connections of this process that the new one must not keep open.
        dies_with_us: whether the kernel kills it when the thread that forked it ends.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    parent = os.getpid() if dies_with_us else None
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        # The child of a process with threads uses none of their locks: it only runs `run`.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid:
        theirs.close()
        return Forked(pid, ours)
    _live(run, theirs, close=[*close, ours], parent=parent)
    raise AssertionError("A forked process ends in its own function.")


def closed_after_fork(peer: socket.socket) -> None:
    """Close this connection in every process that is forked from here on."""
    _OURS.add(peer)


def _live(
    run: Callable[[socket.socket], None],
    peer: socket.socket,
    *,
    close: Iterable[socket.socket],
    parent: int | None,
) -> None:
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever shares the stream decides
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if parent is not None:
            _die_with(parent)
            os.register_at_fork(after_in_child=_die_with_parent)  # a loader's own workers
        for each in close:
            each.close()
        go_first()
        run(peer)
        code = 0
    except Exception:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _die_with_parent() -> None:
    _die_with(os.getppid())


def _die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent dies, which may have happened already."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _close_ours() -> None:
    for each in list(_OURS):
        each.close()
    _OURS.clear()


os.register_at_fork(after_in_child=_close_ours)
