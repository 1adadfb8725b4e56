"""Who gets which samples when: the rules of a stream, without a process or a socket.

The conductor asks for tasks and grants until there is none, and tells what happened. Every sample
that a live reader has not been granted yet is held for it; so nothing is lost, whatever the
readers' speeds are. At most three quarters of the slots are ever lent out where they lie: what
goes beyond is copied by its reader, so a batch that somebody keeps cannot stop the stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from batchcast.arena import Columns
from batchcast.errors import SpillFailed
from batchcast.ledger import Ledger, ledger_of
from batchcast.messages import ENDS, ZERO_COPY, Grant
from batchcast.order import Order
from batchcast.slots import Numbers, Slots
from batchcast.spill import Spill
from batchcast.subscription import Own, Subscription
from batchcast.window import SKIPPED, SlotWindow, held
from batchcast.worker_pool import Task

LENT = 0.75
"""Share of the slots that readers may use where they lie."""

PRIVATE = 0.25
"""Share of the slots that all readers who catch up may have together."""


NOWHERE = 1 << 60
"""In place of the number of an epoch that has none yet: beyond all that will ever be prepared."""


class Service:
    """The state of a stream that runs.

    Attributes:
        order: of its samples.
        slots: of its arena.
        window: that is live.
        readers: their subscriptions, by key.
        failed: ids of samples that could not be prepared, by sequence number.
        columns: of its arena.
        record_bytes: of everything that a slot holds.
    """

    def __init__(
        self, order: Order, columns: Columns, *, first: int, clock: Callable[[], float]
    ) -> None:
        self.order = order
        self.slots = Slots(columns.slots)
        self.window = SlotWindow(columns.slots, first=first)
        self.readers: dict[int, Subscription] = {}
        self.failed: dict[int, int] = {}
        self.columns = columns
        self._clock = clock
        self._left_in = order.place(first)[0]
        self.record_bytes = sum(part.nbytes for part in columns.record(0))

    # Readers come, ask, release and go.

    def join(self, reader: Subscription, number: int) -> None:
        """A reader begins at this sequence number."""
        self.slots.join(reader.key)
        self.readers[reader.key] = reader
        self._place(reader, number)

    def move(self, reader: Subscription, number: int) -> None:
        """A reader goes on at another number; batches that it still has stay where they are."""
        if reader.spill is not None:
            reader.spill.clear()
        own = np.array([each.slot for each in reader.own], np.int64)
        before = held(np.concatenate([own, self.live_slots(reader)]))
        self._place(reader, number)
        self.release(reader, before)

    def dismiss(self, reader: Subscription) -> None:
        """A reader that cannot go on leaves; what it was granted stays until it is given back."""
        own = np.array([each.slot for each in reader.own], np.int64)
        self.release(reader, held(np.concatenate([own, self.live_slots(reader)])))
        self.leave(reader, self.slots.held_by(reader.key))

    def leave(self, reader: Subscription, kept: Numbers) -> None:
        """A reader leaves; only these slots are still held for it, until they are given back."""
        self._left_in = min(self.current_epoch(), reader.epoch)
        del self.readers[reader.key]
        self.window.freed(self.slots.keep(reader.key, kept))

    def give_back(self, key: int) -> None:
        """A reader that left needs nothing any more."""
        self.window.freed(self.slots.leave(key))

    def want(self, reader: Subscription, need: int, *, most: int = 0) -> None:
        """A reader asks for so many samples, and takes up to so many where they are ready."""
        reader.want, reader.most = need, max(need, most)
        reader.asked = self._clock()

    def release(self, reader: Subscription, slots: Numbers) -> None:
        """A reader needs these slots no more."""
        self.window.freed(self.slots.release(reader.key, slots))

    def close_epoch(self, reader: Subscription) -> Ledger:
        """What a reader that is at the end of its epoch should have had; it enters the next."""
        end = self.order.end(reader.epoch)
        if end is None or reader.granted != end:
            raise AssertionError("A reader closes an epoch whose end it was granted.")
        expected = self.ledger(reader.joined, end) - reader.dropped
        reader.epoch, reader.joined, reader.dropped = (
            reader.epoch + 1,
            end,
            Ledger(),
        )
        return expected

    @property
    def frontier(self) -> tuple[int, int]:
        """The epoch and position after all that is prepared."""
        return self.order.place(self.window.published)

    def current_epoch(self) -> int:
        """The epoch of the reader that is farthest and still reads, or was when it left."""
        head, epochs = self.window.published, self.order.epochs
        reading = (
            reader.epoch
            for reader in self.readers.values()
            if reader.granted <= head and not reader.has_had(epochs)
        )
        return max(reading, default=self._left_in)

    # What there is to prepare.

    def task(self, most: int, *, skip: bool) -> Task | None:
        """Samples to prepare next, for a reader that catches up or for all; nothing if none."""
        for reader in self._catching():
            if (task := self._private_task(reader, most)) is not None:
                return task
        count = min(most, self.to_begin())
        slots = self._take(count, skip=skip)
        if not len(slots):
            return None
        ids = self.order.ids(self.window.head, len(slots))
        epoch = self.order.place(self.window.head)[0]
        return Task(first=self._begin(slots), slots=slots, ids=ids, epoch=epoch)

    def feed(self, most: int, *, skip: bool) -> tuple[int, Numbers] | None:
        """The next number and slots for so many samples of a feeder; nothing if none is free."""
        slots = self._take(min(most, self.to_begin()), skip=skip)
        return (self._begin(slots), slots) if len(slots) else None

    def withdraw(self, first: int) -> None:
        """The numbers from here on, which a feeder was to write, do not come in this epoch."""
        if first >= self.window.head:
            return
        for reader in self.live():
            kept = max(first, min(reader.held_from, self.window.head))
            self.slots.release(reader.key, self.window.slots(kept, self.window.head))
        slots = self.window.withdraw(first)
        self.slots.written(slots)
        self.slots.untaken(slots)

    def prepared(self, task: Task, failed: Numbers) -> None:
        """A task is done, but for the samples at these offsets, which could not be prepared."""
        if task.reader is None:
            self.window.prepared(task.first, len(task.slots), failed=failed)
        else:
            task.reader.own_prepared(task.slots, failed)
        if len(failed):
            self._give_up(task, failed)
        self.window.freed(self.slots.written(task.slots))

    def bring_back(self) -> None:
        """Move samples that were spilled from disk into the slots that their readers may have."""
        for reader in self._catching():
            if reader.spill is not None and reader.spill.numbers and reader.failure is None:
                try:
                    self._bring_back(reader, reader.spill)
                except SpillFailed as error:
                    reader.failure = error

    # What there is to read.

    def grants(self, *, idle: bool) -> Iterator[Grant]:
        """Samples for the readers that wait.

        Args:
            idle: nothing is being prepared or can be, so whoever waits gets what there is.
        """
        for reader in self.readers.values():
            if (
                reader.want is not None
                and not reader.failure
                and (grant := self._grant(reader, idle=idle)) is not None
            ):
                yield grant

    @property
    def starved(self) -> bool:
        """Whether somebody waits while every slot is taken."""
        waiting = any(reader.want is not None for reader in self.readers.values())
        return waiting and self._blocked()

    # The rules.

    def _place(self, reader: Subscription, number: int) -> None:
        reader.own.clear()
        reader.want = None
        reader.epoch = self.order.place(number)[0]
        reader.joined = reader.granted = number
        reader.dropped = Ledger()
        reader.gap = 0
        reader.live_from = None
        self._rejoin(reader)

    def _rejoin(self, reader: Subscription) -> None:
        """A reader for whom everything before the window is prepared holds the window too."""
        number = reader.prepared_to
        if reader.live_from is None and number >= self.window.tail:
            reader.live_from = number
            slots = held(self.window.slots(min(number, self.window.head), self.window.head))
            self.slots.hold(reader.key, slots)

    def live_slots(self, reader: Subscription) -> Numbers:
        """Slots of the live window that are held for a reader and not granted to it yet."""
        if reader.live_from is None:
            return np.zeros(0, np.int64)
        first = min(reader.held_from, self.window.head)
        return self.window.slots(first, self.window.head)

    def live(self) -> list[Subscription]:
        """Readers for whom the live window is held."""
        return [reader for reader in self.readers.values() if reader.live_from is not None]

    def _catching(self) -> list[Subscription]:
        readers = self.readers.values()
        return [
            reader
            for reader in readers
            if reader.live_from is None or (reader.spill and reader.spill.numbers)
        ]

    def to_begin(self) -> int:
        """Numbers that may be begun now: for a live reader, in this epoch, where slots are free."""
        live = self.live()
        if not live or (self.is_deserted and not self._passed_over()):
            return 0
        head = self.window.head
        last = self.order.last()
        if last is not None and head >= last:
            return 0
        end = self.order.end(self.order.place(head)[0])
        slowest = min(reader.held_from for reader in live)
        room = min(self.window.room(slowest), self.slots.free)
        return room if end is None else min(room, end - head)

    @property
    def is_deserted(self) -> bool:
        """Whether every reader has left its loop early and wants nothing of what comes next."""
        return self.window.head < min(
            (reader.granted for reader in self.readers.values()), default=0
        )

    def _passed_over(self) -> bool:
        """Whether what nobody wants is passed over, as soon as nothing is in work."""
        if self.order.samples is None or self.window.published < self.window.head:
            return self.order.samples is None  # a feeder is told when it asks
        self.window.pass_over(min(reader.granted for reader in self.readers.values()))
        return True

    def _blocked(self) -> bool:
        """Whether samples are left to begin, or to catch up on, and no slot is free for them."""
        if self._catching() and not self.slots.free:
            return True
        unfinished = self.order.last() is None or self.window.head < (self.order.last() or 0)
        return unfinished and bool(self.live()) and self.to_begin() <= 0

    def _take(self, count: int, *, skip: bool) -> Numbers:
        crowded = self.slots.free > self.slots.count // 2
        return self.slots.take(max(0, count), skip=skip or crowded)

    def _begin(self, slots: Numbers) -> int:
        first = self.window.append(slots)
        for reader in self.live():
            self.slots.hold(reader.key, slots[max(0, (reader.live_from or 0) - first) :])
        return first

    def _private_task(self, reader: Subscription, most: int) -> Task | None:
        """Samples to prepare for one reader alone; none if the live window holds the next."""
        room = self._private_room(reader)
        self._rejoin(reader)
        first = reader.prepared_to
        if reader.live_from is not None:
            return None
        epoch = self.order.place(first)[0]
        end = self.order.end(epoch) or first
        slots = self._take(min(most, room, end - first, self.window.tail - first), skip=True)
        if not len(slots):
            return None
        self._own(reader, slots)
        ids = self.order.ids(first, len(slots))
        return Task(first=first, slots=slots, ids=ids, epoch=epoch, reader=reader)

    def _private_room(self, reader: Subscription) -> int:
        share = int(self.slots.count * PRIVATE) // max(1, len(self._catching()))
        return max(1, share) - len(reader.own)

    def _own(self, reader: Subscription, slots: Numbers) -> None:
        self.window.privately(slots)
        self.slots.hold(reader.key, slots)
        reader.own.extend(Own(slot, ready=False) for slot in slots.tolist())

    def _give_up(self, task: Task, failed: Numbers) -> None:
        ids = task.ids[failed].tolist()
        self.failed |= dict(zip((task.first + failed).tolist(), ids, strict=True))
        for reader in self.readers.values():
            self.slots.release(reader.key, task.slots[failed])

    def _bring_back(self, reader: Subscription, spill: Spill) -> None:
        """Move samples from disk into slots, as far as there is room."""
        room = self._private_room(reader)
        while spill.numbers and room > 0:
            if spill.skipped():
                reader.own.append(Own(SKIPPED, ready=True))
                continue
            slots = self._take(1, skip=True)
            if not len(slots):
                return
            self.window.privately(slots)
            self.slots.hold(reader.key, slots)
            self.slots.written(slots)
            spill.take(self.columns.record(int(slots[0])))
            reader.own.append(Own(int(slots[0]), ready=True))
            room -= 1

    def _grant(self, reader: Subscription, *, idle: bool) -> Grant | None:
        need = reader.want or 0
        end = self.order.end(reader.epoch)
        ready = reader.ready_to(self.window.published)
        ready = ready if end is None else min(ready, end)
        enough = ready - reader.granted >= need or ready == end
        if not enough and not (ready > reader.granted and (idle or self._is_full(reader))):
            return None
        count = min(ready - reader.granted, reader.most)
        if count > need and reader.granted + count != end:
            count -= (count - need) % reader.batch  # what is left over would have to be put aside
        first, slots = reader.granted, self._claim(reader, count)
        flags = ENDS if reader.granted == end else 0
        if self.slots.lent_with(held(slots)) <= LENT * self.slots.count:
            self.slots.lend(reader.key, held(slots))
            flags |= ZERO_COPY
        reader.waited += self._clock() - reader.asked
        gap, reader.gap, reader.want = reader.gap, 0, None
        return Grant(reader, first, slots, flags, gap)

    def _is_full(self, reader: Subscription) -> bool:
        """Whether a reader that catches up has as many slots of its own as it may have."""
        ready = bool(reader.own) and all(each.ready for each in reader.own)
        return ready and self._private_room(reader) <= 0

    def _claim(self, reader: Subscription, count: int) -> Numbers:
        """The slots of the next so many samples of a reader, which are ready."""
        own = [reader.own.popleft().slot for _ in range(min(count, len(reader.own)))]
        first = reader.granted + len(own)
        reader.granted += count
        live = self.window.slots(first, reader.granted)
        return np.concatenate([np.array(own, np.int64), live]) if own else live

    def ledger(self, first: int, end: int) -> Ledger:
        """What these numbers, all of one epoch, should bring to a reader."""
        failed = [number - first for number in self.failed if first <= number < end]
        return ledger_of(np.delete(self.order.ids(first, end - first), failed))
