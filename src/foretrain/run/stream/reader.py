"""A reader: a member's end of a stream, iterated like a DataLoader."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from time import monotonic
from types import TracebackType
from typing import Any

import numpy as np

from foretrain.run.stream.arena import Columns
from foretrain.run.stream.asked import Asked, Collate
from foretrain.run.stream.batch import Plain, Single, Taken, accept_read_only
from foretrain.run.stream.errors import (
    LedgerMismatch,
    ProducerLost,
    StreamError,
    StreamOver,
    StreamVersion,
)
from foretrain.run.stream.heap import learn_size_of
from foretrain.run.stream.layout import Layout
from foretrain.run.stream.ledger import Ledger, ledger_of
from foretrain.run.stream.line import lined_up
from foretrain.run.stream.messages import ENDS, VERSION, Kind, Message
from foretrain.run.stream.piece import Piece
from foretrain.run.stream.seeds import number_of, seed_of, sow
from foretrain.run.stream.slots import Numbers
from foretrain.run.stream.window import SKIPPED, held


class Reader:
    """Batches of a shared stream; every `for` loop over it is an epoch, or the rest of one.

    A batch lies in memory that all members share and cannot be written; it stays as it is for as
    long as you refer to it. Ask for `attach(..., copy=True)` to change batches in place.

    Attributes:
        epoch: that the next batch belongs to.
        position: samples of that epoch that have gone by.
    """

    def __init__(self, asked: Asked, *, state: dict[str, Any] | None) -> None:
        accept_read_only()
        self._asked = asked
        self._model_seed = number_of(asked.model)
        self._counts = {"samples": 0, "batches": 0, "copies": 0, "dropped": 0, "skipped": 0}
        self._waited = 0.0
        self._pieces: deque[Piece] = deque()
        self._taken: deque[Taken] = deque()
        self._releasing: list[Numbers] = []
        self._parts: list[Any] = []
        self._aside = self._passed = 0
        self._ledger = self._booked = Ledger()
        self._at_end = False
        self._need = 0
        self._line = lined_up(asked, state=state, patience=asked.patience)
        self._enter(self._line.welcome)

    def __iter__(self) -> Iterator[Any]:
        if self.position and not self._fill(self._asked.batch_size):
            self._close_epoch()  # the loop was left after its last batch
        if self._epochs is not None and self.epoch >= self._epochs:
            raise StreamOver(
                f"The stream '{self._asked.name}' has {self._epochs} epochs and "
                f"'{self._asked.model}' has read them all."
            )
        return _Epoch(self)

    def __len__(self) -> int:
        """Batches of an epoch.

        Raises:
            TypeError: the source does not tell how many samples it has.
        """
        if self._samples is None:
            raise TypeError("A stream that a loader feeds has no length until it ends.")
        whole, rest = divmod(self._samples, self._asked.batch_size)
        return whole + int(rest > 0 and not self._asked.drop_last)

    def __enter__(self) -> Reader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Leave the stream; the others go on without waiting for this reader.

        Batches that are still in use stay as they are.
        """
        self._sweep()
        kept = [taken.slots for taken in self._taken]
        self._line.say(Kind.BYE, b"".join(slots.tobytes() for slots in kept))
        if kept and (descriptor := self._line.keep_open()) is not None:
            self._columns.hold_open(descriptor)
        self._line.close()

    def __del__(self) -> None:
        if hasattr(self, "_columns"):
            self.close()

    def state_dict(self) -> dict[str, Any]:
        """Where this reader is: after the last batch that the loop got.

        After an epoch's last batch that is the next epoch's beginning, as soon as it is known
        that no batch follows; a loader that feeds a stream may not have told yet.
        """
        left = self._at_hand
        if self._asked.drop_last and left < self._asked.batch_size:
            left = 0
        over = self._at_end and not left
        return self._state(self.epoch + 1, 0) if over else self._state(self.epoch, self.position)

    def _state(self, epoch: int, position: int) -> dict[str, Any]:
        return {"version": VERSION, "about": self._about, "epoch": epoch, "position": position}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where a saved state was, on a stream of the same data.

        Raises:
            StreamVersion: the state is about other data.
            StreamError: the stream cannot go back so far; the reader is closed then.
        """
        if state["about"] != self._about:
            raise StreamVersion(
                f"The saved state is about {state['about']} and this stream serves {self._about}."
            )
        self._release_all()
        self._line.say(Kind.SEEK, self._released(), first=state["epoch"], second=state["position"])
        try:
            while (message := self._line.answer(Kind.SEEK, Kind.GRANT)).kind is Kind.GRANT:
                self._releasing.append(held(message.numbers()))
        except StreamError:
            self.close()
            raise
        self._line.say(Kind.RELEASE, self._released())
        self._begin_at(state["epoch"], state["position"])

    def stats(self) -> dict[str, Any]:
        """What this reader got and how long it waited, in samples, batches and seconds."""
        return {**self._counts, "wait_seconds": self._waited, "epoch": self.epoch}

    # One batch.

    def next_batch(self) -> Any | None:
        """The next batch of this epoch, or nothing at its end, which is then closed."""
        count = min(self._fill(self._asked.batch_size), self._asked.batch_size)
        if count == 0 or (count < self._asked.batch_size and self._asked.drop_last):
            self._close_epoch()
            return None
        batch = self._batch(count)
        self._delivered(count)
        return batch

    def _fill(self, wanted: int) -> int:
        """Samples at hand: as many as wanted, or all that the epoch still has."""
        self._sweep()
        while self._at_hand < wanted and not self._at_end:
            self._ask(wanted)
            self._take_in()
        return self._at_hand

    @property
    def _at_hand(self) -> int:
        return self._aside + sum(piece.samples for piece in self._pieces)

    def _ask(self, wanted: int) -> None:
        """Ask for what is missing, unless it has been asked for."""
        missing = wanted - self._at_hand
        if missing > 0 and not self._need and not self._at_end:
            self._need = missing
            self._line.say(Kind.WANT, self._released(), first=missing)

    def _take_in(self) -> None:
        """Wait for what was asked for; fewer samples come only where the slots do not suffice."""
        asked = monotonic()
        message = self._hear(Kind.GRANT)
        self._waited += monotonic() - asked
        if message is None:
            return
        need, self._need = self._need, 0
        piece = Piece.of(message)
        self._pieces.append(piece)
        self._at_end = bool(message.second & ENDS)
        if piece.samples < need and not self._at_end:
            self._set_aside(self._at_hand - self._aside)

    def _batch(self, count: int) -> Any:
        """A batch of so many samples at hand."""
        rest = count - self._aside
        if not self._parts and not self._asked.copy and self._may_lend(rest):
            slots = self._take(rest)
            if (lent := self._maker.lent(slots)) is not None:
                self._taken.append(lent[1])
                return lent[0]
            self._copy(slots)
        else:
            self._set_aside(rest)
        self._counts["copies"] += 1
        parts, self._parts, self._aside = self._parts, [], 0
        return self._maker.whole(parts)

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
            self._copy(self._take(count))

    def _copy(self, slots: Numbers) -> None:
        self._parts.append(self._maker.part(slots))
        self._aside += len(slots)
        self._releasing.append(slots)

    def _take(self, count: int) -> Numbers:
        """The slots of the next so many samples, which are in the books from now on."""
        taken: list[Numbers] = []
        while count:
            piece = self._pieces[0]
            first, passed, slots = piece.take(count)
            self._passed += passed
            self._check(first, slots)
            taken.append(held(slots))
            count -= len(taken[-1])
            if not len(piece.slots):
                self._pieces.popleft()
        slots = taken[0] if len(taken) == 1 else np.concatenate(taken)
        self._booked += ledger_of(self._columns.ids[slots])
        return slots

    def _check(self, first: int, slots: Numbers) -> None:
        """A slot must hold the number that was granted; else it was given away too early."""
        real = slots != SKIPPED
        self._counts["skipped"] += int(np.count_nonzero(~real))
        numbers = np.arange(first, first + len(slots))[real]
        if not np.array_equal(self._columns.numbers[slots[real]], numbers):
            raise AssertionError("A slot was written while a reader was to read it.")

    def _delivered(self, count: int) -> None:
        """The batch goes to the loop: from here on a saved state is after it."""
        self._counts["samples"] += count
        self._counts["batches"] += 1
        self._enter_books()
        self._ask(self._asked.batch_size)  # the answer comes while the loop is at work

    def _enter_books(self) -> None:
        self.position += self._passed
        self._ledger += self._booked
        self._passed, self._booked = 0, Ledger()

    def _close_epoch(self) -> None:
        """Hold the books of the epoch against the conductor's.

        Raises:
            LedgerMismatch: samples were lost, doubled or swapped.
        """
        if self._at_hand > self._aside:  # drop_last: left out, but had
            self._releasing.append(self._take(self._at_hand - self._aside))
        for piece in self._pieces:
            self._passed += piece.gap + len(piece.slots)
            self._counts["skipped"] += len(piece.slots)
        self._pieces.clear()
        self._enter_books()
        self._line.say(Kind.LEDGER, self._released(), first=self.epoch)
        message = self._hear(Kind.ENDED)
        if message is None:
            self._fill(self._asked.batch_size)  # the new conductor says where the epoch ends
            self._close_epoch()
            return
        told: Any = message.json()
        self._counts["dropped"] += told["dropped"]
        expected = Ledger(count=told["count"], checksum=told["checksum"])
        if expected != self._ledger:
            raise LedgerMismatch(
                f"Epoch {self.epoch} of the stream '{self._asked.name}' holds {expected.count} "
                f"samples for '{self._asked.model}', which got {self._ledger.count}, or others."
            )
        self._begin_at(self.epoch + 1, 0)

    # Slots that may be written again.

    def _sweep(self) -> None:
        """Release the batches that nobody refers to any more."""
        for _ in range(len(self._taken)):
            taken = self._taken.popleft()
            if taken.in_use:
                self._taken.append(taken)
            else:
                self._releasing.append(taken.slots)

    def _released(self) -> bytes:
        """The slots that may go, as they travel."""
        slots, self._releasing = self._releasing, []
        return b"".join(each.tobytes() for each in slots)

    # Beginnings.

    def _enter(self, message: Message) -> None:
        """The arena, and where this reader begins."""
        facts: Any = message.json()
        (descriptor,) = message.descriptors
        layout = Layout.from_json(facts["layout"])
        self._columns = Columns(descriptor, layout, slots=facts["slots"], writable=False)
        os.close(descriptor)
        learn_size_of(self._asked.batch_size * layout.sample_bytes)
        self._about, self._seed = facts["about"], facts["seed"]
        self._samples: int | None = facts["samples"]
        self._epochs: int | None = facts["epochs"]
        self._maker = self._make()
        self._taken = deque()
        self._begin_at(facts["epoch"], facts["position"])

    def _make(self) -> Plain | Single:
        private, collate = self._asked.private, self._asked.collate
        if private is None and collate is None:
            return Plain(self._columns)
        return Single(self._columns, self._changed, collate or default_collate())

    def _changed(self, sample: Any, sample_id: int) -> Any:
        """A sample after the member's own transform, drawn by seeds of its own."""
        if self._asked.private is None:
            return sample
        sow(seed_of(self._seed, self.epoch, sample_id, self._model_seed))
        return self._asked.private(sample)

    def _begin_at(self, epoch: int, position: int) -> None:
        self.epoch, self.position = epoch, position
        self._pieces = deque()
        self._parts = []
        self._aside = self._passed = 0
        self._releasing = []
        self._at_end = False
        self._need = 0
        self._ledger = self._booked = Ledger()

    def _hear(self, kind: Kind) -> Message | None:
        """The answer, or nothing where the stream died and this reader has joined it anew."""
        try:
            return self._line.answer(kind)
        except ProducerLost:
            if not self._asked.reconnect:
                raise
        self._line.close()
        again = self._asked.reconnect
        here = self._state(self.epoch, self.position)
        self._line = lined_up(self._asked, state=here, patience=again)
        self._enter(self._line.welcome)
        return None

    def _release_all(self) -> None:
        """Take no more of what was granted; batches that are in use stay."""
        self._sweep()
        for piece in self._pieces:
            self._releasing.append(held(piece.slots))


class _Epoch:
    """Iterates over the rest of an epoch, without holding on to a batch."""

    def __init__(self, reader: Reader) -> None:
        self._reader: Reader | None = reader

    def __iter__(self) -> _Epoch:
        return self

    def __next__(self) -> Any:
        batch = None if self._reader is None else self._reader.next_batch()
        if batch is None:
            self._reader = None
            raise StopIteration
        return batch


def default_collate() -> Collate:
    """PyTorch's way to put samples together."""
    from torch.utils.data import default_collate as collate

    function: Collate = collate
    return function
