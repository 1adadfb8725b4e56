"""Handing on: what a sample costs beside its preparing, measured on samples that cost nothing."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass
from time import process_time
from typing import Any, Final

from foretrain.run.members.machine import time_of_descendants
from foretrain.run.members.prepared import batch_of
from foretrain.run.stream.attach import attach
from foretrain.run.stream.share import share

BYTES: Final = 2**27
"""Of the samples that are handed on while it is measured."""

FEWEST: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How long measuring may take.

    Attributes:
        seconds: over which something is measured, once it is warm.
        most: samples that are handed on.
        tries: of which the least counts.
    """

    seconds: float = 0.4
    most: int = 8192
    tries: int = 2


EFFORT: Final = Effort()

WARM: Final = 4
"""One sample of so many goes before: the first ones touch memory that nobody has touched."""


class Blank:
    """Samples that take no time to prepare.

    Attributes:
        sample: all of them.
        count: how many there are.
    """

    def __init__(self, sample: Any, count: int) -> None:
        self.sample = sample
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, place: int) -> Any:
        return self.sample


def handing_costs(
    sample: Any, size: float, batch: int, *, effort: Effort = EFFORT
) -> dict[str, float]:
    """Core-seconds per sample of a stream, of one more reader, and of a batch put together.

    Args:
        sample: one as members get it.
        size: bytes of it.
        batch: samples of a step.
        effort: how long it may take.
    """
    count = int(min(effort.most, max(FEWEST, BYTES // max(1.0, size))))
    one, two = (_least(sample, count, batch, readers=n, tries=effort.tries) for n in (1, 2))
    deliver = max(0.0, two - one)
    return {
        "store": max(0.0, one - deliver),
        "deliver": deliver,
        "collate": _collated(sample, batch),
    }


def _least(sample: Any, count: int, batch: int, *, readers: int, tries: int) -> float:
    """The least of a few tries: whatever else goes on can only add to it."""
    return min(_streamed(sample, count, batch, readers=readers) for _ in range(tries))


def _streamed(sample: Any, count: int, batch: int, *, readers: int) -> float:
    """Core-seconds per sample of a stream that readers in this process read in turns."""
    name = f"foretrain-probe-{os.getpid()}"
    done, began, since = 0, 0.0, 0
    with ExitStack() as stack:
        stack.enter_context(share(Blank(sample, count), name=name, epochs=1))
        ends = [stack.enter_context(attach(name, batch_size=batch)) for _ in range(readers)]
        for _ in zip(*ends, strict=True):
            done += batch
            if done > count // WARM and not since:
                began, since = _cpu(), done
        return (_cpu() - began) / max(1, min(done, count) - since)


def _collated(sample: Any, batch: int) -> float:
    batch_of([sample] * batch)
    began = process_time()
    for _ in range(WARM):
        batch_of([sample] * batch)
    return (process_time() - began) / (WARM * batch)


def _cpu() -> float:
    """Core-seconds of this process and of those that it has started and that are still there."""
    return process_time() + time_of_descendants()
