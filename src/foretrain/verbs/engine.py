"""Engines: where a verb that asks the same of many items does its work."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from foretrain.errors import InputError
from foretrain.run.processes import Processes, processes


def engine(workers: int) -> AbstractContextManager[Processes | type[map]]:  # type: ignore[type-arg]
    """An engine of some processes; of this one alone where one is enough.

    Raises:
        InputError: fewer than one is asked for.
    """
    if workers < 1:
        raise InputError(f"workers: is {workers}; give 1 or more.")
    return nullcontext(map) if workers == 1 else processes(workers)
