"""The books of an epoch: how many samples, and a checksum that tells which ones.

The checksum is the sum of the scattered sample ids, so it does not depend on their order: a sample
that is lost, doubled or swapped for another changes it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from batchcast.order import mixed_all

_ALL = (1 << 64) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """What of one epoch went to one reader.

    Attributes:
        count: samples.
        checksum: of their ids, below 2^64.
    """

    count: int = 0
    checksum: int = 0

    def __add__(self, other: Ledger) -> Ledger:
        return Ledger(
            count=self.count + other.count, checksum=(self.checksum + other.checksum) & _ALL
        )

    def __sub__(self, other: Ledger) -> Ledger:
        return Ledger(
            count=self.count - other.count, checksum=(self.checksum - other.checksum) & _ALL
        )


def ledger_of(ids: NDArray[np.int64]) -> Ledger:
    """The ledger of these sample ids."""
    checksum = int(mixed_all(ids).sum(dtype=np.uint64)) if len(ids) else 0
    return Ledger(count=len(ids), checksum=checksum)
