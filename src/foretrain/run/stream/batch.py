"""Batches out of slots: slices where samples lie side by side, copies where they do not."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import ReferenceType, ref

import numpy as np
from numpy.typing import NDArray

from foretrain.run.stream.arena import Columns
from foretrain.run.stream.layout import Leaf, nested
from foretrain.run.stream.seeds import generators_kept
from foretrain.run.stream.slots import Numbers


@dataclass(slots=True)
class Taken:
    """A batch that lies in the arena, for as long as anybody refers to any of its tensors.

    Attributes:
        slots: that it lies in. [sample]
        views: of it; a tensor keeps its view alive, and whoever made the batch does not.
    """

    slots: Numbers
    views: list[ReferenceType[Any]]

    @property
    def in_use(self) -> bool:
        """Whether somebody still refers to the batch."""
        return any(view() is not None for view in self.views)


class Plain:
    """Batches of samples as they lie in the arena."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._leaves = columns.layout.leaves
        self._can_lend = not any(leaf.most for leaf in self._leaves)

    def lent(self, slots: Numbers) -> tuple[Any, Taken] | None:
        """A batch that lies where its samples lie; nothing where they are not side by side."""
        start, end = int(slots[0]), int(slots[-1]) + 1
        if not self._can_lend or end - start != len(slots) or (slots[1:] <= slots[:-1]).any():
            return None
        views = [self._columns.fixed(index)[start:end] for index in range(len(self._leaves))]
        taken = Taken(slots, [ref(view) for view in views])
        tensors = (as_tensor(view, leaf) for view, leaf in zip(views, self._leaves, strict=True))
        return nested(self._columns.layout.form, tensors), taken

    def part(self, slots: Numbers) -> list[Any]:
        """Copies of all fields of these slots: arrays, or lists where the shape varies."""
        return [self._copy(index, leaf, slots) for index, leaf in enumerate(self._leaves)]

    def whole(self, parts: Sequence[list[Any]]) -> Any:
        """A batch of its own memory, from parts of it."""
        leaves = (
            _joined([part[index] for part in parts], leaf)
            for index, leaf in enumerate(self._leaves)
        )
        return nested(self._columns.layout.form, leaves)

    def _copy(self, index: int, leaf: Leaf, slots: Numbers) -> Any:
        if leaf.most:
            return [varying(self._columns, index, slot) for slot in slots.tolist()]
        return self._columns.fixed(index)[slots]


class Single:
    """Batches of samples that a function of the member's own has changed or put together."""

    def __init__(
        self, columns: Columns, change: Callable[[Any, int], Any], collate: Callable[..., Any]
    ) -> None:
        self._columns = columns
        self._change = change
        self._collate = collate

    def lent(self, slots: Numbers) -> None:
        """Nothing: these batches have memory of their own."""
        return

    def part(self, slots: Numbers) -> list[Any]:
        """The changed samples of these slots."""
        with generators_kept():
            return [self._change(self._sample(s), int(self._columns.ids[s])) for s in slots]

    def whole(self, parts: Sequence[list[Any]]) -> Any:
        """The samples put together."""
        return self._collate([sample for part in parts for sample in part])

    def _sample(self, slot: int) -> Any:
        leaves = self._columns.layout.leaves
        values = (self._field(index, leaf, slot) for index, leaf in enumerate(leaves))
        return nested(self._columns.layout.form, values)

    def _field(self, index: int, leaf: Leaf, slot: int) -> Any:
        if leaf.most:
            return varying(self._columns, index, slot)
        return as_tensor(np.array(self._columns.fixed(index)[slot]), leaf)


def varying(columns: Columns, index: int, slot: int) -> Any:
    """A field of varying shape, of its own memory."""
    leaf, array = columns.layout.leaves[index], columns.varying(index, slot)
    if leaf.kind == "tensor":
        return as_tensor(array.copy(), leaf)
    return array.tobytes().decode() if leaf.kind == "text" else array.tobytes()


def _joined(values: list[Any], leaf: Leaf) -> Any:
    if leaf.most:
        return [each for value in values for each in value]
    return as_tensor(values[0] if len(values) == 1 else np.concatenate(values), leaf)


def as_tensor(array: NDArray[Any], leaf: Leaf) -> Any:
    """An array as a tensor over the same memory."""
    import torch

    tensor = torch.from_numpy(array)
    return tensor.view(getattr(torch, leaf.dtype)) if leaf.is_renamed else tensor


def accept_read_only() -> None:
    """Hear PyTorch's one warning of arrays that cannot be written; ours are meant to be so."""
    import torch

    array = np.zeros(1)
    array.setflags(write=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.from_numpy(array)
