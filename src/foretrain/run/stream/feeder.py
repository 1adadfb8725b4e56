"""A feeder: goes through somebody else's loader and copies its batches into slots."""

from __future__ import annotations

import socket
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter_ns, thread_time_ns
from typing import Any

import numpy as np

from foretrain.run.stream.arena import Columns
from foretrain.run.stream.errors import LengthChanged, SampleFailed, StreamError, as_text
from foretrain.run.stream.heap import keep_memory
from foretrain.run.stream.layout import Form, Layout, fields, layout_of
from foretrain.run.stream.messages import Kind, receive, send, send_json
from foretrain.run.stream.seeds import seed_of, sow
from foretrain.run.stream.source import Source
from foretrain.run.stream.worker import opened


class _Gone(Exception):
    """The conductor is gone."""


@dataclass(frozen=True, slots=True)
class _Batch:
    """A batch of the loader: one array, or one list of fields, for each leaf."""

    form: Form
    leaves: list[Any]

    def __len__(self) -> int:
        return len(self.leaves[0])

    def sample(self, index: int) -> list[Any]:
        """The leaves of one of its samples."""
        return [leaf[index] for leaf in self.leaves]


def feed(peer: socket.socket, source: Source) -> None:
    """Feed every epoch, until the conductor has had enough."""
    import torch

    torch.set_num_threads(1)  # threads of the parent that a forked process waits for never come
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
        self._form: Form = None
        self._lengths: dict[int, int] = {}
        self._cpu = thread_time_ns()

    def run(self) -> None:
        batches = self._batches(0)
        first = next(batches, None)
        if first is None:
            raise SampleFailed("The loader gave no batch in its first epoch.")
        self._form = first.form
        send_json(self._peer, Kind.LAYOUT, _layout(first, self._source).as_json())
        epoch, position, epochs = self._welcome()
        batches = self._batches(epoch) if epoch else _chained(first, batches)
        while epochs is None or epoch < epochs:
            self._feed_epoch(epoch, batches, skip=position)
            epoch, position = epoch + 1, 0
            batches = self._batches(epoch)

    def _welcome(self) -> tuple[int, int, int | None]:
        """The arena, and where to begin."""
        message = self._receive(Kind.WELCOME)
        facts: Any = message.json()
        self._columns = opened(message)
        return facts["epoch"], facts["position"], facts["epochs"]

    def _batches(self, epoch: int) -> Iterator[_Batch]:
        """The batches of an epoch, in an order that depends on the seed and the epoch only."""
        seed = seed_of(self._source.seed, epoch)
        sow(seed)
        loader: Any = self._source.batches_of
        parts: list[Any] = [loader, getattr(loader, "sampler", None)]
        for part in parts:
            if getattr(part, "generator", None) is not None:
                part.generator.manual_seed(seed >> 1)
            if hasattr(part, "set_epoch"):
                part.set_epoch(epoch)
        for batch in loader:
            yield _taken_apart(batch)

    def _feed_epoch(self, epoch: int, batches: Iterator[_Batch], *, skip: int) -> None:
        position = 0
        started = perf_counter_ns()
        for batch in batches:
            if batch.form != self._form:
                raise SampleFailed(
                    f"Batches of the loader are nested differently in epoch {epoch}."
                )
            begin = min(len(batch), max(0, skip - position))
            read = perf_counter_ns() - started
            self._store(batch, begin, position=position, read=read)
            position += len(batch)
            started = perf_counter_ns()
        self._check_length(epoch, position)
        send(self._peer, Kind.OVER, first=epoch, second=position)

    def _store(self, batch: _Batch, begin: int, *, position: int, read: int) -> None:
        """Copy what follows `begin` into slots, as the conductor gives them."""
        assert self._columns is not None
        while begin < len(batch):
            send(self._peer, Kind.NEED, first=len(batch) - begin)
            message = self._receive(Kind.SLOTS)
            slots = message.numbers()
            started = perf_counter_ns()
            end = begin + len(slots)
            self._columns.write_run(
                slice(int(slots[0]), int(slots[-1]) + 1),
                [leaf[begin:end] for leaf in batch.leaves],
                numbers=range(message.first, message.first + len(slots)),
                first_id=position + begin,
            )
            stages = np.array([read, 0, perf_counter_ns() - started, self._cpu_since()], np.int64)
            send(self._peer, Kind.DONE, stages.tobytes(), first=message.first, second=len(slots))
            begin, read = end, 0

    def _cpu_since(self) -> int:
        """Nanoseconds of CPU time since this was last asked."""
        before, self._cpu = self._cpu, thread_time_ns()
        return self._cpu - before

    def _check_length(self, epoch: int, samples: int) -> None:
        """A loader with a length has as many samples in every epoch."""
        if not samples:
            raise SampleFailed(
                f"The loader gave no batch in epoch {epoch}. An iterator can be gone through only "
                "once: give share(...) epochs=1, or an object that starts anew each time."
            )
        first = self._lengths.setdefault(0, samples)
        if samples != first and hasattr(self._source.batches_of, "__len__"):
            raise LengthChanged(
                f"The loader gave {first} samples in one epoch and {samples} in epoch {epoch}. "
                "A stream needs the same samples every epoch."
            )

    def _receive(self, kind: Kind) -> Any:
        message = receive(self._peer)
        if message is None:
            raise _Gone
        if message.kind is not kind:
            raise AssertionError(f"The feeder expected {kind.name}, got {message.kind.name}.")
        return message


def _chained(first: _Batch, rest: Iterator[_Batch]) -> Iterator[_Batch]:
    yield first
    yield from rest


def _layout(batch: _Batch, source: Source) -> Layout:
    """The layout of the batch's samples."""
    samples = [batch.sample(index) for index in range(min(len(batch), 8))]
    flat = layout_of(samples, most=source.longest)
    return Layout(form=batch.form, leaves=flat.leaves)


def _taken_apart(batch: Any) -> _Batch:
    """A batch as its leaves; a list of texts is one leaf."""
    form = _form(batch)
    leaves = list(_leaves(form, batch))
    lengths = {_samples(leaf) for leaf in leaves}
    if len(lengths) != 1:
        raise SampleFailed(
            f"The fields of a batch have {sorted(lengths)} samples; all must have as many."
        )
    return _Batch(form, leaves)


def _samples(leaf: Any) -> int:
    try:
        return len(leaf)
    except TypeError:
        raise SampleFailed(
            f"A batch of the loader holds {leaf!r:.60}, which has no samples. Give tensors, arrays "
            "or lists with one entry for each sample, alone or in tuples, lists or dictionaries."
        ) from None


def _form(batch: Any) -> Form:
    if isinstance(batch, dict):
        return ["dict", [[key, _form(value)] for key, value in batch.items()]]
    if isinstance(batch, (tuple, list)) and not _is_column(batch):
        name = "list" if isinstance(batch, list) else "tuple"
        return [name, [_form(value) for value in batch]]
    return ["leaf"]


def _leaves(form: Form, batch: Any) -> Iterator[Any]:
    yield from fields(form, batch)


def _is_column(batch: Any) -> bool:
    return all(isinstance(value, (str, bytes)) for value in batch)
