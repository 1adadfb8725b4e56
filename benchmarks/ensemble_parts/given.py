"""What a reader was given: counted and summed up, so that what is lost or doubled shows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class Epoch:
    """What one reader got in one epoch.

    Attributes:
        samples: how many.
        checksum: of their numbers, in any order.
        wrong: pictures, of those that were looked at, that were not what their number says.
    """

    samples: int
    checksum: int
    wrong: int = 0


def whole(count: int) -> Epoch:
    """An epoch in which every picture came once."""
    return Epoch(samples=count, checksum=checksum(np.arange(count)))


def checksum(numbers: NDArray[np.int64]) -> int:
    """A sum of scrambled numbers: the same in any order, another one if one is lost or doubled."""
    mixed = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    return int((mixed * np.uint64(0xBF58476D1CE4E5B9)).sum(dtype=np.uint64))
