"""The order of an epoch: the same at every node, cut into blocks that nodes deal out.

Decoding: the blocks that this node reads and decodes for everybody.

Stages: an iterator that runs ahead in a thread of its own, by so many items at most.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from threading import Condition, Thread
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from foretrain.ensemble.nodes.groups import Batch, failure, packed
from foretrain.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor
    from torch.utils.data import DataLoader, Dataset


Item = TypeVar("Item")


def ahead(items: Iterator[Item], queue: int) -> Iterator[Item]:
    """The same items, made by a thread that runs ahead of whoever takes them.

    What `items` raises is raised here, in its place. Closing this iterator ends the thread as
    soon as it has its next item; a thread that never gets one does not keep the process alive.

    Args:
        items: consumed in the thread.
        queue: items that may lie ready at once; with 0 there is no thread.
    """
    if queue == 0:
        yield from items
        return
    shelf = _Shelf[Item](queue)
    Thread(target=shelf.fill, args=(items,), daemon=True).start()
    try:
        while (found := shelf.take()) is not None:
            yield found[0]
    finally:
        shelf.close()


class _Shelf(Generic[Item]):
    """A bounded queue that either side may end; nobody polls."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._ready: deque[tuple[Item]] = deque()
        self._changed = Condition()
        self._ended = self._closed = False
        self._error: BaseException | None = None

    def fill(self, items: Iterator[Item]) -> None:
        try:
            for item in items:
                with self._changed:
                    self._changed.wait_for(
                        lambda: self._closed or len(self._ready) < self._capacity
                    )
                    self._ready.append((item,))
                    self._changed.notify_all()
                    if self._closed:
                        break
        except BaseException as error:
            self._error = error
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def take(self) -> tuple[Item] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._ready or self._ended)
            if self._ready:
                self._changed.notify_all()
                return self._ready.popleft()
        if self._error is not None:
            raise self._error
        return None

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._ready.clear()
            self._changed.notify_all()


Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleOrder:
    """Which samples make up which block of which epoch.

    Attributes:
        samples: of the dataset.
        batch_size: samples per block; the last block of an epoch holds the rest.
        shuffle: whether every epoch has an order of its own.
        seed: of the orders.
    """

    samples: int
    batch_size: int
    shuffle: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.samples >= 1:
            raise InputError(f"the dataset has {self.samples} samples; it needs at least 1.")
        if not self.batch_size >= 1:
            raise InputError(f"batch_size must be at least 1, got {self.batch_size}.")

    @property
    def blocks(self) -> int:
        """Blocks of an epoch, the last perhaps short."""
        return -(-self.samples // self.batch_size)

    def ids(self, epoch: int) -> Ids:
        """Every sample's number once, in the order of that epoch."""
        if not self.shuffle:
            return np.arange(self.samples)
        return np.random.default_rng((self.seed, epoch)).permutation(self.samples)

    def cut(self, ids: Ids, block: int) -> Ids:
        """The numbers of one block."""
        return ids[block * self.batch_size : (block + 1) * self.batch_size]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleTally:
    """What a node has had of an epoch.

    Attributes:
        samples: how many.
        checksum: of their numbers and their order, below 2^61.
    """

    samples: int = 0
    checksum: int = 0

    def with_block(self, ids: Ids) -> SampleTally:
        """The tally after one more block."""
        checksum = self.checksum
        for number in ids.tolist():
            checksum = (checksum * _BASE + number + 1) % _PRIME
        return SampleTally(samples=self.samples + len(ids), checksum=checksum)


_PRIME = 2**61 - 1
_BASE = 1_000_003


@dataclass(kw_only=True)
class SampleDecoder:
    """Reads, decodes and collates blocks with a DataLoader of its own.

    Attributes:
        dataset: map-style: `dataset[number]` is a sample.
        order: which samples make up which block.
        rank: of this node, named where it fails.
        workers: processes that decode; 0 decodes in a thread of this one.
        collate: makes a batch of a list of samples; torch's default where it is None.
    """

    dataset: Dataset[Any]
    order: SampleOrder
    rank: int
    workers: int = 0
    collate: Callable[[list[Any]], Batch] | None = None
    _turn: list[Ids] = field(default_factory=list)
    _loader: DataLoader[Any] | None = None

    def messages(self, blocks: range, *, epoch: int, queue: int) -> Iterator[Tensor]:
        """The blocks of an epoch as messages, decoded up to `queue` ahead.

        Workers start before this returns, so that they inherit no connection opened later: one
        held by an orphan would hide the death of its node.
        """
        if len(self.dataset) != self.order.samples:
            raise InputError(
                f"the dataset has {len(self.dataset)} samples now and had "
                f"{self.order.samples} when the pipeline was made. Its length must not change."
            )
        ids = self.order.ids(epoch)
        self._turn[:] = [self.order.cut(ids, block) for block in blocks]
        batches = iter(self._made()) if self._turn else iter(())
        return ahead(self._packed(list(self._turn), batches), queue)

    def close(self) -> None:
        """End the workers."""
        self._loader = None

    def _made(self) -> DataLoader[Any]:
        from torch.utils.data import DataLoader

        if self._loader is None:
            self._loader = DataLoader(
                self.dataset,
                batch_sampler=_Turn(self._turn),
                num_workers=self.workers,
                collate_fn=self.collate,
                persistent_workers=self.workers > 0,
            )
        return self._loader

    def _packed(self, turn: list[Ids], batches: Iterator[Batch]) -> Iterator[Tensor]:
        """Messages up to the first block that fails: its message tells everybody why."""
        for ids in turn:
            try:
                yield packed((ids, next(batches)))
            except Exception as error:
                some = ", ".join(map(str, ids[:8].tolist())) + (", ..." if len(ids) > 8 else "")
                yield failure(
                    f"rank {self.rank} could not decode the batch of samples {some}: "
                    f"{type(error).__name__}: {error}"
                )
                return


class _Turn:
    """A batch sampler: the blocks of whichever epoch is being decoded."""

    def __init__(self, turn: list[Ids]) -> None:
        self._turn = turn

    def __iter__(self) -> Iterator[list[int]]:
        return iter([ids.tolist() for ids in self._turn])

    def __len__(self) -> int:
        return len(self._turn)
