"""Batches out of slots: with memory of their own, or lent where their samples lie side by side."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol
from weakref import ReferenceType, ref

import numpy as np
from numpy.typing import NDArray

from batchcast.arena import Columns
from batchcast.errors import SampleFailed
from batchcast.layout import Leaf, nested
from batchcast.order import generators_kept
from batchcast.packing import Bytes, TensorForm, lent_tensor, own_tensor, unpack
from batchcast.slots import Numbers


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


class Maker(Protocol):
    """Makes batches of slots."""

    def lent(self, slots: Numbers) -> tuple[Any, Taken] | None:
        """A batch that lies where its samples lie; nothing where that cannot be."""

    def part(self, slots: Numbers) -> Any:
        """What these slots bring to a batch, in memory of its own."""

    def whole(self, parts: Sequence[Any]) -> Any:
        """A batch of its own memory, from parts of it, whose memory it may take."""

    def direct(self, slots: Numbers) -> Any:
        """A batch of its own memory, copied once."""


class Plain:
    """Batches of samples as they lie in the arena, put together as PyTorch does it.

    Args:
        columns: of the arena.
        pinned: whether batches are in memory that a GPU can fetch by itself.
        guarded: whether nobody may write into them, wherever they lie.
    """

    def __init__(self, columns: Columns, *, pinned: bool, guarded: bool) -> None:
        from batchcast.lent import accept_read_only

        accept_read_only()
        self._columns = columns
        self._leaves = columns.layout.leaves
        self._pinned = pinned
        self._guarded = guarded
        self._lying = [
            None if leaf.most else _as_tensor(columns.fixed(index), leaf)
            for index, leaf in enumerate(self._leaves)
        ]

    def lent(self, slots: Numbers) -> tuple[Any, Taken] | None:
        """A batch that lies where its samples lie; texts are always copied."""
        if (run := _side_by_side(slots)) is None:
            return None
        views: list[ReferenceType[Any]] = []
        values: list[Any] = []
        for index, leaf in enumerate(self._leaves):
            if leaf.most:
                values.append(self._texts(index, slots))
            else:
                view = self._columns.fixed(index)[run]
                views.append(ref(view))
                values.append(_guard(_as_tensor(view, leaf)))
        batch = nested(self._columns.layout.batch, iter(values))
        return (batch, Taken(slots, views)) if views else None

    def part(self, slots: Numbers) -> list[Any]:
        """Copies of all fields of these slots: tensors, or lists of texts."""
        return [
            self._texts(index, slots) if leaf.most else self._stacked(index, leaf, slots)
            for index, leaf in enumerate(self._leaves)
        ]

    def whole(self, parts: Sequence[list[Any]]) -> Any:
        """A batch of its own memory, from parts of it."""
        columns = ([part[index] for part in parts] for index in range(len(self._leaves)))
        values = (self._joined(each) for each in columns)
        return nested(self._columns.layout.batch, map(self._finished, values))

    def direct(self, slots: Numbers) -> Any:
        """A batch of its own memory, copied once."""
        run = None if self._pinned else _side_by_side(slots)
        if run is None:
            return self.whole([self.part(slots)])
        values = (
            self._texts(index, slots) if lying is None else lying[run].clone()
            for index, lying in enumerate(self._lying)
        )
        return nested(self._columns.layout.batch, map(self._finished, values))

    def _finished(self, value: Any) -> Any:
        return _guard(value) if self._guarded and not isinstance(value, list) else value

    def _texts(self, index: int, slots: Numbers) -> list[Any]:
        return [field(self._columns, index, slot) for slot in slots.tolist()]

    def _stacked(self, index: int, leaf: Leaf, slots: Numbers) -> Any:
        column = self._columns.fixed(index)
        made = self._empty(leaf, len(slots))
        into = made.numpy() if not leaf.is_renamed else _renamed(made, leaf)
        if (run := _side_by_side(slots)) is not None:
            np.copyto(into, column[run])
        else:
            np.take(column, slots, axis=0, out=into, mode="clip")
        return made

    def _empty(self, leaf: Leaf, samples: int) -> Any:
        import torch

        dtype = getattr(torch, leaf.dtype)
        return torch.empty((samples, *leaf.shape), dtype=dtype, pin_memory=self._pinned)

    def _joined(self, values: list[Any]) -> Any:
        import torch

        if len(values) == 1:
            return values[0]
        if isinstance(values[0], list):
            return [each for value in values for each in value]
        shape = (sum(len(value) for value in values), *values[0].shape[1:])
        into = torch.empty(shape, dtype=values[0].dtype, pin_memory=self._pinned)
        return torch.cat(values, out=into)


class Single:
    """Batches that a function puts together of single samples, each as the source gave it.

    Args:
        columns: of the arena.
        change: what a sample goes through for this member alone, with its id; nothing for none.
        collate: puts samples together; nothing for PyTorch's way.
        pinned: whether batches are in memory that a GPU can fetch by itself.
    """

    def __init__(
        self,
        columns: Columns,
        change: Callable[[Any, int], Any] | None,
        collate: Callable[..., Any] | None,
        *,
        pinned: bool,
    ) -> None:
        self._columns = columns
        self._change = change
        self._collate = collate
        self._pinned = pinned

    def lent(self, slots: Numbers) -> None:
        """Nothing: these batches have memory of their own."""
        return

    def part(self, slots: Numbers) -> list[Any]:
        """The changed samples of these slots."""
        change = self._change
        if change is None:
            return [self._sample(slot) for slot in slots.tolist()]
        with generators_kept():
            return [change(self._sample(s), int(self._columns.ids[s])) for s in slots.tolist()]

    def whole(self, parts: Sequence[list[Any]]) -> Any:
        """The samples put together."""
        batch = self._together([sample for part in parts for sample in part])
        return pinned_batch(batch) if self._pinned else batch

    def direct(self, slots: Numbers) -> Any:
        """A batch of its own memory."""
        return self.whole([self.part(slots)])

    def _together(self, samples: list[Any]) -> Any:
        from torch.utils.data import default_collate

        if self._collate is not None:
            return self._collate(samples)
        try:
            return default_collate(samples)
        except (TypeError, RuntimeError) as error:
            raise SampleFailed(
                f"PyTorch's default_collate cannot put these samples together: {error}. Give "
                "attach(..., collate=...) a function that makes a batch of a list of samples, such "
                "as the collate_fn of your DataLoader."
            ) from error

    def _sample(self, slot: int) -> Any:
        columns = self._columns
        values = (field(columns, index, slot) for index in range(len(columns.layout.leaves)))
        return nested(columns.layout.form, values)


class WholeBatch:
    """Batches that the loader made, each packed over slots of bytes.

    Args:
        columns: of the arena.
        pinned: whether batches are in memory that a GPU can fetch by itself.
        guarded: whether nobody may write into them, wherever they lie.
    """

    def __init__(self, columns: Columns, *, pinned: bool, guarded: bool) -> None:
        self._columns = columns
        self._pinned = pinned
        self._guarded = guarded

    def lent(self, slots: Numbers) -> tuple[Any, Taken] | None:
        """A batch that lies where it was stored."""
        if (run := _side_by_side(slots)) is None:
            return None
        views: list[ReferenceType[Any]] = []

        def kept(buffer: Bytes) -> Bytes:
            view = buffer[:]
            views.append(ref(view))
            return view

        def tensor(buffer: Bytes, form: TensorForm) -> Any:
            return lent_tensor(kept(buffer), form)

        memory = self._columns.fixed(0)[run].reshape(-1)
        batch = unpack(memory, array=kept, tensor=tensor, finished=_guard)
        return (batch, Taken(slots, views)) if views else None

    def part(self, slots: Numbers) -> Bytes:
        """The bytes in these slots."""
        return self._columns.fixed(0)[slots].reshape(-1)

    def whole(self, parts: Sequence[Bytes]) -> Any:
        """The batch, whose tensors and arrays have memory of their own."""
        memory = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return self._unpacked(memory)

    def direct(self, slots: Numbers) -> Any:
        """The batch, copied once where its slots lie side by side."""
        run = _side_by_side(slots)
        if run is None:
            return self.whole([self.part(slots)])
        return self._unpacked(self._columns.fixed(0)[run].reshape(-1))

    def _unpacked(self, memory: Bytes) -> Any:
        own = partial(own_tensor, pinned=self._pinned)
        return unpack(memory, tensor=own, finished=_guard if self._guarded else None)


def field(columns: Columns, index: int, slot: int) -> Any:
    """A field of one sample as the source gave it, of its own memory."""
    leaf = columns.layout.leaves[index]
    array = columns.varying(index, slot) if leaf.most else columns.fixed(index)[slot]
    if leaf.kind == "object":
        return unpack(array.copy())
    if leaf.kind == "text":
        return array.tobytes().decode()
    if leaf.kind == "bytes":
        return array.tobytes()
    own = np.array(array)
    if leaf.kind == "tensor":
        return _as_tensor(own, leaf)
    return own if leaf.kind == "array" else own[()] if leaf.kind == "number" else own.item()


def as_own(batch: Any) -> Any:
    """The same batch for one more who may write into it: nobody else sees what is written.

    Tensors share their memory until somebody writes into one, which PyTorch sees however it is
    done (PyTorch has no public name for that yet; where it lacks it, or the memory is not its
    own, a tensor is copied at once).
    """
    from torch.utils._pytree import tree_map

    return tree_map(_own_leaf, batch)


def _own_leaf(value: Any) -> Any:
    import torch

    if isinstance(value, (str, bytes, int, float, complex, type(None))):
        return value
    if type(value) is not torch.Tensor:
        return copy.deepcopy(value)
    try:
        return torch._lazy_clone(value)
    except (AttributeError, RuntimeError):
        return value.clone()


def pinned_batch(batch: Any) -> Any:
    """A batch with its tensors in pinned memory, as a DataLoader makes one."""
    from torch.utils.data._utils.pin_memory import pin_memory

    return pin_memory(batch)


def _side_by_side(slots: Numbers) -> slice | None:
    """The slots as a slice, where they are one."""
    start, end = int(slots[0]), int(slots[-1]) + 1
    if end - start != len(slots) or not (slots == np.arange(start, end)).all():
        return None
    return slice(start, end)


def _as_tensor(array: NDArray[Any], leaf: Leaf) -> Any:
    """An array as a tensor over the same memory."""
    import torch

    tensor = torch.from_numpy(array)
    return tensor.view(getattr(torch, leaf.dtype)) if leaf.is_renamed else tensor


def _renamed(tensor: Any, leaf: Leaf) -> NDArray[Any]:
    """The memory of a tensor whose numbers NumPy lacks, as what they are stored as."""
    import torch

    bits: NDArray[Any] = tensor.view(getattr(torch, leaf.stored.name)).numpy()
    return bits


def _guard(tensor: Any) -> Any:
    from batchcast.lent import Lent

    return Lent(tensor)
