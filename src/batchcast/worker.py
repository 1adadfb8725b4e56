"""A decode worker: reads and transforms samples straight into the slots it is told.

Whatever a sample draws comes from a seed of its own, whoever prepares it with which others. Seeding
takes longer than many a sample, so a task is tried with one seed first: where nothing was drawn, it
made no difference, and otherwise the task is done again, sample by sample.
"""

from __future__ import annotations

import socket
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter_ns, thread_time_ns
from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchcast.arena import Columns
from batchcast.errors import LengthChanged, SampleFailed, StreamError, as_text
from batchcast.greetings import Welcome, arena_of
from batchcast.heap import keep_memory
from batchcast.layout import Layout, layout_of
from batchcast.messages import TO_CHILD, Kind, Message, receive, send, send_json
from batchcast.order import fingerprint, seed_of, sow
from batchcast.slots import Numbers
from batchcast.source import Source

PROBED = 5
"""Samples that are looked at before the layout is settled."""

PIECE = 1 << 18
"""Bytes of samples that are read together before they are stored: what stays near a core."""

OBJECTS = 256
"""Samples that are read together at most: their objects stay near a core too. Of light rows, 2,000
at once took twice the processor time."""


@dataclass(slots=True)
class _Clock:
    """Nanoseconds spent on the stages of one task: read, transform, store, and their CPU time."""

    stages: NDArray[np.int64] = field(default_factory=lambda: np.zeros(4, np.int64))


def work(peer: socket.socket, source: Source) -> None:
    """Serve tasks until the conductor is gone."""
    keep_memory()
    worker: _Worker | None = None
    while (message := receive(peer, TO_CHILD)) is not None:
        try:
            if message.kind is Kind.LAYOUT:
                send_json(peer, Kind.LAYOUT, _layout(source).as_json())
            elif message.kind is Kind.WELCOME:
                columns = arena_of(message, Welcome.of(message), writable=True)
                worker = _Worker(peer, source, columns)
            elif worker is not None:
                worker.decode(message)
        except StreamError as error:
            send(peer, Kind.REFUSED, as_text(error))


def _layout(source: Source) -> Layout:
    """The layout of a few samples from the whole of the data set."""
    count = source.samples or 0
    places = sorted({round(each) for each in np.linspace(0, count - 1, PROBED)})
    clock = _Clock()
    try:
        samples = [_sample(source, each, epoch=0, clock=clock) for each in places]
        return layout_of(samples, most=source.longest)
    except Exception as error:
        raise SampleFailed(
            f"One of the first samples that were tried ({', '.join(map(str, places))}) could not "
            f"be prepared. {_told(error)}"
        ) from error


@dataclass(frozen=True, slots=True)
class _Work:
    """One task: where its samples go, which they are, their first number, and what it takes."""

    slots: Numbers
    ids: Numbers
    first: int
    epoch: int
    clock: _Clock


class _Worker:
    """Prepares samples for an arena."""

    def __init__(self, peer: socket.socket, source: Source, columns: Columns) -> None:
        self._peer, self._source, self._columns = peer, source, columns
        self._draws = False
        self._together = max(1, min(OBJECTS, PIECE // max(1, columns.layout.sample_bytes)))

    def decode(self, task: Message) -> None:
        """Do a task, and tell."""
        source, clock = self._source, _Clock()
        slots, ids = task.numbers().reshape(2, -1)
        if len(source.samples_of or ()) != task.second >> 32:
            raise LengthChanged(
                f"The data set had {task.second >> 32} samples and has "
                f"{len(source.samples_of or ())} now. A stream needs the same samples every epoch."
            )
        epoch, started = task.second & 0xFFFFFFFF, thread_time_ns()
        work = _Work(slots, ids, task.first, epoch, clock)
        done = not self._draws and self._is_done_at_once(work)
        failed = [] if done else self._done_singly(work)
        clock.stages[3] = thread_time_ns() - started
        body = np.concatenate([clock.stages, np.array(failed, np.int64)]).tobytes()
        send(self._peer, Kind.DONE, body, first=task.first, second=len(slots))

    def _is_done_at_once(self, work: _Work) -> bool:
        """Whether the task could be done without a draw, and without a sample that fails."""
        seed = seed_of(self._source.seed, work.epoch)
        drawn_first = fingerprint(seed)
        sow(seed)
        try:
            for begin in range(0, len(work.slots), self._together):
                self._store(work, slice(begin, begin + self._together))
        except Exception:  # which sample it was is found when they are done singly
            return False
        self._draws = fingerprint() != drawn_first
        return not self._draws

    def _store(self, work: _Work, piece: slice) -> None:
        ids, first = work.ids[piece], work.first + piece.start
        samples = _samples(self._source, ids.tolist(), work.clock)
        started = perf_counter_ns()
        self._columns.write_many(work.slots[piece], samples, first=first, ids=ids)
        work.clock.stages[2] += perf_counter_ns() - started

    def _done_singly(self, work: _Work) -> list[int]:
        """Every sample by itself, with its own seed; the offsets of those that failed."""
        failed, clock = [], work.clock
        for offset, (slot, number) in enumerate(
            zip(work.slots.tolist(), work.ids.tolist(), strict=True)
        ):
            place = work.first + offset
            try:
                sample = _sample(self._source, number, epoch=work.epoch, clock=clock)
                started = perf_counter_ns()
                self._columns.write(slot, sample, number=place, sample_id=number)
                clock.stages[2] += perf_counter_ns() - started
            except Exception as error:
                failed.append(offset)
                send(self._peer, Kind.FAILED, first=place, body=_failure(number, error))
        return failed


def _sample(source: Source, sample_id: int, *, epoch: int, clock: _Clock) -> Any:
    """One sample as it is stored, drawn by seeds of its own."""
    sow(seed_of(source.seed, epoch, sample_id))
    (sample,) = _samples(source, [sample_id], clock)
    return sample


def _samples(source: Source, ids: list[int], clock: _Clock) -> Sequence[Any]:
    """Samples as they are stored, read together where the data set can, as a DataLoader does it."""
    data: Any = source.samples_of
    started = perf_counter_ns()
    together = getattr(data, "__getitems__", None)
    samples = together(ids) if together else [data[each] for each in ids]
    read = perf_counter_ns()
    clock.stages[0] += read - started
    if source.shared is not None:
        samples = [source.shared(each) for each in samples]
        clock.stages[1] += perf_counter_ns() - read
    return samples


def _failure(sample_id: int, error: Exception) -> bytes:
    return as_text(SampleFailed(f"Sample {sample_id} could not be prepared. {_told(error)}"))


def _told(error: Exception) -> str:
    """What went wrong and, for errors that are not ours, where."""
    if isinstance(error, StreamError):
        return f"Why: {error}."
    where = "".join(traceback.format_tb(error.__traceback__)[-2:]).strip()
    return f"{type(error).__name__}: {error}\n{where}"
