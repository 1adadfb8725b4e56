"""A feeder: goes through somebody else's iterable and copies what it yields into slots."""

from __future__ import annotations

import json
import socket
import traceback
from collections import deque
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from time import perf_counter_ns, thread_time_ns
from typing import Any, cast

import numpy as np

from batchcast.arena import Columns
from batchcast.drawn_order import FIRST, LAST
from batchcast.errors import LengthChanged, SampleFailed, StreamError, as_text
from batchcast.generator_states import GeneratorStates
from batchcast.greetings import Welcome, arena_of
from batchcast.heap import keep_memory
from batchcast.items import Item, Items, Stack, first_items, joined
from batchcast.messages import TO_CHILD, Kind, receive, send
from batchcast.order import draw_numbers, generators_kept, seed_of, sow
from batchcast.source import Source, length_of

QUICK = 0.001
"""Seconds below which an item is not told by itself: a packet to who sleeps takes a good part."""

LATE = 0.004
"""Seconds for which items that are quick are told together, at most."""

JOINED = 1 << 18
"""Bytes of quick stacks that are stored as one, about: what stays near a core."""


AS_THEY_ARE = (
    " Or share(..., yields='batches'), which hands batches on as they are, of any kind and shape."
)


class _Gone(Exception):
    """The conductor is gone."""


def feed(peer: socket.socket, source: Source) -> None:
    """Feed every epoch, until the conductor has had enough."""
    keep_memory()
    try:
        _Feeder(peer, source).run()
    except _Gone:
        return
    except StreamError as error:
        send(peer, Kind.REFUSED, as_text(error))
    except Exception as error:
        where = "".join(traceback.format_tb(error.__traceback__)[-2:]).strip()
        told = SampleFailed(f"The loader raised {type(error).__name__}: {error}\n{where}")
        send(peer, Kind.REFUSED, as_text(told))


@dataclass(slots=True)
class _Untold:
    """Numbers side by side that are stored and not told yet, and nanoseconds that they took."""

    start: int = 0
    stop: int = 0
    read: int = 0
    store: int = 0

    def add(self, numbers: range, *, read: int, store: int) -> None:
        """These follow."""
        self.start = numbers.start if self.stop == self.start else self.start
        self.stop = numbers.stop
        self.read += read
        self.store += store

    @property
    def spent(self) -> int:
        """Nanoseconds of all."""
        return self.read + self.store


