"""A stream without a process: its rules, with workers and readers that act in a random order.

Nothing is written into a slot that anybody still needs, every reader gets every number of its
range once and in order, and the loop always comes to an end: each step checks it.
"""

import os
from collections import deque
from contextlib import ExitStack
from itertools import count

import numpy as np

from batchcast.arena import Columns, make_arena
from batchcast.dispatch import hand_out
from batchcast.layout import Layout, Leaf
from batchcast.ledger import Ledger, ledger_of
from batchcast.messages import ENDS, ZERO_COPY
from batchcast.service import LENT, NOWHERE, Service
from batchcast.spill import Spill
from batchcast.subscription import Subscription
from batchcast.window import SKIPPED
from batchcast.worker_pool import AHEAD, Task

NUMBER = Layout(form=["leaf"], batch=["leaf"], leaves=(Leaf(dtype="int64", shape=()),))
RECORD = 24  # bytes that such a sample takes on disk: its number, its id, and itself
TURNS = 2_000
"""Times that one event may ask for work before its turn counts as endless."""


def columns_of(slots):
    """An arena whose samples are one number each."""
    descriptor = make_arena(NUMBER, slots)
    columns = Columns(descriptor, NUMBER, slots=slots, writable=True)
    os.close(descriptor)
    return columns


class Workers:
    """Workers that finish, or die on, what they are given."""

    def __init__(self, size):
        self.tasks = [deque() for _ in range(size)]
        self.again = deque()
        self.turns = 0

    def prepare(self, service, *, skip):
        self.turns += 1
        assert self.turns < TURNS, "the loop never ends"
        given = False
        while len(worker := min(self.tasks, key=len)) < AHEAD:
            task = self.again.popleft() if self.again else begun(service, skip=skip)
            if task is None:
                break
            worker.append(task)
            given = True
        return given

    def busy(self):
        return any(self.tasks)

    def step(self, played):
        """Whether a worker had something to do."""
        working = [tasks for tasks in self.tasks if tasks]
        if not working:
            return False
        tasks = played.random.choice(working)
        if played.random.random() < played.deaths:
            self.again.extend(piece for task in tasks for piece in task.singly(0))
            tasks.clear()
        else:
            played.finish(tasks.popleft())
        return True


def begun(service, *, skip):
    """A task, which is for somebody who has not passed it over."""
    task = service.task(4, skip=skip)
    if task is not None:
        wanted = [task.reader] if task.reader else service.readers.values()
        assert task.first >= min(reader.granted for reader in wanted)
    return task


class Feeder:
    """A feeder with batches of one size, which may die and begin again.

    It may be given slots beyond its need, which it gives back unwritten at the end of an epoch.
    """

    def __init__(self, order, *, lengths, batch, ahead=0):
        self.order, self.lengths, self.batch, self.ahead = order, lengths, batch, ahead
        self.epoch = self.position = self.need = self.turns = 0
        self.task = None
        self.again = deque()

    def prepare(self, service, *, skip):
        self.turns += 1
        assert self.turns < TURNS, "the loop never ends"
        if not self.need:
            return False
        if self.again:
            self.task = self.again.popleft()
        elif (fed := service.feed(max(self.need, self.ahead), skip=skip)) is not None:
            first, slots = fed
            ids = self.order.ids(first, len(slots))
            self.task = Task(first=first, slots=slots, ids=ids, epoch=self.epoch)
        if self.task is None:
            return False
        assert len(self.task.slots) <= max(self.need, self.ahead)
        self.need = 0
        return True

    def busy(self):
        return not self.need and self.epoch < self.order.epochs

    def step(self, played):
        """Whether the feeder had something to do."""
        if self.task is not None and played.random.random() < played.deaths:
            self.again.append(self.task)
            self.epoch, self.position = self.order.place(played.service.window.published)
            self.task = None
            return True
        if self.need or self.epoch == self.order.epochs:
            return False
        left = self.lengths[self.epoch] - self.position
        item = min(self.batch - self.position % self.batch, left)
        if not left:
            self.end_epoch(played)
        elif self.task is None:
            self.need = item
        else:
            count = min(item, len(self.task.slots))
            played.finish(self.task.part(0, count))
            self.position += count
            rest = self.task.part(count, len(self.task.slots))
            self.task = rest if len(rest.slots) else None
        return True

    def end_epoch(self, played):
        end = self.order.start(self.epoch) + self.lengths[self.epoch]
        self.order.close(self.epoch, end)
        self.task = None
        self.again.clear()
        played.service.withdraw(end)
        played.epoch_ended()
        self.epoch, self.position = self.epoch + 1, 0


