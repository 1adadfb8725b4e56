"""The states of the generators that code draws from, PyTorch's, NumPy's and Python's, as bytes."""

from __future__ import annotations

import random
import struct
from typing import Any, NamedTuple

import numpy as np

_SIZES = struct.Struct("<3I")
_NUMPY = struct.Struct("<624I2id")
_PYTHON = struct.Struct("<625I?d")
_TWISTER = "MT19937"

LONGEST = 1 << 14
"""Bytes that the three may have; they have 10,089."""


class GeneratorStates(NamedTuple):
    """Of each generator its state; nothing for one that is to stay as it is.

    Attributes:
        torch: of PyTorch's generator.
        numpy: of NumPy's global one.
        python: of Python's.
    """

    torch: bytes = b""
    numpy: bytes = b""
    python: bytes = b""

    @classmethod
    def now(cls) -> GeneratorStates:
        """As they are in this process."""
        import torch

        return cls(torch.get_rng_state().numpy().tobytes(), _of_numpy(), _of_python())

    @classmethod
    def of(cls, told: bytes) -> GeneratorStates:
        """As they travelled.

        Raises:
            ValueError: these are none.
        """
        if not told:
            return cls()
        if not _SIZES.size <= len(told) <= LONGEST:
            raise ValueError(f"states of generators have no {len(told)} bytes")
        sizes, parts, begin = _SIZES.unpack_from(told), [], _SIZES.size
        for size in sizes:
            parts.append(told[begin : begin + size])
            begin += size
        if begin != len(told):
            raise ValueError(f"states of {sum(sizes)} bytes came in {len(told)}")
        return cls(*parts)

    def as_bytes(self) -> bytes:
        """As they travel; nothing where there is none."""
        return _SIZES.pack(*map(len, self)) + b"".join(self) if any(self) else b""

    def put(self) -> None:
        """Have the generators of this process go on from here."""
        import torch

        if self.torch:
            torch.set_rng_state(torch.frombuffer(bytearray(self.torch), dtype=torch.uint8))
        if self.numpy:
            *key, position, has_normal, normal = _NUMPY.unpack(self.numpy)
            np.random.set_state((_TWISTER, np.array(key, np.uint32), position, has_normal, normal))  # noqa: NPY002
        if self.python:
            *key, has_normal, normal = _PYTHON.unpack(self.python)
            random.setstate((3, tuple(key), normal if has_normal else None))


def _of_numpy() -> bytes:
    """NumPy's state; nothing where somebody has given it another kind of generator."""
    name, key, *rest = np.random.get_state()  # noqa: NPY002
    return _NUMPY.pack(*key, *rest) if name == _TWISTER else b""


def _of_python() -> bytes:
    state: Any = random.getstate()
    _, key, normal = state
    return _PYTHON.pack(*key, normal is not None, normal or 0.0)
