"""Processes of other users, as only root can start them."""

import ctypes
import os
import stat
import struct
import sys
from functools import partial
from pathlib import Path

import pytest

from batchcast.forkserver.client import start
from foretrain.ensemble.run.home import apart

ALICE, BOB = 64_101, 64_102
"""Users that no machine has."""

PR_SET_KEEPCAPS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 8, 47, 2
CAP_DAC_READ_SEARCH = 2
CAPABILITIES_VERSION = 0x20080522


def needs_root():
    """Skip with the reason where other users cannot be played; a failure where CI is set."""
    if os.geteuid() != 0:
        reason = "plays other users, which takes root"
        if os.environ.get("CI"):
            pytest.fail(f"CI must have it: {reason}", pytrace=False)
        pytest.skip(reason, allow_module_level=True)


def as_user(user, function, *arguments, starts=False, hands=None):
    """What a function returns in a process of that user; `OSError` comes back as its name.

    A descriptor that it `hands` over is its last argument.

    With `starts` it may start Python, wherever that lies: where root has it in a folder of its
    own, the process may read all files, as a member of the right group might.
    """
    reads = starts and not _is_open(Path(sys.base_prefix))
    become = partial(_become, user, reads, function, arguments)

    def started(run, descriptors):
        given = [] if hands is None else [hands]
        return start(partial(_handed, run), [*descriptors, *given])

    return apart(become, what=function.__name__, starts=started)


_given = []


def _handed(run, descriptors):
    own, *_given[:] = descriptors
    run([own])


def _is_open(path):
    return all(each.stat().st_mode & stat.S_IXOTH for each in (path, *path.parents))


def _become(user, reads, function, arguments):
    os.environ.pop("XDG_RUNTIME_DIR", None)
    os.setgroups([])
    os.setresgid(user, user, user)
    library = ctypes.CDLL(None, use_errno=True)
    library.prctl(PR_SET_KEEPCAPS, int(reads))
    os.setresuid(user, user, user)
    if reads:
        kept = [1 << CAP_DAC_READ_SEARCH] * 3
        library.capset(
            struct.pack("<Ii", CAPABILITIES_VERSION, 0), struct.pack("<6I", *kept, 0, 0, 0)
        )
        library.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_READ_SEARCH, 0, 0)
    try:
        return function(*arguments, *_given)
    except OSError as error:
        return type(error).__name__
