"""Seeds that depend on what is drawn for, never on who draws or when.

Which sample comes when: sequence numbers count the samples of one epoch after the other.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from itertools import repeat
from typing import Any

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
    before = _states()
    try:
        yield
    finally:
        _put(before)


class Generators:
    """Generators of one's own, for code that draws from those of the process: a copy of these."""

    def __init__(self) -> None:
        self._own = _states()

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """What is drawn within is drawn from them; what comes after goes on anywhere."""
        _put(self._own)
        try:
            yield
        finally:
            self._own = _states()


def _states() -> tuple[Any, ...]:
    """The states of Python's, NumPy's and PyTorch's generators."""
    import torch

    return random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002


def _put(states: tuple[Any, ...]) -> None:
    """Put the generators into these states."""
    import torch

    python, numpy, tensors = states
    random.setstate(python)
    np.random.set_state(numpy)  # noqa: NPY002
    torch.set_rng_state(tensors)


def numbers_drawn(draw: Callable[[], object]) -> int:
    """Numbers of 32 bits that something draws from PyTorch's generator, which it moves on."""
    import torch

    before = torch.get_rng_state()
    draw()
    after, count = torch.get_rng_state(), 0
    torch.set_rng_state(before)
    for piece in (_left(before) - _left(after)) % _REFILL, *repeat(_REFILL, _MOST_REFILLS):
        draw_numbers(piece)
        count += piece
        if torch.equal(torch.get_rng_state(), after):
            return count
    raise AssertionError("Something that seeds the generator anew has no number of draws.")


_REFILL = 624
"""Numbers that a Mersenne Twister makes at a time. Source: matsumoto1998."""

_MOST_REFILLS = 1 << 20

_LEFT = slice(8, 12)
"""Where the state tells how many of them are left."""


def _left(state: Any) -> int:
    return int(state[_LEFT].numpy().view(np.int32)[0])


def draw_numbers(count: int) -> None:
    """Draw so many numbers of 32 bits from PyTorch's generator."""
    import torch

    torch.empty(count, dtype=torch.int32).random_()


def sow(seed: int) -> None:
    """Seed the generators that transforms draw from: Python's, NumPy's and PyTorch's."""
    import torch

    random.seed(seed)
    np.random.seed(seed & 0xFFFFFFFF)  # noqa: NPY002 - transforms draw from the old global one too
    torch.random.default_generator.manual_seed(seed & (_ALL >> 1))


def fingerprint(seed: int | None = None) -> tuple[float, float, int]:
    """What these generators draw next, or would after a seed: another, once anything was drawn."""
    import torch

    if seed is not None:
        sow(seed)
    old = np.random.random_sample()  # noqa: NPY002
    return random.random(), old, int(torch.empty((), dtype=torch.int64).random_())


@dataclass(slots=True, kw_only=True)
class Order:
    """The samples of a stream, in the order in which every reader gets them.

    Attributes:
        samples: in an epoch; nothing where that is only known when the first epoch ends.
        epochs: how many there are; nothing means that they go on for ever.
        shuffle: whether every epoch has an order of its own.
        seed: that the orders are drawn from.
        looks: epochs more, of which some reader only looked at the first batch.
    """

    samples: int | None
    epochs: int | None
    shuffle: bool
    seed: int
    looks: int = 0
    _first: int = 0
    _ends: list[int] = field(default_factory=list)

    @property
    def most(self) -> int | None:
        """Epochs that a reader may begin; nothing for as many as it likes."""
        return None if self.epochs is None else self.epochs + self.looks

    @property
    def is_fed(self) -> bool:
        """Whether a feeder goes through the samples, whose number only an epoch's end tells."""
        return self.samples is None

    def end(self, epoch: int) -> int | None:
        """The sequence number after the epoch's last sample, if it is known yet."""
        if self.samples is not None:
            return (epoch + 1) * self.samples
        return self._ends[epoch] if epoch < len(self._ends) else None

    def start(self, epoch: int) -> int | None:
        """The sequence number of the epoch's first sample, if it is known yet."""
        return 0 if epoch == 0 else self.end(epoch - 1)

    def place(self, number: int) -> tuple[int, int]:
        """The epoch and the position in it of a sequence number."""
        if self.samples is not None:
            return divmod(number, self.samples)
        epoch = int(np.searchsorted(self._ends, number, side="right"))
        return epoch, number - (self._ends[epoch - 1] if epoch else 0)

    def last(self) -> int | None:
        """The sequence number after the last sample of all, if it is known yet."""
        return None if self.most is None else self.end(self.most - 1)

    def begin(self, epoch: int) -> None:
        """A source without a length begins with this epoch; those before it are gone."""
        self._first = epoch
        self._ends = [0] * epoch

    def number(self, epoch: int, position: int) -> int | None:
        """The sequence number of a place, if it is known yet; below 0 if it is gone for ever."""
        if epoch < self._first:
            return -1
        start = self.start(epoch)
        return None if start is None else start + position

    def close(self, epoch: int, end: int) -> None:
        """An epoch of a source without a length has ended here."""
        if epoch != len(self._ends):
            raise AssertionError("Epochs end in their order.")
        self._ends.append(end)

    def ids(self, first: int, count: int) -> NDArray[np.int64]:
        """Sample ids of so many sequence numbers, all of one epoch. [sample]"""
        epoch, position = self.place(first)
        if self.samples is None or not self.shuffle:
            return np.arange(position, position + count)
        order = permutation(self.samples, seed=self.seed, epoch=epoch)
        return order[position : position + count]


@lru_cache(maxsize=4)
def permutation(samples: int, *, seed: int, epoch: int) -> NDArray[np.int64]:
    """The order of an epoch, the same wherever it is drawn. [sample]"""
    generator = np.random.Generator(np.random.PCG64(seed_of(seed, epoch)))
    return generator.permutation(samples)
