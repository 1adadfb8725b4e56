"""Samples that a reader was granted and has not taken yet.

What a reader has at hand: slots it was granted, what it copied of them, what goes back.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import numpy as np

from batchcast.arena import Columns
from batchcast.batch import Maker, Taken
from batchcast.errors import StreamError
from batchcast.ledger import Ledger, ledger_of
from batchcast.messages import ENDS, GAP, ZERO_COPY, Kind, Message
from batchcast.packing import Bytes
from batchcast.reader_connection import ReaderConnection
from batchcast.slots import Numbers
from batchcast.window import SKIPPED, held

FEW = 4
"""Batches that come together where they are so light that a reader need not be woken for them."""

NAPS = 0.016
"""Seconds in which so many must come, and after which a reader has itself woken up after all."""


@dataclass(slots=True)
class BatchPiece:
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
        self.samples = len(held(self.slots))

    @classmethod
    def of(cls, message: Message, *, slots: int) -> BatchPiece:
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
        if self.samples == len(self.slots):
            return count
        return int(np.flatnonzero(self.slots != SKIPPED)[count - 1]) + 1


class PrefetchBuffer:
    """The slots of one connection; a sample, or a piece of a batch that stays whole, in each.

    Attributes:
        at_end: whether nothing of the epoch follows what is at hand.
        copies: batches that were copied.
        skipped: samples that could not be prepared.
        waited: seconds without a batch.
        again: makes the batch that was to be remembered once more, until it is let go.

    Args:
        line: to the conductor.
        columns: of the arena.
        maker: of batches.
        lends: whether batches may lie where their samples lie.
    """

    def __init__(
        self, line: ReaderConnection, columns: Columns, maker: Maker, *, lends: bool
    ) -> None:
        self.copies = self.skipped = 0
        self.waited = 0.0
        self._line = line
        self._columns = columns
        self._maker = maker
        self._lends = lends
        self._taken: deque[Taken] = deque()
        self.begin()

    def begin(self) -> None:
        """Nothing is at hand; batches that are in use stay."""
        self.at_end = False
        self.again: Callable[[], Any] | None = None
        self._remembered: Numbers | None = None
        self._pieces: deque[BatchPiece] = deque()
        self._releasing: list[Numbers] = []
        self._parts: list[Any] = []
        self._aside = self._ready = self._passed = 0
        self._ids: list[Numbers] = []
        self._need = 0
        self._is_light = False

    @property
    def at_hand(self) -> int:
        """Samples that a batch could be made of."""
        return self._aside + self._ready

    def fill(self, wanted: int, *, most: int = 0) -> int:
        """Samples at hand: as many as wanted, or all that the epoch still has.

        Raises:
            ProducerLost: nobody is there any more.
        """
        self._sweep()
        while self.at_hand < wanted and not self.at_end:
            self.ask(wanted, most=most)
            if self._releasing:  # what was asked for may need these very slots
                self._line.say(Kind.RELEASE, self.released())
            self._take_in()
        return self.at_hand

    def ask(self, wanted: int, *, most: int = 0) -> None:
        """Ask for what is missing, and for up to so many where they are ready, unless asked."""
        missing = wanted - self.at_hand
        if missing > 0 and not self._need and not self.at_end:
            self._need = missing
            self._line.say(Kind.WANT, self.released(), first=missing, second=most)

    def _take_in(self) -> None:
        """Wait for what was asked for; fewer samples come only where the slots do not suffice."""
        asked = monotonic()
        if self._is_light:
            self._line.nap(NAPS)
        try:
            message = self._line.answer(Kind.GRANT)
        except StreamError:
            self._need = 0  # who goes on after an error asks, and is told, again
            raise
        waited = monotonic() - asked
        self.waited += waited
        need, self._need = self._need, 0
        piece = BatchPiece.of(message, slots=self._columns.slots)
        self._is_light = piece.samples >= FEW * need and waited < NAPS
        self._pieces.append(piece)
        self._ready += piece.samples
        self.at_end = bool(message.second & ENDS)
        if piece.samples < need and not self.at_end:
            self._set_aside(self.at_hand - self._aside)

    def first(self) -> Bytes:
        """The bytes at the beginning of a batch that stays whole."""
        if self._parts:
            copied: Bytes = self._parts[0]
            return copied
        beginning: Bytes = self._columns.fixed(0)[self._pieces[0].slots[0]]
        return beginning

    def batch(self, count: int, *, remember: bool) -> Any:
        """A batch of so many samples at hand; `again` makes it once more if it is to be remembered.

        Whatever making it raises, its samples are gone by.
        """
        self.let_go()
        rest = count - self._aside
        if not self._parts and self._may_lend(rest):
            return self._made(self._take(rest), remember=remember)
        try:
            self._set_aside(rest)
        finally:
            parts, self._parts, self._aside = self._parts, [], 0
        self.copies += 1
        if remember:
            spare = copy.deepcopy(parts)
            self.again = lambda: self._maker.whole(spare)
        return self._maker.whole(parts)

    def _made(self, slots: Numbers, *, remember: bool) -> Any:
        """A batch of slots that may be kept for as long as it takes."""
        if self._lends and (lent := self._maker.lent(slots)) is not None:
            batch, taken = lent
            self._taken.append(taken)
            if remember:
                alive = [view() for view in taken.views]
                self.again = lambda: (self._maker.direct(slots), alive)[0]
            return batch
        self.copies += 1
        if remember:
            self._remembered = slots
            self.again = lambda: self._maker.direct(slots)
        else:
            self._releasing.append(slots)
        return self._maker.direct(slots)

    def let_go(self) -> None:
        """Forget the batch that was remembered."""
        if self._remembered is not None:
            self._releasing.append(self._remembered)
        self._remembered = self.again = None

    def _may_lend(self, count: int) -> bool:
        """Whether a batch of so many samples may lie where they lie."""
        for piece in self._pieces:
            count -= piece.samples if piece.lent else 0
            if count <= 0 or not piece.lent:
                break
        return count <= 0

    def _set_aside(self, count: int) -> None:
        """Copy so many samples out of the arena, so that their slots are free again."""
        if count:
            slots = self._take(count)
            self._releasing.append(slots)
            self._parts.append(self._maker.part(slots))
            self._aside += len(slots)

    def _take(self, count: int) -> Numbers:
        """The slots of the next so many samples, which are in the books from now on."""
        taken: list[Numbers] = []
        self._ready -= count
        while count:
            piece = self._pieces[0]
            whole = piece.samples == len(piece.slots)
            first, passed, slots = piece.take(count)
            self._passed += passed
            taken.append(slots if whole else self._real(slots))
            self._check(first, slots, whole=whole)
            count -= len(taken[-1])
            if not len(piece.slots):
                self._pieces.popleft()
        slots = taken[0] if len(taken) == 1 else np.concatenate(taken)
        self._ids.append(self._columns.ids[slots])
        return slots

    def _real(self, slots: Numbers) -> Numbers:
        """Those of these slots that hold a sample; the others are counted."""
        real = held(slots)
        self.skipped += len(slots) - len(real)
        return real

    def _check(self, first: int, slots: Numbers, *, whole: bool) -> None:
        """A slot must hold the number that was granted; else it was given away too early."""
        numbers = np.arange(first, first + len(slots))
        if not whole:
            real = slots != SKIPPED
            slots, numbers = slots[real], numbers[real]
        if not (self._columns.numbers[slots] == numbers).all():
            raise AssertionError("A slot was written while a reader was to read it.")

    def passed(self) -> int:
        """Numbers that went by since this was last asked."""
        passed, self._passed = self._passed, 0
        return passed

    def books(self) -> Ledger:
        """The samples of which batches were made since this was last asked."""
        ids, self._ids = self._ids, []
        return ledger_of(np.concatenate(ids)) if ids else Ledger()

    def leave_rest(self) -> None:
        """The epoch is over: what is left of it counts as had, and goes back."""
        self.let_go()
        if self.at_hand > self._aside:
            self._releasing.append(self._take(self.at_hand - self._aside))
        for piece in self._pieces:
            self._passed += piece.gap + len(piece.slots)
            self.skipped += len(piece.slots)
        self._pieces.clear()

    def give_back(self) -> None:
        """Take no more of what was granted; batches that are in use stay."""
        self._sweep()
        self.let_go()
        for piece in self._pieces:
            self._releasing.append(held(piece.slots))

    def add(self, slots: Numbers) -> None:
        """Give these slots back as well."""
        self._releasing.append(held(slots))

    def released(self) -> bytes:
        """The slots that may go, as they travel."""
        slots, self._releasing = self._releasing, []
        return np.concatenate(slots).tobytes() if slots else b""

    def in_use(self) -> list[Numbers]:
        """Slots of the batches that somebody still refers to."""
        self._sweep()
        return [taken.slots for taken in self._taken]

    def _sweep(self) -> None:
        """Release the batches that nobody refers to any more."""
        for _ in range(len(self._taken)):
            taken = self._taken.popleft()
            if taken.in_use:
                self._taken.append(taken)
            else:
                self._releasing.append(taken.slots)
