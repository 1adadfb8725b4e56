"""quiet: what libraries write past Python goes beside the answer, not into it."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

OUTPUT, ERRORS = 1, 2
"""Standard output, which the answer has to itself, and standard error."""


@contextmanager
def beside_the_answer() -> Iterator[None]:
    """Let standard output be standard error, for C libraries too.

    HiGHS, which solves Sia's program, writes a line of its own on some problems, asked or not.
    """
    if os.name != "posix":
        yield
        return
    libc = ctypes.CDLL(None)
    libc.fflush(None)
    kept = os.dup(OUTPUT)
    os.dup2(ERRORS, OUTPUT)
    try:
        yield
    finally:
        libc.fflush(None)  # or it would come out once the answer is there
        os.dup2(kept, OUTPUT)
        os.close(kept)
