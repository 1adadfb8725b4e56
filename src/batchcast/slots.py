"""Slots of the arena: which are free, and who still needs which.

A slot is given to a sequence number, written once, and free again when every reader that it was
held for has released it. Any slot may be released in any order, so a batch that somebody keeps
pins its own slots only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]


class Slots:
    """The state of all slots, in one process.

    Attributes:
        count: of slots.
        free: how many are free.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.free = count
        self._next = 0
        self._is_free = np.ones(count, bool)
        self._unwritten = np.zeros(count, bool)
        self._holders = np.zeros(count, np.int32)
        self._lent = np.zeros(count, np.int32)
        self._held: dict[int, NDArray[np.int32]] = {}
        self._borrowed: dict[int, NDArray[np.int32]] = {}

    def lent_with(self, slots: Numbers) -> int:
        """Slots that readers may use where they lie, if these were lent too."""
        return int(np.count_nonzero(self._lent)) + int(np.count_nonzero(self._lent[slots] == 0))

    def join(self, reader: int) -> None:
        """From now on this reader may hold slots."""
        self._held[reader] = np.zeros(self.count, np.int32)
        self._borrowed[reader] = np.zeros(self.count, np.int32)

    def leave(self, reader: int) -> Numbers:
        """Release whatever the reader holds, and forget it; what is free now is returned."""
        freed = self.keep(reader, np.zeros(0, np.int64))
        del self._held[reader], self._borrowed[reader]
        return freed

    def keep(self, reader: int, slots: Numbers) -> Numbers:
        """Release whatever the reader holds but these slots; what is free now is returned."""
        kept = np.bincount(slots, minlength=self.count).astype(np.int32)
        held, borrowed = self._held[reader], self._borrowed[reader]
        self._held[reader] = np.minimum(held, kept)
        self._borrowed[reader] = np.minimum(borrowed, kept)
        self._holders -= held - self._held[reader]
        self._lent -= borrowed - self._borrowed[reader]
        return self._freed(np.flatnonzero(held))

    def held_by(self, reader: int) -> Numbers:
        """The slots that a reader holds, each as often as it does."""
        held = self._held[reader]
        return np.repeat(np.arange(self.count), held)

    def take(self, most: int, *, skip: bool) -> Numbers:
        """Up to so many free slots that lie side by side, next to those taken before. [slot]

        Args:
            most: how many are wanted.
            skip: pass over slots that are still held, at the price of a gap in the order.
        """
        if skip and self.free and not self._is_free[self._next]:
            after = np.flatnonzero(self._is_free[self._next :])
            first = self._next + after[0] if len(after) else np.flatnonzero(self._is_free)[0]
            self._next = int(first)
        run = self._is_free[self._next : self._next + most]
        length = len(run) if run.all() else int(np.argmin(run))
        taken = np.arange(self._next, self._next + length)
        self._is_free[taken] = False
        self._unwritten[taken] = True
        self.free -= length
        self._next = (self._next + length) % self.count
        return taken

    def untaken(self, slots: Numbers) -> None:
        """Slots that were taken side by side are not written; what follows begins there again."""
        if len(slots) and (int(slots[-1]) + 1) % self.count == self._next:
            self._next = int(slots[0])

    def hold(self, reader: int, slots: Numbers) -> None:
        """The reader will need these slots, once more if it holds them already."""
        self._held[reader][slots] += 1
        self._holders[slots] += 1

    def written(self, slots: Numbers) -> Numbers:
        """These slots hold their samples now; those that nobody needs are free, and returned."""
        self._unwritten[slots] = False
        return self._freed(slots)

    def lend(self, reader: int, slots: Numbers) -> None:
        """The reader may use these slots, which it holds, where they lie."""
        self._borrowed[reader][slots] += 1
        self._lent[slots] += 1

    def release(self, reader: int, slots: Numbers) -> Numbers:
        """The reader needs these slots no more; those that are free now are returned. [slot]"""
        held, borrowed = self._held[reader], self._borrowed[reader]
        slots = slots[held[slots] > 0]
        held[slots] -= 1
        self._holders[slots] -= 1
        back = slots[borrowed[slots] > held[slots]]
        borrowed[back] -= 1
        self._lent[back] -= 1
        return self._freed(slots)

    def _freed(self, slots: Numbers) -> Numbers:
        idle: Numbers = slots[
            (self._holders[slots] == 0) & ~self._unwritten[slots] & ~self._is_free[slots]
        ]
        self._is_free[idle] = True
        self.free += len(idle)
        return idle
