"""A decode worker: reads and transforms samples straight into the slots it is told."""

from __future__ import annotations

import socket
import traceback
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
from batchcast.order import seed_of, sow
from batchcast.source import Source

PROBED = 5
"""Samples that are looked at before the layout is settled."""


@dataclass(slots=True)
class _Clock:
    """Nanoseconds spent on the stages of one task: read, transform, store, and their CPU time."""

    stages: NDArray[np.int64] = field(default_factory=lambda: np.zeros(4, np.int64))


def work(peer: socket.socket, source: Source) -> None:
    """Serve tasks until the conductor is gone."""
    keep_memory()
    columns: Columns | None = None
    while (message := receive(peer, TO_CHILD)) is not None:
        try:
            if message.kind is Kind.LAYOUT:
                send_json(peer, Kind.LAYOUT, _layout(source).as_json())
            elif message.kind is Kind.WELCOME:
                columns = arena_of(message, Welcome.of(message), writable=True)
            elif columns is not None:
                _decode(peer, source, columns=columns, task=message)
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


def _decode(peer: socket.socket, source: Source, *, columns: Columns, task: Message) -> None:
    slots, ids = task.numbers().reshape(2, -1)
    if len(source.samples_of or ()) != task.second >> 32:
        raise LengthChanged(
            f"The data set had {task.second >> 32} samples and has "
            f"{len(source.samples_of or ())} now. A stream needs the same samples every epoch."
        )
    clock = _Clock()
    started_cpu = thread_time_ns()
    failed = []
    for offset, (slot, sample_id) in enumerate(zip(slots.tolist(), ids.tolist(), strict=True)):
        try:
            sample = _sample(source, sample_id, epoch=task.second & 0xFFFFFFFF, clock=clock)
            started = perf_counter_ns()
            columns.write(slot, sample, number=task.first + offset, sample_id=sample_id)
            clock.stages[2] += perf_counter_ns() - started
        except Exception as error:
            failed.append(offset)
            send(peer, Kind.FAILED, first=task.first + offset, body=_failure(sample_id, error))
    clock.stages[3] = thread_time_ns() - started_cpu
    body = np.concatenate([clock.stages, np.array(failed, np.int64)]).tobytes()
    send(peer, Kind.DONE, body, first=task.first, second=len(slots))


def _sample(source: Source, sample_id: int, *, epoch: int, clock: _Clock) -> Any:
    """One sample as it is stored, drawn by seeds of its own."""
    sow(seed_of(source.seed, epoch, sample_id))
    started = perf_counter_ns()
    assert source.samples_of is not None
    sample = source.samples_of[sample_id]
    read = perf_counter_ns()
    clock.stages[0] += read - started
    if source.shared is not None:
        sample = source.shared(sample)
        clock.stages[1] += perf_counter_ns() - read
    return sample


def _failure(sample_id: int, error: Exception) -> bytes:
    return as_text(SampleFailed(f"Sample {sample_id} could not be prepared. {_told(error)}"))


def _told(error: Exception) -> str:
    """What went wrong and, for errors that are not ours, where."""
    if isinstance(error, StreamError):
        return f"Why: {error}."
    where = "".join(traceback.format_tb(error.__traceback__)[-2:]).strip()
    return f"{type(error).__name__}: {error}\n{where}"
