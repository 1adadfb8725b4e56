"""Samples that a reader was granted and has not taken yet."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from foretrain.run.stream.messages import GAP, ZERO_COPY, Message
from foretrain.run.stream.slots import Numbers
from foretrain.run.stream.window import SKIPPED


@dataclass(slots=True)
class Piece:
    """Granted samples that are not taken yet.

    Attributes:
        first: sequence number of the first.
        slots: of the samples, or `SKIPPED`. [number]
        lent: whether they may be used where they lie.
        gap: samples before the first that were lost by the reader's own policy.
        samples: how many there are, without those that could not be prepared.
    """

    first: int
    slots: Numbers
    lent: bool
    gap: int
    samples: int = field(init=False)

    def __post_init__(self) -> None:
        self.samples = int(np.count_nonzero(self.slots != SKIPPED))

    @classmethod
    def of(cls, message: Message, *, slots: int) -> Piece:
        """What a grant brought, of an arena of so many slots.

        Raises:
            StreamGarbled: a slot is not one of the arena's.
        """
        lent = bool(message.second & ZERO_COPY)
        granted = message.slots(slots, skips=True)
        return cls(message.first, granted, lent, message.second >> GAP)

    def take(self, count: int) -> tuple[int, int, Numbers]:
        """The first number, the numbers that go by, and the slots of up to so many samples."""
        cut = self._numbers_of(count)
        first, gap, slots = self.first, self.gap, self.slots[:cut]
        self.first, self.gap, self.slots = first + cut, 0, self.slots[cut:]
        self.samples = max(0, self.samples - count)
        return first, gap + cut, slots

    def _numbers_of(self, count: int) -> int:
        """How many numbers go by until so many samples have."""
        if count >= self.samples:
            return len(self.slots)
        return int(np.flatnonzero(self.slots != SKIPPED)[count - 1]) + 1
