"""Seeds that depend on what is drawn for, never on who draws or when."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

_GOLDEN = 0x9E3779B97F4A7C15
_FIRST = 0xBF58476D1CE4E5B9
_SECOND = 0x94D049BB133111EB
_ALL = (1 << 64) - 1


def mixed(value: int) -> int:
    """A whole number scattered over 64 bits. Source: steele2014, SplitMix64's finalizer."""
    value = (value + _GOLDEN) & _ALL
    value = ((value ^ (value >> 30)) * _FIRST) & _ALL
    value = ((value ^ (value >> 27)) * _SECOND) & _ALL
    return value ^ (value >> 31)


def mixed_all(values: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The same for many numbers at once. [value]"""
    mix = values.astype(np.uint64) + np.uint64(_GOLDEN)
    mix = (mix ^ (mix >> np.uint64(30))) * np.uint64(_FIRST)
    mix = (mix ^ (mix >> np.uint64(27))) * np.uint64(_SECOND)
    return mix ^ (mix >> np.uint64(31))


def seed_of(seed: int, *parts: int) -> int:
    """The seed of something that these numbers name, such as an epoch and a sample."""
    for part in parts:
        seed = mixed(seed & _ALL ^ mixed(part & _ALL))
    return seed


def number_of(name: str) -> int:
    """A name as a number, the same in every process and on every machine."""
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big")


@contextmanager
def generators_kept() -> Iterator[None]:
    """Whatever is sown and drawn within leaves a process' own draws as they were."""
    import torch

    python, numpy, tensors = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002
        torch.set_rng_state(tensors)


def sow(seed: int) -> None:
    """Seed the generators that transforms draw from: Python's, NumPy's and PyTorch's."""
    import torch

    random.seed(seed)
    np.random.seed(seed & 0xFFFFFFFF)  # noqa: NPY002 - transforms draw from the old global one too
    torch.random.default_generator.manual_seed(seed & (_ALL >> 1))
