"""The heaps of processes that decode and train: memory that is used again is not given back.

glibc returns large blocks to the kernel when they are freed, and the kernel clears them page by
page when they are wanted again, for every sample. Kept blocks made decoding a third cheaper (2.9
processor milliseconds per sample before, 2.0 after, on two cores under load). A process keeps at
most its peak. New threads share one heap: glibc would give each its own, in pieces of 64 MiB that
go back as soon as they are empty, which cost nodes that exchange blocks of 4 MiB 4 to 10 % of their
rate. (In a process that was forked from one with threads, a thread may still get a heap that one of
those left behind.)

A process that trains keeps what it would have kept with a loader of its own. There, glibc learns
from the first batch that is freed that blocks of that size come and go, and gives blocks below it
back no more. Batches that lie in the arena are never freed, so it would clear the pages of every
activation anew in every step: 400 page faults a step where a private loader has 80, and a seventh
of a reader's processor time, on the network of the benchmark.
"""

from __future__ import annotations

import ctypes

import numpy as np

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""Numbers of the parameters in glibc's malloc.h."""

_KEPT = 256 << 20
"""Bytes of free memory at the top of the heap that are kept."""

_LARGEST = 32 << 20
"""Bytes of the largest block that comes from the heap; glibc allows no more."""


def keep_memory() -> None:
    """Keep freed memory for the next sample, where the C library can be told so."""
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(_TRIM_THRESHOLD, _KEPT)
        library.mallopt(_MMAP_THRESHOLD, _LARGEST)
        library.mallopt(_ARENA_MAX, 1)


def learn_size_of(batch: int) -> None:
    """Free a block of so many bytes once, untouched, so that the C library takes them for usual.

    It heeds this only up to 32 MiB, and not at all where the user has set its thresholds.
    """
    block = np.empty(min(batch, _LARGEST - (1 << 16)), np.uint8)
    del block
