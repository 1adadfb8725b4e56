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
from dataclasses import dataclass
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
) -> Any:
    """The value in packed bytes.

    Args:
        memory: that it begins in.
        array: gives the memory of an array for its bytes there; by default a copy.
        tensor: makes a tensor of its bytes there; by default one of its own memory.

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
    unpickler = _Unpickler(
        memory[begin : begin + length],
        [array(each) for each in buffers[:arrays]],
        tensor=lambda place, form: make(buffers[arrays + place], form),
    )
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
        strides: in numbers; its data are dense.
        grad: whether it wants a gradient.
    """

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    grad: bool


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


class _Pickler(pickle.Pickler):
    """A pickler that leaves data beside the pickle.

    Attributes:
        arrays: data of arrays and of whatever else offers them, as pickle's protocol 5 says.
        tensors: data of tensors.
    """

    def __init__(self) -> None:
        import torch

        self._file = io.BytesIO()
        self.arrays: list[Bytes] = []
        self.tensors: list[Bytes] = []
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
        if not plain or tensor.is_quantized or tensor.is_conj() or tensor.is_neg():
            return tensor.__reduce_ex__(5)
        dense = tensor.detach()
        if not dense.is_contiguous():
            dense = dense.clone()  # keeps strides such as those of channels_last
        flat = dense.as_strided((dense.numel(),), (1,))
        self.tensors.append(flat.view(torch.uint8).numpy() if len(flat) else _NOTHING)
        name = str(tensor.dtype).removeprefix("torch.")
        form = TensorForm(name, tuple(dense.shape), dense.stride(), tensor.requires_grad)
        return _tensor, (len(self.tensors) - 1, form)


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
