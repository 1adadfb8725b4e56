"""Processes: the same function for many items, on several cores.

Engines: where a verb that asks the same of many items does its work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TypeVar

from foretrain.errors import ForetrainError, InputError

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
    ) -> Iterator[Answer]:
        """The function of every item, in their order; neighbours stay together.

        Raises:
            ForetrainError: a process was ended from outside.
        """
        together = max(1, len(items) // (self.workers * TURNS))
        try:
            yield from self.pool.map(function, items, chunksize=together)
        except BrokenProcessPool as error:
            raise ForetrainError(
                "a worker process was ended from outside; the machine may have run out of memory."
                " Ask for fewer with --workers."
            ) from error


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


def engine(workers: int) -> AbstractContextManager[Processes | type[map]]:  # type: ignore[type-arg]
    """An engine of some processes; of this one alone where one is enough.

    Raises:
        InputError: fewer than one is asked for.
    """
    if workers < 1:
        raise InputError(f"workers: is {workers}; give 1 or more.")
    return nullcontext(map) if workers == 1 else processes(workers)