class _Feeder:
    def __init__(self, peer: socket.socket, source: Source) -> None:
        self._peer = peer
        self._source = source
        self._columns: Columns | None = None
        self._first: int | None = None
        self._own = _Generators(source.batches_of)
        if source.pinned:  # readers pin what they get; here it would only start a GPU
            cast("Any", source.batches_of).pin_memory = False
        self._cpu = thread_time_ns()
        self._slots = self._numbers = range(0)
        self._run = self._epoch = 0
        self._asked = self._follows = False
        self._untold, self._left = _Untold(), b""
        self._may_hold = _never_waits_for_readers(source.batches_of)

    def run(self) -> None:
        items, found = first_items(self._source, self._raw(0))
        layout = json.dumps(found.layout.as_json()).encode()
        send(self._peer, Kind.LAYOUT, layout, second=self._source.reads and self._has_drawn())
        epoch, position, epochs = self._welcome()
        begun = 0
        while epochs is None or epoch < epochs:
            drawn = self._drawn(epoch) if self._follows else GeneratorStates()
            if epoch != begun or any(drawn):
                items.close()
                items = found.of(self._raw(epoch, drawn), epoch=epoch)
            self._feed_epoch(epoch, items, skip=position)
            epoch, position = epoch + 1, 0

    def _welcome(self) -> tuple[int, int, int | None]:
        """The arena, and where to begin."""
        message = self._receive(Kind.WELCOME)
        welcome = Welcome.of(message)
        self._columns = arena_of(message, welcome, writable=True)
        self._follows = welcome.follows
        return welcome.epoch, welcome.position, welcome.epochs

    def _has_drawn(self) -> bool:
        """Whether more was drawn by now, in the first epoch, than an order."""
        now = GeneratorStates.now()
        with generators_kept():
            sow(seed_of(self._source.seed, 0))
            draw_numbers(self._source.draws[0] + self._source.draws[2])
            return now != GeneratorStates.now()

    def _drawn(self, epoch: int) -> GeneratorStates:
        """What the order of an epoch is drawn from, as readers have told that begin it."""
        send(self._peer, Kind.ORDER, first=epoch)
        while (message := self._receive(Kind.ORDER, Kind.SLOTS)).kind is Kind.SLOTS:
            pass  # they were asked for in the epoch before, and taken back
        self._follows = not message.second & LAST
        if message.second & FIRST and getattr(self._source.batches_of, "persistent_workers", False):
            cast("Any", self._source.batches_of)._iterator = None  # its workers had another seed
        return GeneratorStates.of(message.body)

    def _raw(self, epoch: int, drawn: GeneratorStates | None = None) -> Iterator[Any]:
        """What the iterable yields, in an order that depends on the seeds and the epoch only.

        Args:
            epoch: of the stream.
            drawn: that the generators go on from; nothing for those of the stream's seed.
        """
        loader = self._source.batches_of
        self._own.go_to(epoch)
        sow(seed_of(self._source.seed, epoch))
        for part in _parts(loader):
            if hasattr(part, "set_epoch"):
                part.set_epoch(epoch)
        assert loader is not None
        if drawn and any(drawn):
            loop = iter(loader) if self._source.waits else loader
            drawn.put()
            yield from loop
            self._left = GeneratorStates.now().as_bytes() if self._source.reads else b""
        else:
            yield from loader
        self._own.ended(epoch)

    def _feed_epoch(self, epoch: int, items: Items, *, skip: int) -> None:
        """Feed one epoch, or as much of it as anybody wants."""
        position, wanted = 0, True
        self._epoch, self._asked, self._left = epoch, False, b""
        with closing(items):
            for item, read in self._gathered(items):
                begin = min(len(item), max(0, skip - position))
                stored = self._store(item, begin, position=position, read=read)
                position += stored
                if not (wanted := stored == len(item)):
                    break
        if wanted:
            self._check_length(epoch, position)
        self._tell()
        self._slots = self._numbers = range(0)  # those that are left are for the next epoch
        send(self._peer, Kind.OVER, self._left, first=epoch, second=position)

    def _gathered(self, items: Items) -> Iterator[tuple[Item, int]]:
        """Items and the nanoseconds that they took; quick stacks that are alike come as one.

        What it takes to store a light batch hardly depends on its size.
        """
        stacks: list[Stack] = []
        spent = samples = size = 0
        started = perf_counter_ns()
        for item in items:
            took = perf_counter_ns() - started
            if stacks and not (isinstance(item, Stack) and item.is_like(stacks[0])):
                yield joined(stacks), spent
                stacks, spent, samples, size = [], 0, 0, 0
            spent += took
            if not (self._may_hold and isinstance(item, Stack) and item.size):
                yield item, spent
                spent = 0
            else:
                stacks.append(item)
                samples, size = samples + len(item), size + item.size
                late = took > QUICK * 1e9 or spent > LATE * 1e9
                if late or samples >= self._run or size >= JOINED:
                    yield joined(stacks), spent
                    stacks, spent, samples, size = [], 0, 0, 0
            started = perf_counter_ns()
        if stacks:
            yield joined(stacks), spent

    def _store(self, item: Item, begin: int, *, position: int, read: int) -> int:
        """Copy what follows `begin` into slots, as the conductor gives them; how far it went."""
        assert self._columns is not None
        while begin < len(item):
            if not self._slots and not self._given(len(item) - begin):
                return begin  # nobody reads the rest of this epoch
            self._ask(len(item))  # the next ones come meanwhile, so that nobody is woken up
            started = perf_counter_ns()
            end = min(len(item), begin + len(self._slots))
            slots, self._slots = _cut(self._slots, end - begin)
            numbers, self._numbers = _cut(self._numbers, end - begin)
            try:
                item.store(
                    self._columns,
                    slice(slots.start, slots.stop),
                    begin,
                    numbers=numbers,
                    first_id=position + begin,
                )
            except SampleFailed as error:
                place = position + begin
                other = AS_THEY_ARE if self._source.yields == "stacks" else ""
                raise SampleFailed(
                    f"From sample {place} of an epoch on: {error}.{other}"
                ) from error
            self._untold.add(numbers, read=read, store=perf_counter_ns() - started)
            if not (self._may_hold and read < QUICK * 1e9 and self._untold.spent < LATE * 1e9):
                self._tell()
            begin, read = end, 0
        return len(item)

    def _tell(self) -> None:
        """Tell of what was stored since this was last done."""
        untold, self._untold = self._untold, _Untold()
        if count := untold.stop - untold.start:
            stages = np.array([untold.read, 0, untold.store, self._cpu_since()], np.int64)
            send(self._peer, Kind.DONE, stages.tobytes(), first=untold.start, second=count)

    def _ask(self, need: int) -> None:
        """Ask for so many slots, unless some are on their way."""
        if not self._asked:
            send(self._peer, Kind.NEED, first=need, second=self._epoch)
            self._asked = True

    def _given(self, need: int) -> bool:
        """Whether the conductor gives slots; they lie side by side, and may be more than needed."""
        self._tell()
        self._ask(need)
        while (message := self._receive(Kind.SLOTS)).second != self._epoch:
            pass  # they were asked for in an epoch that is over, and taken back
        self._asked = False
        slots = message.numbers()
        if not len(slots):
            return False
        self._run = len(slots)
        self._slots = range(int(slots[0]), int(slots[-1]) + 1)
        self._numbers = range(message.first, message.first + len(slots))
        return True

    def _cpu_since(self) -> int:
        """Nanoseconds of CPU time since this was last asked."""
        before, self._cpu = self._cpu, thread_time_ns()
        return self._cpu - before

    def _check_length(self, epoch: int, samples: int) -> None:
        """A loader with a length has as many samples in every epoch."""
        if not samples:
            raise SampleFailed(
                f"The loader gave nothing in epoch {epoch}. An iterator can be gone through only "
                "once: give share(...) epochs=1, or an object that starts anew each time."
            )
        self._first = self._first or samples
        told = length_of(self._source.batches_of) is not None and not self._source.whole
        if samples != self._first and told:
            raise LengthChanged(
                f"The loader gave {self._first} samples in one epoch and {samples} in epoch "
                f"{epoch}, and tells its length. Share it with share(..., yields='batches'), which "
                "takes epochs of any length."
            )

    def _receive(self, *kinds: Kind) -> Any:
        message = receive(self._peer, TO_CHILD)
        if message is None:
            raise _Gone
        if message.kind not in kinds:
            raise AssertionError(f"The feeder expected {kinds}, got {message.kind.name}.")
        return message


