"""A reader: a member's end of a stream, iterated like a DataLoader."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from types import TracebackType
from typing import Any

from batchcast.admission import Asked
from batchcast.batch import Maker, Plain, Single, WholeBatch
from batchcast.drawn_order import ReaderOrder
from batchcast.elsewhere import LooksLikeALoader
from batchcast.errors import (
    LedgerMismatch,
    ProducerLost,
    StreamError,
    StreamOver,
    StreamVersion,
    too_many_files,
)
from batchcast.greetings import arena_of, whole
from batchcast.heap import learn_size_of
from batchcast.layout import Layout
from batchcast.ledger import Ledger
from batchcast.messages import VERSION, Kind
from batchcast.order import number_of, seed_of, sow
from batchcast.packing import size_at
from batchcast.prefetch_buffer import PrefetchBuffer
from batchcast.reader_connection import ReaderConnection, lined_up

AHEAD_SHARE = 4
"""The part of the arena that a reader takes at a time where so much is ready: the slots go back
together, and asking for every batch alone would cost as much as a light batch."""


BOOKED = 4096
"""Samples whose ids are entered into the books at once."""

ON_THE_WAY = (Kind.SEEK, Kind.GRANT, Kind.ORDER)
"""What may come before the answer to who goes elsewhere, and that answer."""

END = object()
"""What stands for a batch where an epoch has no more: a batch may be anything, `None` too."""


class Reader(LooksLikeALoader):
    """Batches of a shared stream, as a DataLoader gives them; every `for` loop is an epoch.

    A loop that is left early has had its epoch: the next one begins the next. Only a first batch
    that was looked at, as with `next(iter(reader))`, comes again.

    Attributes:
        epoch: that the next batch belongs to.
        position: samples of that epoch that have gone by; pieces of batches that stay whole.
        batch_size: samples of a batch; nothing where batches come as their loader made them.
    """

    batch_size: int | None

    def __init__(self, asked: Asked, *, state: dict[str, Any] | None) -> None:
        self._asked = asked
        self._model_seed = number_of(asked.model)
        self._counts = {"samples": 0, "batches": 0, "copies": 0, "dropped": 0, "skipped": 0}
        self._waited = 0.0
        self._loop = 0
        self._sought: tuple[int, int] | None = None
        self._closes = False
        self._order = ReaderOrder(asked.name, asked.model, state)
        self._line = lined_up(asked, state=state, patience=asked.patience)
        try:
            self._enter(self._line)
        except BaseException:
            self._line.close()
            raise

    def __iter__(self) -> Iterator[Any]:
        self._begin_loop()
        if self._epochs is not None and self.epoch >= self._epochs + self._order.looks:
            raise StreamOver(
                f"The stream '{self._asked.name}' has {self._epochs} epochs and "
                f"'{self._asked.model}' has begun and ended them all. A loop that is left early "
                "ends its epoch; share(..., epochs=...) says how many there are."
            )
        self._order.loop(self._line, self.epoch)
        self._loop += 1
        return _Epoch(self, self._loop)

    def _begin_loop(self) -> None:
        """End what the loop before has left, or have its only batch come again."""
        if self._sought is not None:
            self._arrive()  # it was interrupted on its way
        if self.position and self._is_at_end():
            self._close_epoch()  # the loop was left after its last batch
        elif self._has_looked() and not self._order.looked(self._line):
            self._repeats = True
        elif self._given:
            self._go_to(self.epoch + 1, 0)

    def _has_looked(self) -> bool:
        """Whether only a first batch was taken, which comes again if the order does."""
        return self._given == 1 and self._supply.again is not None

    def _is_at_end(self) -> bool:
        """Whether no batch follows in an epoch that this reader is within."""
        self._order.begin(self._line, self.epoch)
        return not self._next_size()

    def __len__(self) -> int:
        """Batches of an epoch.

        Raises:
            TypeError: the source does not tell how many samples it has.
        """
        if self._samples is None:
            same = self.batch_size == self._loader_batch and not self._asked.drop_last
            if self._batches is None or not same:
                raise TypeError("A stream whose source has no length has none either.")
            return self._batches
        assert self.batch_size is not None
        whole, rest = divmod(self._samples, self.batch_size)
        return whole + int(rest > 0 and not self._asked.drop_last)

    def _comes(self) -> int:
        """The epoch that the next loop gives."""
        return self.epoch + int(self._given > 0 and not self._has_looked())

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
        kept = self._supply.in_use()
        self._line.say(Kind.BYE, b"".join(slots.tobytes() for slots in kept))
        if kept and (descriptor := self._line.keep_open()) is not None:
            self._columns.hold_open(descriptor)
        self._line.close()

    def __del__(self) -> None:
        if hasattr(self, "_supply"):
            self.close()

    def state_dict(self) -> dict[str, Any]:
        """Where this reader is: after the last batch that the loop got.

        After an epoch's last batch that is the next epoch's beginning, as soon as it is known
        that no batch follows; a loader that feeds a stream may not have told yet.
        """
        if self._repeats:
            return self._state(self.epoch, self._began_at)
        left, size = self._supply.at_hand, self.batch_size or 1
        if self._asked.drop_last and left < size:
            left = 0
        over = self._supply.at_end and not left
        return self._state(self.epoch + 1, 0) if over else self._state(self.epoch, self.position)

    def _state(self, epoch: int, position: int) -> dict[str, Any]:
        place = {"epoch": epoch, "position": position}
        order = self._order.as_state(epoch, position)
        return {"version": VERSION, "about": self._about, **place, **order}

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
        self._order.resume(state)
        self._go_to(state["epoch"], state["position"])

    def _go_to(self, epoch: int, position: int) -> None:
        """Go on at another place of the stream."""
        if self._sought is not None:
            self._arrive()
        self._supply.give_back()
        self._line.say(Kind.SEEK, self._supply.released(), first=epoch, second=position)
        self._sought = (epoch, position)
        self._arrive()

    def _arrive(self) -> None:
        """Wait until the conductor is where it was asked to go on; Ctrl-C may come meanwhile."""
        supply = self._supply
        assert self._sought is not None
        try:
            while (message := self._line.answer(*ON_THE_WAY)).kind is not Kind.SEEK:
                if message.kind is Kind.ORDER:
                    self._order.heed(message)
                else:
                    supply.add(message.slots(self._columns.slots, skips=True))
        except StreamError:
            self._sought = None
            self.close()
            raise
        self._line.say(Kind.RELEASE, supply.released())
        self._begin_at(*self._sought)

    def stats(self) -> dict[str, Any]:
        """What this reader got and how long it waited, in samples, batches and seconds."""
        self._count()
        return {**self._counts, "wait_seconds": self._waited, "epoch": self.epoch}

    # One batch.

    def next_batch(self, loop: int) -> Any:
        """The next batch of this epoch, or `END` at its end, which is then closed."""
        if loop != self._loop:
            raise StreamError(
                "Another loop over this reader has begun, so this one cannot go on: a reader is in "
                "one place. Attach a second reader, or keep one iterator and use it throughout."
            )
        self._order.take(self._line, self.epoch)
        if self._repeats and self._supply.again is not None:
            self._repeats = False
            return self._supply.again()
        self._supply.let_go()
        count = self._next_size()
        if not count:
            self._close_epoch()
            return END
        try:
            batch = self._supply.batch(count, remember=not self._given)
        finally:
            self._delivered(count)
        return batch

    def _next_size(self) -> int:
        """Slots of the next batch, all of them at hand; 0 at the end of the epoch."""
        if self.batch_size is None:
            if not self._fill(1):
                return 0
            return self._fill_whole()
        have = min(self._fill(self.batch_size), self.batch_size)
        return 0 if have < self.batch_size and self._asked.drop_last else have

    def _fill_whole(self) -> int:
        slot = self._columns.layout.sample_bytes
        count = ceil(size_at(self._supply.first()) / slot)
        if self._fill(count) < count:
            raise AssertionError("An epoch ends with a whole batch.")
        return count

    def _fill(self, wanted: int) -> int:
        """Samples at hand: as many as wanted, or all that the epoch still has."""
        while True:
            try:
                self._order.hear(self._line)
                return self._supply.fill(wanted, most=self._most)
            except ProducerLost:
                if not self._asked.reconnect:
                    raise
                self._attach_again()

    def _delivered(self, count: int) -> None:
        """The batch goes to the loop: from here on a saved state is after it."""
        self._given += 1
        self._counts["samples"] += count if self.batch_size is not None else 0
        self._counts["batches"] += 1
        self.position += self._supply.passed()
        self._unbooked += count
        if self._unbooked > BOOKED:
            self._enter_books()
        self._supply.ask(self.batch_size or 1, most=self._most)  # comes while the loop is at work

    def _enter_books(self) -> None:
        """What was delivered is accounted for, many batches at once."""
        self._ledger += self._supply.books()
        self._unbooked = 0

    def _close_epoch(self) -> None:
        """Hold the books of the epoch against the conductor's.

        Raises:
            LedgerMismatch: samples were lost, doubled or swapped.
        """
        self._supply.leave_rest()
        self.position += self._supply.passed()
        self._enter_books()
        if not self._closes:  # else it was interrupted, and the answer is still to come
            self._line.say(Kind.LEDGER, self._supply.released(), first=self.epoch)
            self._closes = True
        try:
            message = self._line.answer(Kind.ENDED)
        except ProducerLost:
            if not self._asked.reconnect:
                raise
            self._attach_again()
            self._fill(self.batch_size or 1)  # the new conductor says where the epoch ends
            self._close_epoch()
            return
        told: Any = message.json()
        self._counts["dropped"] += whole("dropped", told.get("dropped"))
        expected = Ledger(count=told.get("count"), checksum=told.get("checksum"))
        if expected != self._ledger:
            raise LedgerMismatch(
                f"Epoch {self.epoch} of the stream '{self._asked.name}' holds {expected.count} "
                f"samples for '{self._asked.model}', which got {self._ledger.count}, or others."
            )
        self._order.ended(str(told.get("left", "")))
        self._begin_at(self.epoch + 1, 0)

    # Beginnings.

    def _enter(self, line: ReaderConnection) -> None:
        """The arena, and where this reader begins."""
        welcome = line.welcome
        layout = welcome.layout
        if not line.message.descriptors:  # the kernel leaves out what a process has no room for
            raise too_many_files(self._asked.name)
        self._columns = arena_of(line.message, welcome, writable=False)
        self._loader_batch = None if layout.whole else welcome.batch
        self.batch_size = self._asked.batch_size or self._loader_batch
        learn_size_of((self.batch_size or 1) * layout.sample_bytes)
        self._about, self._seed = welcome.about, welcome.seed
        self._samples, self._epochs = welcome.samples, welcome.epochs
        self._batches, self._told = welcome.batches, welcome.told
        lends = self._asked.lend
        maker = self._maker(layout, pinned=self._asked.pins(welcome.pinned))
        self._supply = PrefetchBuffer(self._line, self._columns, maker, lends=lends)
        self._most = self._columns.slots // AHEAD_SHARE
        self._begin_at(welcome.epoch, welcome.position)
        self._order.enter(line)

    def _maker(self, layout: Layout, *, pinned: bool) -> Maker:
        asked, guarded = self._asked, self._asked.lend
        if guarded:
            from batchcast.lent import accept_read_only

            accept_read_only()
        if layout.whole:
            return WholeBatch(self._columns, pinned=pinned, guarded=guarded)
        if asked.private is None and asked.collate is None and layout.is_stackable:
            return Plain(self._columns, pinned=pinned, guarded=guarded)
        change = None if asked.private is None else self._changed
        return Single(self._columns, change, asked.collate, pinned=pinned)

    def _changed(self, sample: Any, sample_id: int) -> Any:
        """A sample after the member's own transform, drawn by seeds of its own."""
        assert self._asked.private is not None
        sow(seed_of(self._seed, self.epoch, sample_id, self._model_seed))
        return self._asked.private(sample)

    def _begin_at(self, epoch: int, position: int) -> None:
        self.epoch, self.position = epoch, position
        self._began_at = position
        self._ledger = Ledger()
        self._unbooked = self._given = 0
        self._repeats = self._closes = False
        self._sought = None
        self._supply.begin()

    def _attach_again(self) -> None:
        """Join anew the stream that died."""
        self._count()
        self._line.close()
        here, given = self._state(self.epoch, self.position), self._given
        self._line = lined_up(self._asked, state=here, patience=self._asked.reconnect)
        self._enter(self._line)
        self._given = given

    def _count(self) -> None:
        """Take over what the supply has counted."""
        supply = self._supply
        self._counts["copies"] += supply.copies
        self._counts["skipped"] += supply.skipped
        self._waited += supply.waited
        supply.copies, supply.skipped, supply.waited = 0, 0, 0.0


class _Epoch:
    """Iterates over the rest of an epoch, without holding on to a batch."""

    def __init__(self, reader: Reader, loop: int) -> None:
        self._reader: Reader | None = reader
        self._loop = loop

    def __iter__(self) -> _Epoch:
        return self

    def __next__(self) -> Any:
        batch = END if self._reader is None else self._reader.next_batch(self._loop)
        if batch is END:
            self._reader = None
            raise StopIteration
        return batch
