"""Forking a process that has one thread, which is the only safe way to fork.

A thread that is not there in the child may hold a lock there for ever, be it the allocator's, an
import's or one of PyTorch's. So nobody forks here who has more than one thread, and what a child
does not need of its parent it closes first.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn

_PR_SET_PDEATHSIG: Final = 1

ONE_THREAD: Final = dict.fromkeys(
    (
        "MKL_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
    ),
    "1",
)
"""Variables by which numerical libraries start no thread when they are loaded."""


def threads() -> int:
    """Threads of this process, those of C libraries too."""
    return sum(1 for _ in Path("/proc/self/task").iterdir())


def fork(run: Callable[[], None], *, forget: Callable[[], None], dies_with_us: int) -> int:
    """Run a function in a new process, which ends when it returns.

    Args:
        run: what it does.
        forget: closes, in the new process, what it has of this one's.
        dies_with_us: the signal that the kernel sends it when this process dies; 0 for none.

    Returns:
        The number of the process.
    """
    if threads() != 1:
        raise AssertionError("Only a process with one thread forks.")
    parent = os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if not pid:
        _live(run, forget, parent=parent, dies_with_us=dies_with_us)
    return pid


def _live(
    run: Callable[[], None], forget: Callable[[], None], *, parent: int, dies_with_us: int
) -> NoReturn:
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever asked for the process decides
        if dies_with_us:
            _die_with(parent, dies_with_us)
        forget()
        run()
        code = 0
    except BaseException:
        with suppress(OSError):
            traceback.print_exc()
    finally:
        for file in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # a full disk must not have it go on as its parent
                file.flush()
        os._exit(code)


def die_with_parents() -> None:
    """Have the kernel kill whatever this process forks when this process dies."""
    os.register_at_fork(after_in_child=lambda: _die_with(os.getppid(), signal.SIGKILL))


def _die_with(parent: int, number: int) -> None:
    """Have the kernel signal this process when its parent dies, which may have happened already."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os._exit(1)
