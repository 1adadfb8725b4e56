"""The conductor: one process, one thread, one loop that holds the whole state of a stream.

Readers, workers and the owner only send packets; nobody else decides anything, so there is no lock
and no race. A peer that dies closes its connection, and the loop hears of it at once.
"""

from __future__ import annotations

import json
import os
import socket
from collections import deque
from dataclasses import replace
from time import monotonic

import numpy as np

from batchcast.acceptor import Acceptor
from batchcast.arena import Columns, make_arena, slots_within
from batchcast.counts import counts
from batchcast.dispatch import hand_out
from batchcast.errors import ArgumentError, BatchcastError, StreamGarbled, as_text
from batchcast.frontend import Frontend
from batchcast.greetings import Welcome, layout_from, whole
from batchcast.layout import Layout
from batchcast.listening import Listening
from batchcast.messages import (
    FROM_CHILD,
    FROM_OWNER,
    FROM_READER,
    Kind,
    Message,
    receive,
    send,
    send_json,
)
from batchcast.order import Order
from batchcast.service import Service
from batchcast.settings import Settings
from batchcast.worker_pool import TRIES, Child, Task, WorkerPool, died, task_of
from batchcast.zygote import Making


class _Stop(Exception):
    """The owner wants an end, or is gone."""


class Conductor:
    """Serves one stream until its owner stops it.

    Args:
        listener: readers connect to it.
        owner: connection to the process that shares the stream.
        settings: what was asked for.
        making: what makes the samples.
        order: of the samples.
        restarts: whether a feeder that died may begin again.
    """

    def __init__(
        self,
        listener: socket.socket,
        owner: socket.socket,
        *,
        settings: Settings,
        making: Making,
        order: Order,
        restarts: bool,
    ) -> None:
        self._listener = listener
        self._owner = owner
        self._settings = settings
        self._pool = WorkerPool(making, size=settings.workers)
        self._order = order
        self._restarts = restarts
        self._frontend = Frontend(settings, order)
        self._acceptor = Acceptor()
        self._listening = Listening()
        self._layout: Layout | None = None
        self._arena = -1
        self._columns: Columns | None = None
        self._service: Service | None = None
        self._again: deque[Task] = deque()
        self._needed = self._need_in = 0
        self._begins: int | None = None
        self._broken: bytes | None = None
        self._first_failure, self._was_finished = "", False

    def run(self) -> None:
        """Serve until the owner says so, or is gone."""
        self._listening.to(self._listener, self._accept)
        self._listening.to(self._owner, self._hear_owner)
        try:
            self._start_child()
            while True:
                self._listening.hear(self._frontend.patience)
                self._advance()
        except _Stop:
            return
        finally:
            self._pool.end()

    def forget(self) -> None:
        """Close, in a process that was forked, what belongs to this one."""
        self._listening.close()
        for each in (self._listener, self._owner, *self._frontend.peers, *self._pool.peers):
            each.close()
        if self._arena >= 0:
            os.close(self._arena)

    # The loop's heart: hand out what can be handed out.

    def _advance(self) -> None:
        if self._service is None:
            self._begin()
        if self._service is None or self._broken is not None:
            return
        hand_out(self._service, self, self._frontend.grant)
        while self._frontend.dismiss_failed():
            hand_out(self._service, self, self._frontend.grant)
        if (finished := self._is_finished()) and not self._was_finished:
            send(self._owner, Kind.FINISHED)
        self._was_finished = finished
        self._listening.let_gather(each=self._pool.each, slots=self._service.slots.count)

    def prepare(self, service: Service, *, skip: bool) -> bool:
        """Whether any work was handed out."""
        if self._order.is_fed:
            return self._give_slots(service, skip=skip)
        any_task = False
        chunk = max(1, min(self._pool.chunk(), service.slots.count // (4 * self._pool.size)))
        while (child := self._pool.idlest()) is not None:
            task = self._again.popleft() if self._again else service.task(chunk, skip=skip)
            if task is None:
                break
            self._assign(child, task)
            any_task = True
        return any_task

    def busy(self) -> bool:
        """Whether something is being prepared, so that waiting makes sense."""
        comes = self._order.is_fed and not (self._needed or self._is_all_fed())
        return self._pool.busy or comes

    # Children: workers or a feeder.

    def _load(self) -> None:
        """Have the source loaded, in a process that children are forked from."""
        self._listening.to(self._pool.load(self.forget), self._hear_zygote)

    def _hear_zygote(self, peer: socket.socket) -> None:
        """The source is loaded, or it cannot be; a zygote that died is replaced once asked."""
        try:
            for child in self._pool.loaded():
                self._greet_child(child)
        except BatchcastError as error:
            self._listening.leave(peer)
            self._break(as_text(error))
        except ConnectionError:
            self._listening.leave(peer)
            if self._pool.missing:
                self._load()

    def _start_child(self) -> None:
        """One more child, as soon as there is something to fork it from."""
        child = self._pool.start()
        if child is not None:
            self._greet_child(child)
        elif not self._pool.loads:
            self._load()

    def _greet_child(self, child: Child) -> None:
        self._listening.to(child.peer, self._hear_child)
        if self._columns is not None:
            self._welcome_child(child)
        elif self._layout is None and not self._order.is_fed:
            send(child.peer, Kind.LAYOUT)

    def _welcome_child(self, child: Child) -> None:
        """A feeder begins after what is prepared."""
        place = self._service.frontier if self._service else self._frontend.first_place()
        welcome = replace(self._welcome(*place), epochs=self._order.most)
        send_json(child.peer, Kind.WELCOME, welcome.as_json(), descriptors=[self._arena])

    def _assign(self, child: Child, task: Task) -> None:
        child.tasks.append(task)
        body = np.concatenate([task.slots, task.ids]).tobytes()
        samples = self._order.samples or 0
        send(child.peer, Kind.TASK, body, first=task.first, second=samples << 32 | task.epoch)

    def _give_slots(self, service: Service, *, skip: bool) -> bool:
        """Slots for the feeder that asks; first those that a feeder before it left unwritten."""
        if not self._needed:
            return self._give_order()
        (child,) = self._pool.children.values()
        if not self._again and service.is_deserted:
            self._needed = 0
            send(child.peer, Kind.SLOTS, second=self._need_in)
            return True
        if not self._again:
            ahead = self._pool.soon(service.slots.count)
            if (fed := service.feed(max(self._needed, ahead), skip=skip)) is None:
                return False
            self._again.append(task_of(self._order, *fed))
        task = self._again.popleft()
        self._needed = 0
        child.tasks.append(task)
        send(child.peer, Kind.SLOTS, task.slots.tobytes(), first=task.first, second=self._need_in)
        return True

    def _give_order(self) -> bool:
        """What the epoch's order is drawn from, for the feeder that begins one."""
        if self._begins is None or (found := self._frontend.order_of(self._begins)) is None:
            return False
        (child,) = self._pool.children
        found.tell(child, self._begins)
        self._begins = None
        return True

    def _hear_child(self, peer: socket.socket) -> None:
        child = self._pool.children[peer]
        try:
            if (message := receive(peer, FROM_CHILD)) is None:
                self._replace(child)
            else:
                self._heed_child(child, message)
        except StreamGarbled as error:
            self._break(as_text(error))

    def _heed_child(self, child: Child, message: Message) -> None:
        if message.kind is Kind.LAYOUT and self._layout is None:
            self._learn_layout(message)
        elif message.kind is Kind.REFUSED:
            self._break(message.body)
        elif message.kind is Kind.FAILED:
            self._sample_failed(message.body)
        elif message.kind is Kind.NEED:
            self._needed = whole("samples", message.first, least=1)
            self._need_in = whole("epoch", message.second)
        elif message.kind is Kind.ORDER:
            self._begins = whole("epoch", message.first)
        elif message.kind is Kind.OVER:
            self._end_epoch(message)
        elif message.kind is Kind.DONE:
            assert self._service is not None
            self._service.prepared(*self._pool.done(child, message))

    def _end_epoch(self, message: Message) -> None:
        start = self._order.start(whole("epoch", message.first))
        if start is None or not self._order.is_fed:
            raise StreamGarbled("A feeder is done with an epoch that it has not begun.")
        end = start + whole("samples", message.second)
        self._order.close(message.first, end)
        self._frontend.drawn.ended(message.first, message.body)
        self._needed = 0  # what was asked for is not needed in this epoch
        if self._service is not None:
            self._again.clear()
            self._pool.drop_tasks()
            self._service.withdraw(end)
        self._frontend.epoch_ended()

    def _replace(self, child: Child) -> None:
        """A child died: another one does what it left, and what readers that come later ask for."""
        self._listening.leave(child.peer)
        self._pool.bury(child)
        if self._broken is not None or self._is_all_fed():
            return
        if self._layout is None or not self._restarts:
            if not self._is_finished():
                self._break(as_text(died(fed=self._order.is_fed)))
            return
        self._needed, self._begins = 0, None
        self._pool.restarts += 1
        for index, task in enumerate(child.tasks):
            self._again.extend(self._pieces(task, suspect=not index))
        self._start_child()

    def _pieces(self, task: Task, *, suspect: bool) -> list[Task]:
        """What a dead child left; a sample that kills every worker is given up."""
        if self._order.is_fed:
            return [task]
        deaths = task.deaths + suspect
        if deaths < TRIES:
            return task.singly(deaths)
        self._sample_failed(as_text(task.deadly(deaths)))
        assert self._service is not None
        self._service.prepared(task, np.zeros(1, np.int64))
        return []

    def _learn_layout(self, message: Message) -> None:
        self._layout = self._frontend.layout = layout_from(message.json())
        self._frontend.drawn.learn(noisy=self._settings.may_follow and bool(message.second))
        try:
            slots = slots_within(self._settings.memory, self._layout, together=1)
            self._arena = make_arena(self._layout, slots)
        except ArgumentError as error:
            self._break(as_text(error))
            return
        for _ in range(self._pool.size - 1):
            self._start_child()
        told = {"sample_bytes": self._layout.sample_bytes, "slots": slots}
        send_json(self._owner, Kind.READY, told)

    def _begin(self) -> None:
        """As soon as enough readers wait, the stream begins where the last of them is."""
        if self._layout is None or not self._frontend.complete or self._broken is not None:
            return
        together = self._frontend.together()
        slots = slots_within(self._settings.memory, self._layout, together=together)
        self._columns = Columns(self._arena, self._layout, slots=slots, writable=True)
        epoch, position = self._frontend.first_place()
        if self._order.is_fed:
            self._order.begin(epoch)
        for child in self._pool.children.values():
            self._welcome_child(child)
        first = self._order.number(epoch, position)
        assert first is not None
        self._service = Service(self._order, self._columns, first=first, clock=monotonic)
        self._frontend.open(self._service, arena=self._arena, welcome=self._welcome)

    def _welcome(self, epoch: int, position: int) -> Welcome:
        """What whoever begins there must know."""
        assert self._layout is not None
        assert self._columns is not None
        return Welcome.by(
            self._settings,
            layout=self._layout,
            slots=self._columns.slots,
            samples=self._order.samples,
            follows=self._frontend.drawn.follows,
            noisy=self._frontend.drawn.noisy,
            epoch=epoch,
            position=position,
            about=self._frontend.about(),
        )

    def _is_finished(self) -> bool:
        """Whether every reader that came has had all epochs or is gone."""
        return self._service is not None and self._frontend.have_had_all

    def _is_all_fed(self) -> bool:
        """Whether a feeder has nothing left to do; workers may be needed until the end."""
        last = self._order.last()
        published = self._service.window.published if self._service else 0
        return self._order.is_fed and last is not None and published >= last

    def _break(self, body: bytes) -> None:
        """Nothing can go on: everybody is told why, now or when they come."""
        if self._broken is None:
            self._broken = body
            send(self._owner, Kind.REFUSED, body)
            self._frontend.tell_all(Kind.REFUSED, body)

    def _sample_failed(self, body: bytes) -> None:
        if self._settings.on_error == "raise":
            self._break(body)
        self._first_failure = self._first_failure or body.decode(errors="replace")

    def _accept(self, listener: socket.socket) -> None:
        if (peer := self._acceptor.accept(listener)) is not None:
            self._listening.to(peer, self._hear_reader)

    def _hear_reader(self, peer: socket.socket) -> None:
        try:
            if (message := receive(peer, FROM_READER)) is None:
                self._lose(peer)
            else:
                self._heed_reader(peer, message)
        except StreamGarbled as error:
            send(peer, Kind.REFUSED, as_text(error))
            self._lose(peer)

    def _lose(self, peer: socket.socket) -> None:
        self._listening.leave(peer)
        self._frontend.lose(peer)
        peer.close()

    def _heed_reader(self, peer: socket.socket, message: Message) -> None:
        if self._broken is not None:
            send(peer, Kind.REFUSED, self._broken)
        elif message.kind is Kind.STATS:
            send(peer, Kind.STATS, json.dumps(self._stats()).encode())
        else:
            self._frontend.hear(peer, message)
            if message.kind is Kind.LOOKED and not self._pool.children and not self._is_all_fed():
                self._start_child()  # the feeder had done everything, and somebody takes more

    def _hear_owner(self, owner: socket.socket) -> None:
        if (message := receive(owner, FROM_OWNER)) is None or message.kind is Kind.STOP:
            raise _Stop
        if message.kind is Kind.EXPECT:
            self._frontend.expected = message.first
        else:
            send(owner, Kind.STATS, json.dumps(self._stats()).encode())

    def _stats(self) -> dict[str, object]:
        said = {"name": self._settings.name, "first_failure": self._first_failure}
        told = {"readers": self._frontend.stats(), "absent": self._frontend.absent}
        return {**said, **told, **counts(self._service, self._columns), **self._pool.stats()}
