"""Samples without a stream: prepared one by one where they are used, as a worker would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from foretrain.run.stream.seeds import seed_of, sow
from foretrain.run.stream.source import Source

Tree = Any
"""A sample or a batch: tensors, numbers and texts within tuples, lists and dicts."""


def prepared(source: Source, place: int, *, epoch: int) -> Tree:
    """The sample of a data set, read and decoded with the random numbers that are its own."""
    assert source.samples_of is not None
    sow(seed_of(source.seed, epoch, place))
    sample = source.samples_of[place]
    return sample if source.shared is None else source.shared(sample)


def batch_of(samples: Sequence[Tree]) -> Tree:
    """Samples put together as PyTorch does it."""
    from torch.utils.data import default_collate

    return default_collate(list(samples))


def bytes_of(tree: Tree) -> int:
    """Bytes of everything in a sample or a batch."""
    if isinstance(tree, Mapping):
        return sum(map(bytes_of, tree.values()))
    if isinstance(tree, tuple | list):
        return sum(map(bytes_of, tree))
    return int(getattr(tree, "nbytes", 8))
