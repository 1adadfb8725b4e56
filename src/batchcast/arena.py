"""The arena: memory without a name that all processes of a stream map.

A `memfd` lives as long as somebody has it open, so nothing is left behind when processes die. Its
pages are reserved at once: too little memory is an error at the start, not a bus error later.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
from collections.abc import Iterator, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchcast.errors import (
    ArgumentError,
    SampleFailed,
    StreamError,
    StreamGarbled,
    require_linux,
)
from batchcast.layout import (
    DIMENSIONS,
    Layout,
    Leaf,
    Tree,
    as_array,
    as_column,
    columns_of,
    fields,
    packed,
    stacked,
)
from batchcast.packing import Packed

_PAGE = mmap.PAGESIZE
_SEALS = 1 | 2 | 4
"""No other seals, no shrinking, no growing: numbers of Linux, without which there is no arena."""

FEWEST = 2
"""Samples that an arena must hold at least."""


class _Map(mmap.mmap):
    """A mapping that may keep a connection open for as long as it is used itself."""

    connection: int | None = None

    def __del__(self) -> None:
        if self.connection is not None:
            os.close(self.connection)


class Columns:
    """Every field of all slots, as arrays over one mapping of the arena.

    Attributes:
        layout: of a sample.
        slots: how many there are.
        numbers: the sequence number that a slot holds. [slot]
        ids: its sample id. [slot]
    """

    def __init__(self, descriptor: int, layout: Layout, *, slots: int, writable: bool) -> None:
        rights = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
        size = arena_bytes(layout, slots)
        _check_arena(descriptor, size)
        self._map = _mapped(descriptor, size, rights)
        self.layout = layout
        self.slots = slots
        pieces = iter(_pieces(layout, slots))
        self.numbers = self._array(next(pieces))
        self.ids = self._array(next(pieces))
        self._shapes = [self._array(next(pieces)) if leaf.most else None for leaf in layout.leaves]
        self._values = [self._array(next(pieces)) for _ in layout.leaves]

    def hold_open(self, connection: int) -> None:
        """Close this connection only when nobody refers to the arena any more."""
        self._map.connection = connection

    def write(self, slot: int, sample: Tree, *, number: int, sample_id: int) -> None:
        """Store one sample.

        Raises:
            SampleFailed: the sample does not fit the layout; the message does not name it.
        """
        for index, value in enumerate(fields(self.layout.form, sample)):
            self._store(index, slot, value)
        self.numbers[slot] = number
        self.ids[slot] = sample_id

    def write_many(
        self, slots: NDArray[np.int64], samples: Sequence[Tree], *, first: int, ids: Any
    ) -> None:
        """Store samples, column by column.

        Args:
            slots: for each. [sample]
            samples: as the source gives them.
            first: sequence number of the first.
            ids: of all of them. [sample]

        Raises:
            SampleFailed: a sample does not fit the layout; the message does not name it.
        """
        columns = columns_of(self.layout.form, samples)
        for index, (values, leaf) in enumerate(zip(columns, self.layout.leaves, strict=True)):
            found = None if leaf.most else stacked(values, leaf.kind)
            if found is None:
                for slot, value in zip(slots.tolist(), values, strict=True):
                    self._store(index, slot, value)
            else:
                self._check_fixed(index, found[0].shape[1:], dtype=found[1])
                self._values[index][slots] = found[0]
        self.numbers[slots] = np.arange(first, first + len(slots))
        self.ids[slots] = ids

    def write_run(
        self, slots: slice, arrays: Sequence[Any], *, numbers: range, first_id: int
    ) -> None:
        """Store samples side by side: an array, or a list of single fields, for each leaf."""
        for index, values in enumerate(arrays):
            if self.layout.leaves[index].most:
                for slot, value in zip(range(slots.start, slots.stop), values, strict=True):
                    self._store(index, slot, value)
            else:
                array, dtype = as_column(values)
                self._check_fixed(index, array.shape[1:], dtype=dtype)
                self._values[index][slots] = array
        self._mark(slots, numbers, first_id)

    def write_bytes(
        self, slots: slice, value: Packed, begin: int, *, numbers: range, first_id: int
    ) -> None:
        """Store a part of something packed, from a byte of it on, over slots side by side."""
        value.write(self._values[0][slots].reshape(-1), begin=begin)
        self._mark(slots, numbers, first_id)

    def _mark(self, slots: slice, numbers: range, first_id: int) -> None:
        self.numbers[slots] = np.arange(numbers.start, numbers.stop)
        self.ids[slots] = np.arange(first_id, first_id + len(numbers))

    def fixed(self, index: int) -> NDArray[Any]:
        """A field of one shape, of all slots. [slot, *shape]"""
        return self._values[index]

    def varying(self, index: int, slot: int) -> NDArray[Any]:
        """A field of varying shape, of one slot."""
        leaf, shapes = self.layout.leaves[index], self._shapes[index]
        if shapes is None:
            raise AssertionError("Only fields whose shape varies have one of their own.")
        shape = tuple(shapes[slot, : len(leaf.shape)].tolist())
        size = prod(shape) * leaf.stored.itemsize
        if min(shape, default=0) < 0 or size > leaf.most:
            raise StreamGarbled(f"A field of shape {list(shape)} exceeds its {leaf.most} bytes.")
        return self._values[index][slot, :size].view(leaf.stored).reshape(shape)

    def record(self, slot: int) -> list[NDArray[Any]]:
        """Everything that a slot holds, as arrays that can be read or, if writable, written."""
        shapes = [each[slot] for each in self._shapes if each is not None]
        values = [each[slot : slot + 1] for each in self._values]
        return [self.numbers[slot : slot + 1], self.ids[slot : slot + 1], *shapes, *values]

    def _store(self, index: int, slot: int, value: Any) -> None:
        leaf, shapes = self.layout.leaves[index], self._shapes[index]
        array, dtype, kind = packed(value) if leaf.kind == "object" else as_array(value)
        if kind != leaf.kind:
            raise _other(index, kind, leaf.kind)
        if shapes is None:
            self._check_fixed(index, array.shape, dtype=dtype)
            self._values[index][slot] = array
            return
        if dtype != leaf.dtype or array.ndim != len(leaf.shape):
            raise _other(index, f"{dtype} {list(array.shape)}", f"{leaf.dtype} {list(leaf.shape)}")
        if array.nbytes > leaf.most:
            raise SampleFailed(
                f"its field {index} has {array.nbytes} bytes and the stream allows {leaf.most}; "
                f"share(..., longest={2 * array.nbytes}) allows twice as many as it needs"
            )
        shapes[slot, : array.ndim] = array.shape
        self._values[index][slot, : array.nbytes] = (
            np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        )

    def _check_fixed(self, index: int, shape: tuple[int, ...], *, dtype: str) -> None:
        leaf = self.layout.leaves[index]
        if dtype != leaf.dtype:
            raise _other(index, dtype, leaf.dtype)
        if shape != leaf.shape:
            need = max(1, int(np.prod(shape)), int(np.prod(leaf.shape))) * leaf.stored.itemsize
            raise SampleFailed(
                f"its field {index} has the shape {list(shape)} and the first samples had "
                f"{list(leaf.shape)}; where shapes vary, say how long a field may be: "
                f"share(..., longest={2 * need}), in bytes, allows twice as many as it needs"
            )

    def _array(self, piece: tuple[int, np.dtype[Any], tuple[int, ...]]) -> NDArray[Any]:
        offset, dtype, shape = piece
        count = int(np.prod(shape, dtype=np.int64))
        return np.frombuffer(self._map, dtype, count, offset).reshape(shape)


def _other(index: int, found: str, wanted: str) -> SampleFailed:
    return SampleFailed(
        f"its field {index} is {found} and that of the first samples was {wanted}; convert it in "
        "the data set or in shared=..., so that it is the same in every sample"
    )


def make_arena(layout: Layout, slots: int) -> int:
    """The descriptor of a new arena, all of whose pages are there.

    Raises:
        ArgumentError: the machine has not so much memory to give.
        OtherSystem: this is not Linux.
    """
    require_linux(what="An arena")
    size = arena_bytes(layout, slots)
    available = available_memory()
    if size > available:
        raise ArgumentError(
            f"The arena would take {size} bytes and this machine has {available} to give. "
            "Give share(...) a smaller memory."
        )
    descriptor = os.memfd_create("batchcast", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.posix_fallocate(descriptor, 0, size)
    except OSError as error:
        os.close(descriptor)
        raise ArgumentError(
            f"The arena of {size} bytes could not be had: {error.strerror}. Give share(...) a "
            "smaller memory."
        ) from error
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
    return descriptor


def _mapped(descriptor: int, size: int, rights: int) -> _Map:
    """The arena, in this process's address space.

    Raises:
        StreamError: this process may not have so much.
    """
    try:
        return _Map(descriptor, size, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE, prot=rights)
    except OSError as error:
        if error.errno != errno.ENOMEM:
            raise
        raise StreamError(
            f"The arena of {size} bytes could not be mapped: {error.strerror}. Raise what this "
            "process may address (ulimit -v), or give share(...) a smaller memory."
        ) from error


def _check_arena(descriptor: int, size: int) -> None:
    """Refuse memory that is too small or could shrink: reading it would end the process.

    Raises:
        StreamGarbled: it is not an arena of this size.
    """
    try:
        seals = fcntl.fcntl(descriptor, fcntl.F_GET_SEALS)
    except OSError:
        seals = 0
    held = os.fstat(descriptor).st_size
    if seals & _SEALS != _SEALS or held < size:
        raise StreamGarbled(f"The memory of {held} bytes is no sealed arena of {size} bytes.")


def slots_within(memory: int, layout: Layout, *, together: int) -> int:
    """How many slots a bound on the arena allows.

    Args:
        memory: bytes that the arena may take.
        layout: of a sample.
        together: the number is a multiple of this where it can be, so that batches do not wrap.

    Raises:
        ArgumentError: fewer than two.
    """
    spare = 2 * _PAGE * (len(layout.leaves) + 2)
    each = layout.sample_bytes + 16 + sum(8 * DIMENSIONS for leaf in layout.leaves if leaf.most)
    slots = min((memory - spare) // each, MOST)
    if slots < FEWEST:
        raise ArgumentError(
            f"An arena of {memory} bytes holds {max(0, slots)} samples of {each} bytes, and at "
            f"least {FEWEST} are needed. Give share(...) a memory of {spare + FEWEST * each} "
            "bytes or more."
        )
    return slots - slots % together if slots >= together else slots


MOST = 8192
"""Slots at most, so that a list of all of them fits a packet."""


def arena_bytes(layout: Layout, slots: int) -> int:
    """Bytes of an arena of so many slots."""
    offset, dtype, shape = _pieces(layout, slots)[-1]
    return _rounded(offset + int(np.prod(shape, dtype=np.int64)) * dtype.itemsize)


def available_memory() -> int:
    """Bytes that this machine, and every group of processes that we are in, can still give."""
    found = [_meminfo("MemAvailable")]
    for folder in _groups():
        for limit, used in _LIMITS:
            try:
                found.append(int((folder / limit).read_text()) - int((folder / used).read_text()))
            except (OSError, ValueError):
                continue
    return min(found)


_LIMITS = (
    ("memory.max", "memory.current"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes"),
)
"""Files of a group that say what it may have and has, in the second and the first version."""

_MOUNTS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/memory")


def _groups() -> Iterator[Path]:
    """Folders of the groups of processes whose memory is counted and that this process is in.

    A container sees its own group where the file system is mounted, and may be told a longer path.
    """
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        lines = []
    paths = [line.split(":", 2) for line in lines]
    own = {path for _, kinds, path in paths if kinds == "" or "memory" in kinds.split(",")}
    for mount in map(Path, _MOUNTS):
        yield mount
        for path in own:
            inner = mount / path.lstrip("/")
            yield from (each for each in (inner, *inner.parents) if mount in each.parents)


def _meminfo(name: str) -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"The kernel tells no {name}.")


def _pieces(layout: Layout, slots: int) -> list[tuple[int, np.dtype[Any], tuple[int, ...]]]:
    whole = np.dtype(np.int64)
    wanted: list[tuple[np.dtype[Any], tuple[int, ...]]] = [(whole, (slots,)), (whole, (slots,))]
    wanted += [(whole, (slots, DIMENSIONS)) for leaf in layout.leaves if leaf.most]
    wanted += [_values_of(leaf, slots) for leaf in layout.leaves]
    pieces, offset = [], 0
    for dtype, shape in wanted:
        pieces.append((offset, dtype, shape))
        offset = _rounded(offset + int(np.prod(shape, dtype=np.int64)) * dtype.itemsize)
    return pieces


def _values_of(leaf: Leaf, slots: int) -> tuple[np.dtype[Any], tuple[int, ...]]:
    if leaf.most:
        return np.dtype(np.uint8), (slots, leaf.most)
    return leaf.stored, (slots, *leaf.shape)


def _rounded(size: int) -> int:
    return -(-size // _PAGE) * _PAGE