def _cut(numbers: range, count: int) -> tuple[range, range]:
    """The first so many, and the rest."""
    return numbers[:count], numbers[count:]


def _never_waits_for_readers(loader: Any) -> bool:
    """Whether a source has all its samples by itself: a loader of a data set with an index.

    Whatever else yields batches may wait for what a reader does with the one before.
    """
    from torch.utils.data import DataLoader, IterableDataset

    return isinstance(loader, DataLoader) and not isinstance(loader.dataset, IterableDataset)


def _parts(loader: Any) -> list[Any]:
    """What an iterable may draw its order from: itself, its samplers, its data set."""
    sampler = getattr(loader, "sampler", None)
    batch_sampler = getattr(loader, "batch_sampler", None)
    inner = getattr(batch_sampler, "sampler", None)
    found = [loader, sampler, batch_sampler, inner, getattr(loader, "dataset", None)]
    return list({id(part): part for part in found if part is not None}.values())


class _Generators:
    """The generators that a user gave a loader, which go on from epoch to epoch as over a loader.

    An epoch that ends early, or that a feeder begins with, finds them as whole epochs leave them.
    """

    def __init__(self, loader: Any) -> None:
        from torch import Generator

        self._loader = loader
        drawing = [part for part in _parts(loader) if part is not getattr(loader, "dataset", None)]
        given = [getattr(part, "generator", None) for part in drawing]
        own = {id(each): each for each in given if isinstance(each, Generator)}
        batches = getattr(loader, "batch_sampler", None)
        self._order: Any = getattr(loader, "sampler", ()) if batches is None else batches
        self._batches = length_of(self._order)
        # An order without an end goes on wherever it was left, as over a loader.
        self._own = [] if self._batches is None else list(own.values())
        self._states = {0: self._state()}

    def _state(self) -> list[Any]:
        return [each.get_state() for each in self._own]

    def go_to(self, epoch: int) -> None:
        """Put them where an epoch begins."""
        if not self._own:
            return
        known = max(each for each in self._states if each <= epoch)
        self._put(known)
        for each in range(known, epoch):
            self._draw_epoch(each)
        self._states[epoch] = self._state()

    def ended(self, epoch: int) -> None:
        """They are where an epoch has left them."""
        self._states = {0: self._states[0], epoch + 1: self._state()}

    def _put(self, epoch: int) -> None:
        for each, state in zip(self._own, self._states[epoch], strict=True):
            each.set_state(state)

    def _draw_epoch(self, epoch: int) -> None:
        """Draw what a loop over the loader draws in an epoch: a seed for workers, and an order."""
        import torch

        loader = self._loader
        keeps = getattr(loader, "persistent_workers", False)
        own = getattr(loader, "generator", None)
        if own is not None and not (keeps and epoch):
            torch.empty((), dtype=torch.int64).random_(generator=own)
        assert self._batches is not None
        deque(islice(self._order, self._batches + 1), maxlen=0)  # at its end an order may draw too
