"""Processes: the same function for many items, on several cores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")

TURNS = 8
"""Pieces of work for each process, so that all end at about the same time."""


@dataclass(frozen=True, slots=True)
class Processes:
    """An engine that spreads items over processes.

    Attributes:
        pool: of the processes.
        workers: how many there are.
    """

    pool: ProcessPoolExecutor
    workers: int

    def __call__(
        self, function: Callable[[Item], Answer], items: Sequence[Item], /
    ) -> Iterable[Answer]:
        """The function of every item, in their order; neighbours stay together."""
        together = max(1, len(items) // (self.workers * TURNS))
        return self.pool.map(function, items, chunksize=together)


@contextmanager
def processes(workers: int) -> Iterator[Processes]:
    """Processes that live as long as the context; they are started afresh on every system.

    Args:
        workers: how many, at least 1.
    """
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        try:
            yield Processes(pool, workers)
        finally:
            pool.shutdown(cancel_futures=True)
