"""The order of an epoch: the same at every node, cut into blocks that nodes deal out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretrain.errors import InputError

Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Which samples make up which block of which epoch.

    Attributes:
        samples: of the dataset.
        batch_size: samples per block; the last block of an epoch holds the rest.
        shuffle: whether every epoch has an order of its own.
        seed: of the orders.
    """

    samples: int
    batch_size: int
    shuffle: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.samples >= 1:
            raise InputError(f"the dataset has {self.samples} samples; it needs at least 1.")
        if not self.batch_size >= 1:
            raise InputError(f"batch_size must be at least 1, got {self.batch_size}.")

    @property
    def blocks(self) -> int:
        """Blocks of an epoch, the last perhaps short."""
        return -(-self.samples // self.batch_size)

    def ids(self, epoch: int) -> Ids:
        """Every sample's number once, in the order of that epoch."""
        if not self.shuffle:
            return np.arange(self.samples)
        return np.random.default_rng((self.seed, epoch)).permutation(self.samples)

    def cut(self, ids: Ids, block: int) -> Ids:
        """The numbers of one block."""
        return ids[block * self.batch_size : (block + 1) * self.batch_size]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What a node has had of an epoch.

    Attributes:
        samples: how many.
        checksum: of their numbers and their order, below 2^61.
    """

    samples: int = 0
    checksum: int = 0

    def with_block(self, ids: Ids) -> Tally:
        """The tally after one more block."""
        checksum = self.checksum
        for number in ids.tolist():
            checksum = (checksum * _BASE + number + 1) % _PRIME
        return Tally(samples=self.samples + len(ids), checksum=checksum)


_PRIME = 2**61 - 1
_BASE = 1_000_003
