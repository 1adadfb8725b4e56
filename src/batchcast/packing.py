"""Anything that a loader's worker could hand to its process, as bytes: a pickle and data.

What a DataLoader with workers can give is carried with the same types and values: that is the
measure. The data of tensors and arrays are no part of the pickle, so they are copied once on the
way in and, unless they are lent, once on the way out. Only processes of one user, who have shown
each other that they are, exchange pickles.

```
[bytes, check, pickle's bytes, arrays, tensors, (offset, bytes) of each ...] pickle, data, [check]
```
"""

from __future__ import annotations

import copyreg
import io
import pickle
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from batchcast.errors import SampleFailed

if TYPE_CHECKING:
    import torch


Bytes: TypeAlias = NDArray[Any]
"""Of type uint8, side by side."""

ALIGNED = 64
"""Bytes to a multiple of which every buffer begins: what processors load at once."""

_HEAD = struct.Struct("<5q")
_ENTRY = struct.Struct("<2q")
_CHECK = struct.Struct("<q")


@dataclass(frozen=True, slots=True)
class Packed:
    """An object as bytes, in pieces that are not put side by side before they are stored.

    Attributes:
        size: bytes of all.
        pieces: and where each begins.
    """

    size: int
    pieces: Sequence[tuple[int, Bytes]]

    def write(self, into: Bytes, *, begin: int = 0) -> None:
        """Store as much as there is room for, from this byte on."""
        end = begin + len(into)
        for offset, piece in self.pieces:
            first, last = max(begin, offset), min(end, offset + len(piece))
            if first < last:
                into[first - begin : last - begin] = piece[first - offset : last - offset]

    def whole(self) -> Bytes:
        """All bytes, side by side."""
        memory = np.zeros(self.size, np.uint8)
        self.write(memory)
        return memory


