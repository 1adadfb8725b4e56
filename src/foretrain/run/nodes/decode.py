"""Decoding: the blocks that this node reads and decodes for everybody."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from foretrain.errors import InputError
from foretrain.run.nodes.message import Batch, failure, packed
from foretrain.run.nodes.order import Ids, Order
from foretrain.run.nodes.stages import ahead

if TYPE_CHECKING:
    from torch import Tensor
    from torch.utils.data import DataLoader, Dataset


@dataclass(kw_only=True)
class Decoder:
    """Reads, decodes and collates blocks with a DataLoader of its own.

    Attributes:
        dataset: map-style: `dataset[number]` is a sample.
        order: which samples make up which block.
        rank: of this node, named where it fails.
        workers: processes that decode; 0 decodes in a thread of this one.
        collate: makes a batch of a list of samples; torch's default where it is None.
    """

    dataset: Dataset[Any]
    order: Order
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
                yield failure(self._told(ids, error))
                return

    def _told(self, ids: Ids, error: Exception) -> str:
        some = ", ".join(map(str, ids[:8].tolist())) + (", ..." if len(ids) > 8 else "")
        return (
            f"rank {self.rank} could not decode the batch of samples {some}: "
            f"{type(error).__name__}: {error}"
        )


class _Turn:
    """A batch sampler: the blocks of whichever epoch is being decoded."""

    def __init__(self, turn: list[Ids]) -> None:
        self._turn = turn

    def __iter__(self) -> Iterator[list[int]]:
        return iter([ids.tolist() for ids in self._turn])

    def __len__(self) -> int:
        return len(self._turn)
