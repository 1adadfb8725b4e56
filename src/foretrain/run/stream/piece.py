"""Samples that a reader was granted and has not taken yet."""

from __future__ import annotations

from dataclasses import dataclass

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
    """

    first: int
    slots: Numbers
    lent: bool
    gap: int

    @classmethod
    def of(cls, message: Message) -> Piece:
        """What a grant brought."""
        lent = bool(message.second & ZERO_COPY)
        return cls(message.first, message.numbers(), lent, message.second >> GAP)

    @property
    def samples(self) -> int:
        """How many there are, without those that could not be prepared."""
        return int(np.count_nonzero(self.slots != SKIPPED))

    def take(self, count: int) -> tuple[int, int, Numbers]:
        """The first number, the numbers that go by, and the slots of up to so many samples."""
        real = np.flatnonzero(self.slots != SKIPPED)
        cut = int(real[count - 1]) + 1 if count < len(real) else len(self.slots)
        first, gap, slots = self.first, self.gap, self.slots[:cut]
        self.first, self.gap, self.slots = first + cut, 0, self.slots[cut:]
        return first, gap + cut, slots
