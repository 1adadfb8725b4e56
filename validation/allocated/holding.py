"""What PyTorch's allocator holds of a device, given what is taken and given back.

It holds segments and hands out blocks of them; a segment stays when its blocks come back. Blocks of
1 MiB and less come from segments of 2 MiB, those below 10 MiB from segments of 20 MiB, larger ones
from segments of their own size in steps of 2 MiB. The smallest free block that is large enough is
taken, and split if what is left of it is worth keeping; neighbours that are free become one.

Source: pytorch, c10/cuda/CUDACachingAllocator.cpp (kSmallSize, kSmallBuffer, kLargeBuffer,
kMinLargeAlloc, kRoundLarge, should_split), without expandable segments.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass, field

MIB = 2**20
BLOCK = 512
SMALL, LARGE = MIB, 10 * MIB
SMALL_SEGMENT, MIDDLE_SEGMENT, STEP = 2 * MIB, 20 * MIB, 2 * MIB

Block = tuple[int, int, int]
"""Size, segment, and where in the segment it begins."""


@dataclass
class Allocator:
    """Segments and blocks.

    Attributes:
        held: bytes of all segments, which is the most that they ever were.
        taken: blocks that are handed out, by who asked.
    """

    held: int = 0
    taken: dict[int, Block] = field(default_factory=dict)
    _free: tuple[list[Block], list[Block]] = field(default_factory=lambda: ([], []))
    _small: set[int] = field(default_factory=set)
    _segments: int = 0

    def take(self, key: int, size: int) -> None:
        """Hands out a block."""
        size = max(BLOCK, -(-size // BLOCK) * BLOCK)
        pool = self._free[size > SMALL]
        place = bisect_left(pool, (size, -1, -1))
        found, segment, begins = pool.pop(place) if place < len(pool) else self._new(size)
        rest = found - size
        if rest >= BLOCK if size <= SMALL else rest > SMALL:
            insort(pool, (rest, segment, begins + size))
            found = size
        self.taken[key] = (found, segment, begins)

    def give(self, key: int) -> None:
        """Takes a block back."""
        size, segment, begins = self.taken.pop(key)
        pool = self._free[segment not in self._small]
        for block in [each for each in pool if each[1] == segment]:
            if block[2] + block[0] == begins or begins + size == block[2]:
                pool.remove(block)
                size, begins = size + block[0], min(begins, block[2])
        insort(pool, (size, segment, begins))

    def _new(self, size: int) -> Block:
        """A segment of its own."""
        if size <= SMALL:
            whole = SMALL_SEGMENT
        else:
            whole = MIDDLE_SEGMENT if size < LARGE else -(-size // STEP) * STEP
        self.held += whole
        self._segments += 1
        if size <= SMALL:
            self._small.add(self._segments)
        return whole, self._segments, 0
