"""Ways to train several members at once, each as the body of a measurement.

A body forks one process per member, and returns what each of them was given in each epoch.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader

from ensemble_parts.given import Epoch, checksum
from ensemble_parts.tree import Json, forked, together
from ensemble_parts.workload import (
    BATCH,
    CROP,
    ROWS_BATCH,
    Pictures,
    Rows,
    is_its_number,
    is_its_row,
    looked_at,
    network,
)

CHECKED = 8
"""One batch of so many is held against the numbers that came with it."""

Batches = Iterable[tuple[Tensor, Tensor]]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What one measurement runs.

    Attributes:
        folder: where the pictures are.
        pictures: how many of them an epoch has.
        members: models that are trained at the same time.
        epochs: passes of each of them.
        every: every how manieth pixel of a row and column the network sees; 0 for rows of numbers
            in place of pictures, which nothing is trained on.
        workers: decode processes, of each loader or of the stream.
        lend: whether members of a stream get batches that lie in its arena, for nobody writes into
            them.
    """

    folder: Path
    pictures: int
    members: int
    epochs: int
    every: int
    workers: int = 0
    lend: bool = True

    @property
    def samples(self) -> int:
        """Samples that all members together must be given."""
        return self.pictures * self.members * self.epochs

    @property
    def data(self) -> Pictures | Rows:
        """The data set."""
        return Pictures(self.folder, self.pictures) if self.every else Rows(self.pictures)

    @property
    def batch(self) -> int:
        """Samples of a batch."""
        return BATCH if self.every else ROWS_BATCH

    @property
    def step(self) -> Callable[[Tensor, Tensor], None]:
        """One step of a new member."""
        return network(self.every) if self.every else looked_at()


def loader(setting: Setting) -> Batches:
    """A plain loader of the pictures."""
    fork = "fork" if setting.workers else None
    return DataLoader(
        setting.data,
        setting.batch,
        shuffle=True,
        num_workers=setting.workers,
        multiprocessing_context=fork,
    )


def train(batches: Callable[[], Batches], setting: Setting) -> Json:
    """Trains one member on every epoch; returns what it was given.

    A source that ends an epoch early or late is told by its checksum, not mended.
    """
    given: list[Json] = []
    for _ in _turns(batches, setting, given):
        pass
    return given


def _turns(batches: Callable[[], Batches], setting: Setting, given: list[Json]) -> Iterator[None]:
    """The same, a batch at a time; what it was given is added to a list."""
    step, is_right = setting.step, is_its_number if setting.every else is_its_row
    for _ in range(setting.epochs):
        came, wrong = [], 0
        for pictures, numbers in batches():
            if len(came) % CHECKED == 0:
                wrong += not is_right(pictures[0], int(numbers[0]))
            came.append(numbers.numpy().copy())
            step(pictures, numbers)
            yield
        given.append(asdict(_epoch(came, wrong)))
        yield


def _epoch(came: Sequence[NDArray[np.int64]], wrong: int) -> Epoch:
    """An epoch's account, drawn up at its end so that it takes little of what is measured."""
    numbers = np.concatenate([*came, np.empty(0, np.int64)])
    return Epoch(samples=len(numbers), checksum=checksum(numbers), wrong=wrong)


def none(setting: Setting) -> Json:
    """Training steps alone, on one batch in memory."""

    def member() -> Json:
        step = network(setting.every)
        pictures, numbers = torch.randn(BATCH, 3, CROP, CROP), torch.arange(BATCH)
        for _ in range(setting.epochs * setting.pictures // BATCH):
            step(pictures, numbers)
        return []

    return together([member] * setting.members)


def private(setting: Setting) -> Json:
    """Every member with a loader of its own."""

    def member() -> Json:
        own = loader(setting)
        return train(lambda: own, setting)

    return together([member] * setting.members)


def shared(setting: Setting, *, fed: bool, grouped: bool = False) -> Json:
    """All members on one stream, decoded by its own workers or fed by a plain loader.

    Args:
        setting: of the measurement.
        fed: whether a loader feeds the stream.
        grouped: whether all members train in one process, as `ensemble run` has them do it that
            name the same.
    """
    from foretrain import share

    source = loader(setting) if fed else setting.data
    name = f"benchmark-{os.getpid()}"
    with share(
        source,
        name=name,
        workers=None if fed else setting.workers,
        epochs=setting.epochs,
        readers=1 if grouped else setting.members,
    ):
        if grouped:
            (given,) = together([partial(_group, setting, name)])
            return given
        return together([partial(_reader, setting, name)] * setting.members)


def _group(setting: Setting, name: str) -> Json:
    """All members in this process, which take turns over batches of their own."""
    from batchcast.order import Generators
    from foretrain import attach
    from foretrain.ensemble.run.inputs import SharedLoader, TakenInTurns

    with attach(name, batch_size=setting.batch) as stream:
        taken = SharedLoader(stream)
        given: list[list[Json]] = [[] for _ in range(setting.members)]
        views = [TakenInTurns(taken) for _ in given]
        turns = [
            _turns(lambda view=view: view, setting, own)
            for view, own in zip(views, given, strict=True)
        ]
        generators = [Generators() for _ in given]
        while turns:
            for turn, own in zip(list(turns), list(generators), strict=True):
                with own.in_use():
                    if next(turn, StopIteration) is StopIteration:
                        turns.remove(turn)
                        generators.remove(own)
    return given


def _reader(setting: Setting, name: str) -> Json:
    from foretrain import attach

    with attach(name, batch_size=setting.batch, lend=setting.lend) as stream:
        return train(lambda: stream, setting)


def tensorsocket(setting: Setting) -> Json:
    """All members on one TensorSocket producer, two loader batches per message.

    The producer stays until the last reader is done: what it sent last is lost if it ends before.
    """
    from tensorsocket import TensorConsumer, TensorProducer

    def produce() -> Json:
        sending = TensorProducer(loader(setting), producer_batch_size=2)
        for _ in range(setting.epochs):
            for _ in sending:
                pass
        signal.pause()
        return []

    def member() -> Json:
        taking = TensorConsumer(batch_size=BATCH)
        return train(lambda: taking, setting)

    producer, _ = forked(produce)
    try:
        return together([member] * setting.members)
    finally:
        os.kill(producer, signal.SIGKILL)
        os.waitpid(producer, 0)


METHODS: Mapping[str, Callable[[Setting], Json]] = {
    "none": none,
    "private": private,
    "fed": partial(shared, fed=True),
    "workers": partial(shared, fed=False),
    "grouped": partial(shared, fed=False, grouped=True),
    "grouped-fed": partial(shared, fed=True, grouped=True),
    "tensorsocket": tensorsocket,
}
