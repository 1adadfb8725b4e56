"""Where samples come from: a data set that workers index, or a loader that a feeder iterates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sized
from dataclasses import dataclass
from typing import Any

from foretrain.errors import InputError

Transform = Callable[[Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What a stream shares.

    Attributes:
        samples_of: a data set with a length whose samples can be indexed; nothing for a loader.
        batches_of: an iterable of batches, gone through once per epoch; nothing for a data set.
        shared: what every sample goes through before it is stored; nothing for a loader.
        seed: that all draws of random numbers come from.
        longest: bytes of the longest field whose shape varies; nothing for twice the longest seen.
    """

    samples_of: Any | None
    batches_of: Iterable[Any] | None
    shared: Transform | None
    seed: int
    longest: int | None

    @property
    def samples(self) -> int | None:
        """Samples of an epoch, where the source tells before it is read."""
        return None if self.samples_of is None else len(self.samples_of)

    @property
    def repeats(self) -> bool:
        """Whether the source can be gone through more than once."""
        return self.batches_of is None or iter(self.batches_of) is not self.batches_of


def source_of(source: Any, *, shared: Transform | None, seed: int, longest: int | None) -> Source:
    """What `share` was given, told apart.

    Raises:
        InputError: it is neither a data set nor an iterable, or is empty.
    """
    if _is_loader(source):
        if shared is not None:
            raise InputError(
                "shared=... is for data sets. A loader has transformed its samples already: put "
                "the transform into its data set, or give share(...) the data set itself."
            )
        return Source(samples_of=None, batches_of=source, shared=None, seed=seed, longest=longest)
    if not hasattr(source, "__getitem__") or not isinstance(source, Sized):
        raise InputError(
            f"share(...) was given a {type(source).__name__}. Allowed: a data set with a length "
            "and an index, a DataLoader, or any iterable of batches."
        )
    if not len(source):
        raise InputError("share(...) was given a data set without a sample.")
    return Source(samples_of=source, batches_of=None, shared=shared, seed=seed, longest=longest)


def _is_loader(source: Any) -> bool:
    is_data_set = hasattr(source, "__getitem__") and hasattr(source, "__len__")
    return not is_data_set and hasattr(source, "__iter__")
