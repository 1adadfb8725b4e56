"""What an iterable yields, as a feeder stores it: samples, stacks of them, or whole batches."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import ceil
from typing import Any, Protocol

from batchcast.arena import Columns
from batchcast.errors import SampleFailed
from batchcast.layout import Form, Layout, fields, layout_of, layout_of_bytes
from batchcast.order import generators_kept, seed_of, sow
from batchcast.packing import Packed, pack
from batchcast.source import Source

PROBED = 8
"""Samples that are looked at before the layout is settled."""


class Item(Protocol):
    """Something that an iterable yielded; its length is in slots."""

    def __len__(self) -> int: ...

    def store(
        self, columns: Columns, slots: slice, begin: int, *, numbers: range, first_id: int
    ) -> None:
        """Copy what begins there into slots side by side, as far as they reach."""


Items = Generator[Item, None, None]


@dataclass(frozen=True, slots=True)
class One:
    """One sample."""

    sample: Any

    def __len__(self) -> int:
        return 1

    def store(
        self, columns: Columns, slots: slice, begin: int, *, numbers: range, first_id: int
    ) -> None:
        """Copy it into its slot."""
        columns.write(slots.start, self.sample, number=numbers.start, sample_id=first_id)


@dataclass(frozen=True, slots=True)
class Stack:
    """A batch that can be cut: one array, or one list of fields, for each leaf."""

    form: Form
    leaves: Sequence[Any]

    def __len__(self) -> int:
        return len(self.leaves[0])

    @property
    def size(self) -> int:
        """Bytes of its leaves; 0 where one is no plain tensor."""
        return 0 if any(map(_is_odd, self.leaves)) else sum(leaf.nbytes for leaf in self.leaves)

    def is_like(self, other: Stack) -> bool:
        """Whether the leaves of both, all tensors, are of the same types and shapes."""
        return self.form == other.form and all(
            mine.dtype is theirs.dtype and mine.shape[1:] == theirs.shape[1:]
            for mine, theirs in zip(self.leaves, other.leaves, strict=True)
        )

    def sample(self, index: int) -> list[Any]:
        """The leaves of one of its samples."""
        return [leaf[index] for leaf in self.leaves]

    def store(
        self, columns: Columns, slots: slice, begin: int, *, numbers: range, first_id: int
    ) -> None:
        """Copy so many of its samples into slots."""
        end = begin + len(numbers)
        parts = [leaf[begin:end] for leaf in self.leaves]
        columns.write_run(slots, parts, numbers=numbers, first_id=first_id)


def _is_odd(leaf: Any) -> bool:
    import torch

    plain = type(leaf) is torch.Tensor and leaf.layout is torch.strided and not leaf.is_nested
    return not plain or leaf.is_quantized or leaf.requires_grad


def joined(stacks: Sequence[Stack]) -> Stack:
    """Stacks of tensors that are alike, one after the other, as one."""
    import torch

    if len(stacks) == 1:
        return stacks[0]
    columns = zip(*(each.leaves for each in stacks), strict=True)
    return Stack(stacks[0].form, [torch.cat(column) for column in columns])


@dataclass(frozen=True, slots=True)
class Whole:
    """A batch that stays as it is, over as many slots as it needs."""

    packed: Packed
    slot: int

    def __len__(self) -> int:
        return ceil(self.packed.size / self.slot)

    def store(
        self, columns: Columns, slots: slice, begin: int, *, numbers: range, first_id: int
    ) -> None:
        """Copy so many bytes of it into slots."""
        at = begin * self.slot
        columns.write_bytes(slots, self.packed, at, numbers=numbers, first_id=first_id)


@dataclass(frozen=True, slots=True)
class Found:
    """What a look at the first items told.

    Attributes:
        source: of the items.
        layout: of what lies in a slot.
    """

    source: Source
    layout: Layout

    def of(self, raw: Iterator[Any], *, epoch: int) -> Items:
        """The items of an epoch, ready to be stored."""
        if self.layout.whole:
            slot = self.layout.sample_bytes
            yield from (Whole(_packed(batch), slot) for batch in raw)
        elif self.source.yields == "stacks":
            flat = _flat(self.layout.batch)
            for batch in raw:
                is_flat = type(batch) is flat and _are_tensors(batch, self.layout)
                yield Stack(self.layout.batch, batch) if is_flat else self._stack(batch, epoch)
        else:
            yield from _samples(self.source, raw, epoch=epoch)

    def _stack(self, batch: Any, epoch: int) -> Stack:
        stack = taken_apart(batch)
        if stack.form != self.layout.batch:
            raise SampleFailed(
                f"Batches of the loader are nested differently in epoch {epoch}. If they are meant "
                "to be, share(..., yields='batches') hands them on as they are."
            )
        return stack


def _flat(form: Form) -> type | None:
    """The container of a form in which nothing is nested; nothing of another form."""
    if form[0] not in ("list", "tuple") or any(each != ["leaf"] for each in form[1]):
        return None
    return list if form[0] == "list" else tuple


def _are_tensors(batch: Any, layout: Layout) -> bool:
    """Whether these are as many tensors as the layout has leaves, with as many samples each."""
    import torch

    return (
        len(batch) == len(layout.leaves)
        and all(type(each) is torch.Tensor and each.ndim for each in batch)
        and all(len(each) == len(batch[0]) for each in batch)
    )


def first_items(source: Source, raw: Iterator[Any]) -> tuple[Items, Found]:
    """The items of the first epoch, and what they are.

    Raises:
        SampleFailed: there are none, or they cannot be laid out.
    """
    if source.yields == "samples":
        samples = _samples(source, raw, epoch=0)
        probed = list(islice(samples, PROBED))
        if not probed:
            raise SampleFailed(_NOTHING)
        layout = layout_of([each.sample for each in probed], most=source.longest)
        return _chained(probed, samples), Found(source, layout)
    batch = next(raw, _NONE)
    if batch is _NONE:
        raise SampleFailed(_NOTHING)
    found = Found(source, _layout(batch, source))
    first = list(found.of(iter([batch]), epoch=0))  # what cannot be packed is told at once
    return _chained(first, found.of(raw, epoch=0)), found


_NONE = object()
_NOTHING = "The loader gave nothing in its first epoch."


def _layout(batch: Any, source: Source) -> Layout:
    """The layout of the samples in a batch, or of batches that stay whole."""
    if source.whole:
        return layout_of_bytes(source.slot, whole=source.whole)
    told = source.batch is None  # stacked, as its owner says; else as PyTorch stacks
    if not told and (strange := _strange(batch)):
        return layout_of_bytes(source.slot, whole=f"its batches hold {strange}")
    stack = taken_apart(batch)
    samples = [stack.sample(index) for index in range(min(len(stack), PROBED))]
    flat = layout_of([tuple(sample) for sample in samples], most=source.longest)
    return Layout(form=_plain(stack.form), batch=stack.form, leaves=flat.leaves)


def _strange(batch: Any) -> str:
    """A container or value of a batch that does not come back from cutting; empty without one."""
    import torch

    if type(batch) is dict:
        if not batch or not all(type(key) in (str, int) for key in batch):
            return "a dictionary without keys, or with keys that are no texts or numbers"
        return next(filter(None, map(_strange, batch.values())), "")
    if type(batch) in (tuple, list):
        if not batch:
            return "an empty list"
        return "" if _is_column(batch) else next(filter(None, map(_strange, batch)), "")
    return "" if type(batch) is torch.Tensor and batch.ndim else f"a {type(batch).__name__}"


def taken_apart(batch: Any) -> Stack:
    """A batch as its leaves; a list of texts is one leaf."""
    form = _form(batch)
    leaves = list(fields(form, batch))
    lengths = {_samples_of(leaf) for leaf in leaves}
    if len(lengths) != 1:
        raise SampleFailed(
            f"The fields of a batch have {sorted(lengths)} samples, so it cannot be cut into "
            "samples. share(..., yields='batches') hands batches on as they are."
        )
    return Stack(form, leaves)


def _samples_of(leaf: Any) -> int:
    try:
        return len(leaf)
    except TypeError:
        raise SampleFailed(
            f"A batch of the loader holds {leaf!r:.60}, which has no samples. Give tensors, arrays "
            "or lists with one entry for each sample, alone or in tuples, lists or dictionaries, "
            "or hand batches on as they are with share(..., yields='batches')."
        ) from None


def _form(batch: Any) -> Form:
    if isinstance(batch, dict):
        return ["dict", [[key, _form(value)] for key, value in batch.items()]]
    if isinstance(batch, (tuple, list)) and not _is_column(batch):
        name = "list" if isinstance(batch, list) else "tuple"
        return [name, [_form(value) for value in batch]]
    return ["leaf", "tuple"] if isinstance(batch, tuple) else ["leaf"]


def _plain(form: Form) -> Form:
    """The form of the samples in a batch of a form."""
    if form[0] == "leaf":
        return ["leaf"]
    if form[0] == "dict":
        return ["dict", [[key, _plain(inner)] for key, inner in form[1]]]
    return [form[0], [_plain(inner) for inner in form[1]]]


def _is_column(batch: Any) -> bool:
    return all(type(value) in (str, bytes) for value in batch)


def _packed(batch: Any) -> Packed:
    try:
        return pack(batch)
    except SampleFailed as error:
        raise SampleFailed(f"A batch of the loader cannot be handed on: {error}") from error


def _samples(source: Source, raw: Iterator[Any], *, epoch: int) -> Generator[One, None, None]:
    """Samples, each after the shared transform, which draws what its place says."""
    for place, sample in enumerate(raw):
        if source.shared is None:
            yield One(sample)
            continue
        with generators_kept():
            sow(seed_of(source.seed, epoch, place))
            prepared = source.shared(sample)
        yield One(prepared)


def _chained(first: Sequence[Item], rest: Iterator[Item]) -> Items:
    yield from first
    yield from rest