def pack(value: object) -> Packed:
    """A value, packed.

    Raises:
        SampleFailed: the value cannot go from one process to another.
    """
    pickler = _Pickler()
    body = pickler.packed(value)
    if shared := _overlapping([where for where, _ in pickler.lies]):
        before, pickler = pickler, _Pickler(shared)
        body = pickler.packed(value)
        del before  # until here, as what it saw must not give its memory to something else
    check = zlib.crc32(body)
    buffers = [*pickler.arrays, *pickler.tensors]
    offset = _HEAD.size + _ENTRY.size * len(buffers)
    pieces = [(offset, np.frombuffer(body, np.uint8))]
    entries = b""
    offset += len(body)
    for buffer in buffers:
        offset = -(-offset // ALIGNED) * ALIGNED
        entries += _ENTRY.pack(offset, len(buffer))
        pieces.append((offset, buffer))
        offset += len(buffer)
    size = offset + _CHECK.size
    counts = len(pickler.arrays), len(pickler.tensors)
    head = _HEAD.pack(size, check, len(body), *counts) + entries
    pieces.append((0, np.frombuffer(head, np.uint8)))
    pieces.append((offset, np.frombuffer(_CHECK.pack(check), np.uint8)))
    return Packed(size, pieces)


def size_at(memory: Bytes) -> int:
    """Bytes of the packed value that begins here."""
    return int(_HEAD.unpack_from(memory.data)[0])


def unpack(
    memory: Bytes,
    *,
    array: Callable[[Bytes], Bytes] = np.copy,
    tensor: Callable[[Bytes, TensorForm], Any] | None = None,
    finished: Callable[[Any], Any] | None = None,
) -> Any:
    """The value in packed bytes.

    Args:
        memory: that it begins in.
        array: gives the memory of an array for its bytes there; by default a copy.
        tensor: makes a tensor of its bytes there; by default one of its own memory.
        finished: what a tensor goes through before it is in the value; nothing for none.

    Raises:
        SampleFailed: the bytes are not whole, or this process cannot make what is in it.
    """
    size, check, length, arrays, tensors = _HEAD.unpack_from(memory.data)
    if _CHECK.unpack_from(memory.data, size - _CHECK.size)[0] != check:
        raise SampleFailed(
            "A batch was to be prepared again after its feeder had died, and the loader gave "
            "another one. Let its order and its random numbers depend on PyTorch's seed alone."
        )
    count = arrays + tensors
    entries = (_ENTRY.unpack_from(memory.data, _HEAD.size + n * _ENTRY.size) for n in range(count))
    buffers = [memory[offset : offset + each] for offset, each in entries]
    begin = _HEAD.size + _ENTRY.size * count
    make = tensor or own_tensor
    made = cache(lambda place: make(buffers[arrays + place], _flat(len(buffers[arrays + place]))))

    def tensor_at(place: int, form: TensorForm) -> Any:
        lies = form.at is not None
        value = _lying_in(made(place), form) if lies else make(buffers[arrays + place], form)
        return value if finished is None else finished(value)

    arrays_of = [array(each) for each in buffers[:arrays]]
    unpickler = _Unpickler(memory[begin : begin + length], arrays_of, tensor=tensor_at)
    try:
        return unpickler.load()
    except (ImportError, AttributeError, pickle.UnpicklingError) as error:
        raise SampleFailed(
            f"What the stream gives cannot be made in this process: {error}. Put its class into a "
            "module that the process that shares and the one that reads can both import."
        ) from error


@dataclass(frozen=True, slots=True)
class TensorForm:
    """What a tensor is, beside its data.

    Attributes:
        dtype: PyTorch's name of its numbers.
        shape: of the tensor.
        strides: in numbers; its data are dense, unless they are shared.
        grad: whether it wants a gradient.
        at: bytes before its first number in memory that tensors share; nothing for its own.
    """

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    grad: bool
    at: int | None = None


def _flat(size: int) -> TensorForm:
    return TensorForm("uint8", (size,), (1,), grad=False)


def _lying_in(memory: torch.Tensor, form: TensorForm) -> torch.Tensor:
    """A tensor in memory that others lie in too: no view, as little as what it was made from."""
    import torch

    made = torch.empty(0, dtype=getattr(torch, form.dtype))
    assert form.at is not None
    offset = memory.storage_offset() + form.at
    made.set_(memory.untyped_storage(), offset // made.itemsize, form.shape, form.strides)
    return made.requires_grad_(form.grad)


def own_tensor(buffer: Bytes, form: TensorForm, *, pinned: bool = False) -> torch.Tensor:
    """A tensor of its own memory, with these data."""
    import torch

    dtype = getattr(torch, form.dtype)
    made = torch.empty_strided(form.shape, form.strides, dtype=dtype, pin_memory=pinned)
    if len(buffer):
        flat = made.as_strided((made.numel(),), (1,)).view(torch.uint8)
        np.copyto(flat.numpy(), buffer)
    return made.requires_grad_(form.grad)


def lent_tensor(buffer: Bytes, form: TensorForm) -> torch.Tensor:
    """A tensor that lies where its data lie."""
    import torch

    if not len(buffer):
        return own_tensor(buffer, form)
    flat = torch.from_numpy(buffer).view(getattr(torch, form.dtype))
    return flat.as_strided(form.shape, form.strides).requires_grad_(form.grad)


@dataclass(frozen=True, slots=True)
class _Range:
    """Where a tensor lies: the bytes from its first number to its last, and how many it has.

    Attributes:
        memory: where it begins, and its bytes.
        begin: byte of it.
        end: byte after the last.
        size: bytes of the tensor, or of all that lie here.
    """

    memory: tuple[int, int]
    begin: int
    end: int
    size: int

    @classmethod
    def of(cls, tensor: torch.Tensor) -> _Range:
        """That of a tensor with numbers."""
        reach = zip(tensor.shape, tensor.stride(), strict=True)
        last = sum((length - 1) * stride for length, stride in reach)
        begin = tensor.storage_offset() * tensor.itemsize
        end = begin + (last + 1) * tensor.itemsize
        storage = tensor.untyped_storage()
        return cls((storage.data_ptr(), storage.nbytes()), begin, end, tensor.nbytes)


def _overlapping(lies: Sequence[_Range]) -> list[_Range]:
    """Memory that several tensors lie in, as one range each; none that is mostly something else."""
    groups: list[_Range] = []
    several: list[_Range] = []
    for each in sorted(lies, key=lambda each: (each.memory, each.begin)):
        last = groups[-1] if groups else None
        if last is None or last.memory != each.memory or last.end <= each.begin:
            groups.append(each)
            continue
        groups[-1] = _Range(last.memory, last.begin, max(last.end, each.end), last.size + each.size)
        if several and (several[-1].memory, several[-1].begin) == (last.memory, last.begin):
            several.pop()
        several.append(groups[-1])
    kept = (each for each in several if each.end - each.begin <= MOSTLY * each.size)
    return [replace(each, begin=each.begin // ALIGNED * ALIGNED) for each in kept]


MOSTLY = 2
"""Times the bytes of tensors that the memory may have in which they lie together: columns of a
large table lie far apart, and are carried alone."""


class _Pickler(pickle.Pickler):
    """A pickler that leaves data beside the pickle.

    Attributes:
        arrays: data of arrays and of whatever else offers them, as pickle's protocol 5 says.
        tensors: data of tensors.
        lies: where each of these lay, with itself.

    Args:
        shared: memory that several tensors lie in.
    """

    def __init__(self, shared: Sequence[_Range] = ()) -> None:
        import torch

        self._file = io.BytesIO()
        self._shared = shared
        self._places: dict[_Range, int] = {}
        self.arrays: list[Bytes] = []
        self.tensors: list[Bytes] = []
        self.lies: list[tuple[_Range, torch.Tensor]] = []
        super().__init__(self._file, protocol=5, buffer_callback=self._beside)
        self.dispatch_table = {**copyreg.dispatch_table, torch.Tensor: self._reduced}

    def packed(self, value: object) -> bytes:
        """The pickle of a value."""
        try:
            self.dump(value)
        except SampleFailed:
            raise
        except Exception as error:
            raise SampleFailed(
                f"a {type(value).__name__} cannot go from one process to another, nor could a "
                f"worker of a DataLoader give it: {type(error).__name__}: {error}"
            ) from error
        return self._file.getvalue()

    def _beside(self, buffer: pickle.PickleBuffer) -> None:
        self.arrays.append(np.frombuffer(buffer.raw(), np.uint8))

    def _reduced(self, tensor: torch.Tensor) -> Any:
        """A dense tensor of the host by its place beside the pickle; others as PyTorch does it."""
        import torch

        if tensor.requires_grad and not tensor.is_leaf:
            raise SampleFailed(
                "A tensor is part of a graph of gradients, which ends at a process. Call detach() "
                "on it in the data set or in collate_fn."
            )
        plain = tensor.device.type == "cpu" and tensor.layout is torch.strided
        is_odd = tensor.is_quantized or tensor.is_nested
        if not plain or is_odd or tensor.is_conj() or tensor.is_neg():
            return tensor.__reduce_ex__(5)
        dense = tensor.detach()
        if tensor.numel():
            lies = _Range.of(dense)
            self.lies.append((lies, dense))
            for each in self._shared:
                if each.memory == lies.memory and each.begin <= lies.begin < each.end:
                    return self._reduced_within(each, dense, grad=tensor.requires_grad)
        if not dense.is_contiguous():
            dense = dense.clone()  # keeps strides such as those of channels_last
        flat = dense.as_strided((dense.numel(),), (1,))
        self.tensors.append(flat.view(torch.uint8).numpy() if len(flat) else _NOTHING)
        name = str(tensor.dtype).removeprefix("torch.")
        form = TensorForm(name, tuple(dense.shape), dense.stride(), tensor.requires_grad)
        return _tensor, (len(self.tensors) - 1, form)

    def _reduced_within(self, memory: _Range, tensor: torch.Tensor, *, grad: bool) -> Any:
        """A tensor by its place in memory that others lie in too."""
        import torch

        if memory not in self._places:
            self._places[memory] = len(self.tensors)
            whole = torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage())
            self.tensors.append(whole[memory.begin : memory.end].numpy())
        at = tensor.storage_offset() * tensor.itemsize - memory.begin
        name = str(tensor.dtype).removeprefix("torch.")
        form = TensorForm(name, tuple(tensor.shape), tensor.stride(), grad, at)
        return _tensor, (self._places[memory], form)


class _Unpickler(pickle.Unpickler):
    """The counterpart, which makes tensors in its own way."""

    def __init__(
        self, body: Bytes, arrays: list[Bytes], *, tensor: Callable[[int, TensorForm], Any]
    ) -> None:
        super().__init__(io.BytesIO(body.tobytes()), buffers=arrays)
        self._tensor = tensor

    def find_class(self, module: str, name: str) -> Any:
        """Whatever the pickle names; tensors are made as this process wants them."""
        if (module, name) == (__name__, _tensor.__name__):
            return self._tensor
        return super().find_class(module, name)


def _tensor(place: int, form: TensorForm) -> Any:
    """What a pickle names where a tensor stands; whoever unpacks has a way of its own."""
    raise AssertionError("A packed tensor is made by whoever unpacks it.")


_NOTHING = np.zeros(0, np.uint8)