class Member:
    """A reader: what it was granted, what it got, and what it keeps."""

    def __init__(self, reader):
        self.reader = reader
        self.kept = deque()  # of batches in use: their numbers and slots
        self.gone = False
        self.lost = 0  # of epochs that were closed or left
        self.begin()

    def begin(self):
        """Nothing is at hand, and nothing of the epoch was had."""
        self.hand, self.aside, self.back = [], 0, []
        self.books, self.asked, self.at_end, self.lent = Ledger(), False, False, False
        self.next = None

    @property
    def in_use(self):
        loose = [slot for _, slot in self.hand if slot != SKIPPED]
        return [*loose, *(slot for _, slots in self.kept for slot in slots)]

    @property
    def at_hand(self):
        return self.aside + sum(slot != SKIPPED for _, slot in self.hand)


class Played:
    """One stream; its methods are what can happen at any time."""

    def __init__(self, order, *, slots, pool, random, bad=(), deaths=0.05):
        self.order, self.pool, self.random, self.deaths = order, pool, random, deaths
        self.bad = set(bad)
        self.columns = columns_of(slots)
        ticks = count()
        self.service = Service(order, self.columns, first=0, clock=lambda: float(next(ticks)))
        self.members = []
        self.keys = count()
        self.later = []
        self.files = ExitStack()

    # The conductor's side.

    def turn(self):
        self.pool.turns = 0
        hand_out(self.service, self.pool, self.grant)
        self.check()

    def work(self):
        """Whether whoever prepares had something to do."""
        return self.pool.step(self) and (self.turn() or True)

    def finish(self, task):
        in_use = {slot for member in self.members for slot in member.in_use}
        ids = task.ids.tolist()
        for offset, (slot, sample) in enumerate(zip(task.slots.tolist(), ids, strict=True)):
            assert slot not in in_use, "written while in use"
            self.columns.numbers[slot], self.columns.ids[slot] = task.first + offset, sample
        failed = [offset for offset, sample in enumerate(ids) if sample in self.bad]
        self.service.prepared(task, np.array(failed, np.int64))

    def grant(self, grant):
        (member,) = (each for each in self.members if each.reader is grant.reader)
        if member.next is not None:
            assert grant.first == member.next + grant.gap
        assert grant.gap == 0 or member.reader.policy == "drop"
        numbers = range(grant.first, grant.first + len(grant.slots))
        member.next = numbers.stop
        member.hand += zip(numbers, grant.slots.tolist(), strict=True)
        member.lent = bool(grant.flags & ZERO_COPY)
        member.at_end = bool(grant.flags & ENDS)
        member.asked = False
        assert member.at_hand <= member.reader.batch

    def check(self):
        slots, window = self.service.slots, self.service.window
        assert slots.free == np.count_nonzero(slots._is_free)
        assert (slots._holders >= 0).all()
        assert (slots._lent >= 0).all()
        assert not (slots._is_free & (slots._holders > 0)).any()
        assert np.count_nonzero(slots._lent) <= LENT * slots.count
        assert window.published <= window.head
        assert window.tail <= window.head
        for reader in self.service.readers.values():
            if reader.live_from is not None:
                assert window.head - max(reader.granted, reader.live_from) <= slots.count
        for member in self.members:
            assert member.reader.lost == member.lost + member.reader.dropped.count
            for numbers, kept in member.kept:
                assert self.columns.numbers[kept].tolist() == numbers
            had = [(number, slot) for number, slot in member.hand if slot != SKIPPED]
            assert [(self.columns.numbers[slot], slot) for _, slot in had] == had

    def epoch_ended(self):
        later, self.later = self.later, []
        for member, place in later:
            if not member.gone:
                want, asked = member.reader.want, member.reader.asked
                self.put(member, place)
                member.reader.want, member.reader.asked = want, asked

    def put(self, member, place):
        number = self.order.number(*place)
        member.lost += member.reader.dropped.count
        if number is None:
            self.later.append((member, place))
            number = NOWHERE
        reader = member.reader
        if reader.key in self.service.readers:
            self.service.move(reader, number)
        else:
            self.service.join(reader, number)
        reader.epoch = place[0]

    def can_begin(self, place):
        """Whether the stream still has that place."""
        number = self.order.number(*place)
        gone = number is not None and number < self.service.window.tail
        return place[0] < self.order.epochs and not (gone and self.order.samples is None)

    # The readers' side.

    def join(self, *, batch, policy, start="epoch", room=10**6):
        """A reader comes, if it can."""
        epoch = self.service.current_epoch()
        now = self.order.place(self.service.window.published)
        place = {"epoch": (epoch, 0), "next": (epoch + 1, 0), "now": now}[start]
        if not self.can_begin(place):
            return
        reader = Subscription(key=next(self.keys), name="", peer=None, batch=batch, policy=policy)
        if policy == "spill":
            reader.spill = Spill(room * RECORD)
            self.files.callback(reader.spill.close)
        member = Member(reader)
        self.members.append(member)
        self.put(member, place)
        self.turn()

    def leave(self, member, *, keep):
        """A reader goes; batches that it keeps stay as they are."""
        member.hand, member.gone = [], True
        if not keep:
            member.kept.clear()
        slots = [slot for _, kept in member.kept for slot in kept]
        self.service.leave(member.reader, np.array(slots, np.int64))
        if not keep:
            self.service.give_back(member.reader.key)
            self.members.remove(member)
        self.turn()

    def move(self, member, place):
        """A reader goes on elsewhere; what it had at hand goes back, what it keeps stays."""
        if not self.can_begin(place):
            return
        slots = [slot for _, slot in member.hand if slot != SKIPPED] + member.back
        self.later = [each for each in self.later if each[0] is not member]
        self.service.release(member.reader, np.array(slots, np.int64))
        member.back = []
        if self.can_begin(place):
            member.begin()
            self.put(member, place)
            self.turn()
        else:
            self.leave(member, keep=False)

    def is_done(self, member):
        return member.gone or member.reader.epoch == self.order.epochs

    def act(self, member, *, keep):
        """Whether a reader could do something; it keeps its last so many batches."""
        if self.is_done(member) or member.asked:
            return False
        missing = member.reader.batch - member.at_hand
        if missing and not member.at_end:
            self.copy(member)
            self.release(member)
            self.service.want(member.reader, missing)
            member.asked = True
        elif member.at_hand:
            self.batch(member, keep)
        else:
            self.close(member)
        self.turn()
        return True

    def copy(self, member):
        """Take what is at hand, so that its slots can be released."""
        slots = self.take(member)
        member.aside += len(slots)
        member.back += slots

    def take(self, member):
        numbers = [number for number, slot in member.hand if slot != SKIPPED]
        slots = [slot for _, slot in member.hand if slot != SKIPPED]
        assert self.columns.numbers[slots].tolist() == numbers
        member.books += ledger_of(self.columns.ids[slots])
        member.hand = []
        return slots

    def release(self, member):
        self.service.release(member.reader, np.array(member.back, np.int64))
        member.back = []

    def batch(self, member, keep):
        if member.lent and not member.aside and keep:
            slots = self.take(member)
            member.kept.append((self.columns.numbers[slots].tolist(), slots))
        else:
            self.copy(member)
        member.aside = 0
        while len(member.kept) > keep:
            member.back += member.kept.popleft()[1]

    def close(self, member):
        self.release(member)
        lost = member.reader.dropped.count
        member.lost += lost
        assert lost == 0 or member.reader.policy == "drop"
        assert self.service.close_epoch(member.reader) == member.books
        member.books, member.at_end, member.hand = Ledger(), False, []
