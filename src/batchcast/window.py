"""The live part of a stream: which sequence numbers lie in the arena, and where.

```
      tail            published             head
 freed │ ready to read │ being prepared      │ not begun
```
"""

from __future__ import annotations

import numpy as np

from batchcast.slots import Numbers

SKIPPED = -1
"""In place of a slot: the sample could not be prepared, and readers pass over it."""


class SlotWindow:
    """Sequence numbers and their slots, between the oldest that is whole and the newest.

    Attributes:
        head: the next number to be prepared.
        published: every number below it is prepared.
        tail: every number from here to the head still lies in the arena.
    """

    def __init__(self, slots: int, *, first: int) -> None:
        self.head = self.published = self.tail = first
        self._size = slots
        self._slot_of = np.full(slots, SKIPPED, np.int64)
        self._prepared = np.zeros(slots, bool)
        self._number_of = np.full(slots, -1, np.int64)

    def append(self, slots: Numbers) -> int:
        """These slots get the next numbers, the first of which is returned."""
        first = self.head
        numbers = np.arange(first, first + len(slots))
        self._slot_of[numbers % self._size] = slots
        self._prepared[numbers % self._size] = False
        self._number_of[slots] = numbers
        self.head += len(slots)
        return first

    def withdraw(self, first: int) -> Numbers:
        """The numbers from here on are begun no more; the slots that they had. [slot]"""
        slots = held(self.slots(first, self.head))
        self._number_of[slots] = -1
        self.head = first
        return slots

    def pass_over(self, number: int) -> None:
        """Go on at this number; nothing is in work, and nobody wants what lies before it."""
        self.head = self.published = self.tail = number

    def privately(self, slots: Numbers) -> None:
        """These slots hold numbers for one reader only, outside the window."""
        self._number_of[slots] = -1

    def prepared(self, first: int, count: int, *, failed: Numbers) -> None:
        """So many numbers are prepared, but for those at these offsets."""
        self._prepared[np.arange(first, first + count) % self._size] = True
        self._slot_of[(first + failed) % self._size] = SKIPPED
        if first != self.published:
            return
        ahead = self._prepared[np.arange(self.published, self.head) % self._size]
        self.published += len(ahead) if ahead.all() else int(np.argmin(ahead))

    def slots(self, first: int, end: int) -> Numbers:
        """Where these numbers lie, or `SKIPPED`. [number]"""
        return self._slot_of[np.arange(first, end) % self._size]

    def freed(self, slots: Numbers) -> None:
        """These slots are free now, so their numbers are gone."""
        if len(slots):
            self.tail = max(self.tail, int(self._number_of[slots].max()) + 1)

    def room(self, slowest: int) -> int:
        """Numbers that may still be begun while this one is not read yet.

        One that is not prepared yet counts too, even if nobody will read it.
        """
        return self._size - (self.head - min(slowest, self.published))


def held(slots: Numbers) -> Numbers:
    """Those of these slots that hold a sample. [slot]"""
    found: Numbers = slots[slots != SKIPPED]
    return found
