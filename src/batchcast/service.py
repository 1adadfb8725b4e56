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
from batchcast.crew import Task
from batchcast.errors import SpillFailed
from batchcast.lane import Lane, Own
from batchcast.ledger import Ledger, ledger_of
from batchcast.messages import ENDS, ZERO_COPY, Grant
from batchcast.order import Order
from batchcast.slots import Numbers, Slots
from batchcast.spill import Spill
from batchcast.window import SKIPPED, SlotWindow, held

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
        lanes: of its readers, by key.
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
        self.lanes: dict[int, Lane] = {}
        self.failed: dict[int, int] = {}
        self.columns = columns
        self._clock = clock
        self._left_in = order.place(first)[0]
        self.record_bytes = sum(part.nbytes for part in columns.record(0))

    # Readers come, ask, release and go.

    def join(self, lane: Lane, number: int) -> None:
        """A reader begins at this sequence number."""
        self.slots.join(lane.key)
        self.lanes[lane.key] = lane
        self._place(lane, number)

    def move(self, lane: Lane, number: int) -> None:
        """A reader goes on at another number; batches that it still has stay where they are."""
        if lane.spill is not None:
            lane.spill.clear()
        own = np.array([each.slot for each in lane.own], np.int64)
        before = held(np.concatenate([own, self.live_slots(lane)]))
        self._place(lane, number)
        self.release(lane, before)

    def dismiss(self, lane: Lane) -> None:
        """A reader that cannot go on leaves; what it was granted stays until it is given back."""
        own = np.array([each.slot for each in lane.own], np.int64)
        self.release(lane, held(np.concatenate([own, self.live_slots(lane)])))
        self.leave(lane, self.slots.held_by(lane.key))

    def leave(self, lane: Lane, kept: Numbers) -> None:
        """A reader leaves; only these slots are still held for it, until they are given back."""
        self._left_in = min(self.current_epoch(), lane.epoch)
        del self.lanes[lane.key]
        self.window.freed(self.slots.keep(lane.key, kept))

    def give_back(self, key: int) -> None:
        """A reader that left needs nothing any more."""
        self.window.freed(self.slots.leave(key))

    def want(self, lane: Lane, need: int, *, most: int = 0) -> None:
        """A reader asks for so many samples, and takes up to so many where they are ready."""
        lane.want, lane.most = need, max(need, most)
        lane.asked = self._clock()

    def release(self, lane: Lane, slots: Numbers) -> None:
        """A reader needs these slots no more."""
        self.window.freed(self.slots.release(lane.key, slots))

    def close_epoch(self, lane: Lane) -> Ledger:
        """What a reader that is at the end of its epoch should have had; it enters the next."""
        end = self.order.end(lane.epoch)
        if end is None or lane.granted != end:
            raise AssertionError("A reader closes an epoch whose end it was granted.")
        expected = self.ledger(lane.joined, end) - lane.dropped
        lane.epoch, lane.joined, lane.dropped = lane.epoch + 1, end, Ledger()
        return expected

    def current_epoch(self) -> int:
        """The epoch of the reader that is farthest and still reads, or was when it left."""
        head, epochs = self.window.published, self.order.epochs
        reading = (
            lane.epoch
            for lane in self.lanes.values()
            if lane.granted <= head and lane.epoch != epochs
        )
        return max(reading, default=self._left_in)

    # What there is to prepare.

    def task(self, most: int, *, skip: bool) -> Task | None:
        """Samples to prepare next, for a reader that catches up or for all; nothing if none."""
        for lane in self._catching():
            if (task := self._private_task(lane, most)) is not None:
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

    def prepared(self, task: Task, failed: Numbers) -> None:
        """A task is done, but for the samples at these offsets, which could not be prepared."""
        if task.lane is None:
            self.window.prepared(task.first, len(task.slots), failed=failed)
        else:
            task.lane.own_prepared(task.slots, failed)
        if len(failed):
            self._give_up(task, failed)
        self.window.freed(self.slots.written(task.slots))

    def bring_back(self) -> None:
        """Move samples that were spilled from disk into the slots that their readers may have."""
        for lane in self._catching():
            if lane.spill is not None and lane.spill.numbers and lane.failure is None:
                try:
                    self._bring_back(lane, lane.spill)
                except SpillFailed as error:
                    lane.failure = error

    # What there is to read.

    def grants(self, *, idle: bool) -> Iterator[Grant]:
        """Samples for the readers that wait.

        Args:
            idle: nothing is being prepared or can be, so whoever waits gets what there is.
        """
        for lane in self.lanes.values():
            if (
                lane.want is not None
                and not lane.failure
                and (grant := self._grant(lane, idle=idle)) is not None
            ):
                yield grant

    @property
    def starved(self) -> bool:
        """Whether somebody waits while every slot is taken."""
        waiting = any(lane.want is not None for lane in self.lanes.values())
        return waiting and self._blocked()

    # The rules.

    def _place(self, lane: Lane, number: int) -> None:
        lane.own.clear()
        lane.want = None
        lane.epoch = self.order.place(number)[0]
        lane.joined = lane.granted = number
        lane.dropped = Ledger()
        lane.gap = 0
        lane.live_from = None
        self._rejoin(lane)

    def _rejoin(self, lane: Lane) -> None:
        """A reader for whom everything before the window is prepared holds the window too."""
        number = lane.prepared_to
        if lane.live_from is None and number >= self.window.tail:
            lane.live_from = number
            slots = held(self.window.slots(min(number, self.window.head), self.window.head))
            self.slots.hold(lane.key, slots)

    def live_slots(self, lane: Lane) -> Numbers:
        """Slots of the live window that are held for a reader and not granted to it yet."""
        if lane.live_from is None:
            return np.zeros(0, np.int64)
        first = min(lane.held_from, self.window.head)
        return self.window.slots(first, self.window.head)

    def live(self) -> list[Lane]:
        """Readers for whom the live window is held."""
        return [lane for lane in self.lanes.values() if lane.live_from is not None]

    def _catching(self) -> list[Lane]:
        lanes = self.lanes.values()
        return [
            lane for lane in lanes if lane.live_from is None or (lane.spill and lane.spill.numbers)
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
        slowest = min(lane.held_from for lane in live)
        room = min(self.window.room(slowest), self.slots.free)
        return room if end is None else min(room, end - head)

    @property
    def is_deserted(self) -> bool:
        """Whether every reader has left its loop early and wants nothing of what comes next."""
        return self.window.head < min((lane.granted for lane in self.lanes.values()), default=0)

    def _passed_over(self) -> bool:
        """Whether what nobody wants is passed over, as soon as nothing is in work."""
        if self.order.samples is None or self.window.published < self.window.head:
            return self.order.samples is None  # a feeder is told when it asks
        self.window.pass_over(min(lane.granted for lane in self.lanes.values()))
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
        for lane in self.live():
            self.slots.hold(lane.key, slots[max(0, (lane.live_from or 0) - first) :])
        return first

    def _private_task(self, lane: Lane, most: int) -> Task | None:
        """Samples to prepare for one reader alone; none if the live window holds the next."""
        room = self._private_room(lane)
        self._rejoin(lane)
        first = lane.prepared_to
        if lane.live_from is not None:
            return None
        epoch = self.order.place(first)[0]
        end = self.order.end(epoch) or first
        slots = self._take(min(most, room, end - first, self.window.tail - first), skip=True)
        if not len(slots):
            return None
        self._own(lane, slots)
        ids = self.order.ids(first, len(slots))
        return Task(first=first, slots=slots, ids=ids, epoch=epoch, lane=lane)

    def _private_room(self, lane: Lane) -> int:
        share = int(self.slots.count * PRIVATE) // max(1, len(self._catching()))
        return max(1, share) - len(lane.own)

    def _own(self, lane: Lane, slots: Numbers) -> None:
        self.window.privately(slots)
        self.slots.hold(lane.key, slots)
        lane.own.extend(Own(slot, ready=False) for slot in slots.tolist())

    def _give_up(self, task: Task, failed: Numbers) -> None:
        ids = task.ids[failed].tolist()
        self.failed |= dict(zip((task.first + failed).tolist(), ids, strict=True))
        for lane in self.lanes.values():
            self.slots.release(lane.key, task.slots[failed])

    def _bring_back(self, lane: Lane, spill: Spill) -> None:
        """Move samples from disk into slots, as far as there is room."""
        room = self._private_room(lane)
        while spill.numbers and room > 0:
            if spill.skipped():
                lane.own.append(Own(SKIPPED, ready=True))
                continue
            slots = self._take(1, skip=True)
            if not len(slots):
                return
            self.window.privately(slots)
            self.slots.hold(lane.key, slots)
            self.slots.written(slots)
            spill.take(self.columns.record(int(slots[0])))
            lane.own.append(Own(int(slots[0]), ready=True))
            room -= 1

    def _grant(self, lane: Lane, *, idle: bool) -> Grant | None:
        need = lane.want or 0
        end = self.order.end(lane.epoch)
        ready = lane.ready_to(self.window.published)
        ready = ready if end is None else min(ready, end)
        enough = ready - lane.granted >= need or ready == end
        if not enough and not (ready > lane.granted and (idle or self._is_full(lane))):
            return None
        count = min(ready - lane.granted, lane.most)
        first, slots = lane.granted, self._claim(lane, count)
        flags = ENDS if lane.granted == end else 0
        if self.slots.lent_with(held(slots)) <= LENT * self.slots.count:
            self.slots.lend(lane.key, held(slots))
            flags |= ZERO_COPY
        lane.waited += self._clock() - lane.asked
        gap, lane.gap, lane.want = lane.gap, 0, None
        return Grant(lane, first, slots, flags, gap)

    def _is_full(self, lane: Lane) -> bool:
        """Whether a reader that catches up has as many slots of its own as it may have."""
        ready = bool(lane.own) and all(each.ready for each in lane.own)
        return ready and self._private_room(lane) <= 0

    def _claim(self, lane: Lane, count: int) -> Numbers:
        """The slots of the next so many samples of a reader, which are ready."""
        own = [lane.own.popleft().slot for _ in range(min(count, len(lane.own)))]
        first = lane.granted + len(own)
        lane.granted += count
        live = self.window.slots(first, lane.granted)
        return np.concatenate([np.array(own, np.int64), live]) if own else live

    def ledger(self, first: int, end: int) -> Ledger:
        """What these numbers, all of one epoch, should bring to a reader."""
        failed = [number - first for number in self.failed if first <= number < end]
        return ledger_of(np.delete(self.order.ids(first, end - first), failed))
