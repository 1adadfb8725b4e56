"""A feeder: goes through somebody else's iterable and copies what it yields into slots."""

from __future__ import annotations

import socket
import traceback
from collections.abc import Iterator
from contextlib import closing
from time import perf_counter_ns, thread_time_ns
from typing import Any, cast

import numpy as np

from batchcast.arena import Columns
from batchcast.errors import LengthChanged, SampleFailed, StreamError, as_text
from batchcast.greetings import Welcome, arena_of
from batchcast.heap import keep_memory
from batchcast.items import Item, Items, first_items
from batchcast.messages import TO_CHILD, Kind, receive, send, send_json
from batchcast.order import seed_of, sow
from batchcast.source import Source


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


class _Feeder:
    def __init__(self, peer: socket.socket, source: Source) -> None:
        self._peer = peer
        self._source = source
        self._columns: Columns | None = None
        self._first: int | None = None
        self._seeds = _own_seeds(source.batches_of)
        if source.pinned:  # readers pin what they get; here it would only start a GPU
            cast("Any", source.batches_of).pin_memory = False
        self._cpu = thread_time_ns()
        self._slots = self._numbers = range(0)

    def run(self) -> None:
        items, found = first_items(self._source, self._raw(0))
        send_json(self._peer, Kind.LAYOUT, found.layout.as_json())
        epoch, position, epochs = self._welcome()
        if epoch:
            items.close()
            items = found.of(self._raw(epoch), epoch=epoch)
        while epochs is None or epoch < epochs:
            self._feed_epoch(epoch, items, skip=position)
            epoch, position = epoch + 1, 0
            items = found.of(self._raw(epoch), epoch=epoch)

    def _welcome(self) -> tuple[int, int, int | None]:
        """The arena, and where to begin."""
        message = self._receive(Kind.WELCOME)
        welcome = Welcome.of(message)
        self._columns = arena_of(message, welcome, writable=True)
        return welcome.epoch, welcome.position, welcome.epochs

    def _raw(self, epoch: int) -> Iterator[Any]:
        """What the iterable yields, in an order that depends on the seeds and the epoch only."""
        seed = seed_of(self._source.seed, epoch)
        sow(seed)
        for part in _parts(self._source.batches_of):
            if (own := self._seeds.get(id(getattr(part, "generator", None)))) is not None:
                part.generator.manual_seed(seed_of(seed, own) >> 1)
            if hasattr(part, "set_epoch"):
                part.set_epoch(epoch)
        assert self._source.batches_of is not None
        yield from self._source.batches_of

    def _feed_epoch(self, epoch: int, items: Items, *, skip: int) -> None:
        """Feed one epoch, or as much of it as anybody wants."""
        position, wanted = 0, True
        started = perf_counter_ns()
        with closing(items):
            for item in items:
                begin = min(len(item), max(0, skip - position))
                read = perf_counter_ns() - started
                stored = self._store(item, begin, position=position, read=read)
                position += stored
                if wanted := stored == len(item):
                    started = perf_counter_ns()
                else:
                    break
        if wanted:
            self._check_length(epoch, position)
        self._slots = self._numbers = range(0)  # those that are left are for the next epoch
        send(self._peer, Kind.OVER, first=epoch, second=position)

    def _store(self, item: Item, begin: int, *, position: int, read: int) -> int:
        """Copy what follows `begin` into slots, as the conductor gives them; how far it went."""
        assert self._columns is not None
        while begin < len(item):
            if not self._slots and not self._given(len(item) - begin):
                return begin  # nobody reads the rest of this epoch
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
                raise SampleFailed(f"From sample {place} of an epoch on: {error}.") from error
            stages = np.array([read, 0, perf_counter_ns() - started, self._cpu_since()], np.int64)
            send(self._peer, Kind.DONE, stages.tobytes(), first=numbers.start, second=len(slots))
            begin, read = end, 0
        return len(item)

    def _given(self, need: int) -> bool:
        """Whether the conductor gives slots; they lie side by side, and may be more than needed."""
        send(self._peer, Kind.NEED, first=need)
        message = self._receive(Kind.SLOTS)
        slots = message.numbers()
        if not len(slots):
            return False
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
        told = hasattr(self._source.batches_of, "__len__") and not self._source.whole
        if samples != self._first and told:
            raise LengthChanged(
                f"The loader gave {self._first} samples in one epoch and {samples} in epoch "
                f"{epoch}. A stream needs the same samples every epoch."
            )

    def _receive(self, kind: Kind) -> Any:
        message = receive(self._peer, TO_CHILD)
        if message is None:
            raise _Gone
        if message.kind is not kind:
            raise AssertionError(f"The feeder expected {kind.name}, got {message.kind.name}.")
        return message


def _cut(numbers: range, count: int) -> tuple[range, range]:
    """The first so many, and the rest."""
    return numbers[:count], numbers[count:]


def _parts(loader: Any) -> list[Any]:
    """What an iterable may draw its order from: itself, its samplers, its data set."""
    sampler = getattr(loader, "sampler", None)
    batch_sampler = getattr(loader, "batch_sampler", None)
    inner = getattr(batch_sampler, "sampler", None)
    found = [loader, sampler, batch_sampler, inner, getattr(loader, "dataset", None)]
    return list({id(part): part for part in found if part is not None}.values())


def _own_seeds(loader: Any) -> dict[int, int]:
    """The seeds that generators of the user's were given, which orders go on depending on."""
    from torch import Generator

    drawing = [part for part in _parts(loader) if part is not getattr(loader, "dataset", None)]
    generators = [getattr(part, "generator", None) for part in drawing]
    return {id(each): each.initial_seed() for each in generators if isinstance(each, Generator)}
