"""What a training script looks at of its DataLoader besides its batches, over a stream.

The data set and the sampler are in another process. What they tell as a number is told; whatever
else is asked of them says where it is to be asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from batchcast.errors import NotHere, StreamError

if TYPE_CHECKING:
    from batchcast.admission import Asked

LOADERS = (
    "batch_sampler",
    "collate_fn",
    "generator",
    "multiprocessing_context",
    "num_workers",
    "persistent_workers",
    "pin_memory",
    "prefetch_factor",
    "timeout",
    "worker_init_fn",
)
"""Attributes of a DataLoader that its batches do not depend on once they are shared."""


NUMBERS: Mapping[str, Callable[[int], int]] = {
    "num_workers": int,
    "persistent_workers": bool,
    "pin_memory": bool,
    "prefetch_factor": int,
}
"""Those that are numbers, and are told as the loader has them."""

PARTS = ("", "batch_sampler", "dataset", "sampler")
"""Parts of a loader that may want to be told of epochs; the first is the loader itself."""


def wants_epoch(part: str) -> str:
    """The name under which it is told whether a part has a `set_epoch`."""
    return f"{part}.set_epoch" if part else "set_epoch"


class Elsewhere:
    """A part of what is shared, which knows how many samples it has.

    Args:
        part: its name as an attribute of a loader.
        length: samples of it; nothing where it does not tell.
    """

    def __init__(self, part: str, length: int | None) -> None:
        self._part, self._length = part, length

    def __len__(self) -> int:
        if self._length is None:
            raise TypeError(f"The {self._part} of what is shared does not tell its length.")
        return self._length

    def __getitem__(self, index: object) -> Any:
        raise StreamError(self._told("give samples"))

    def __getattr__(self, name: str) -> Any:
        raise NotHere(self._told(f"tell its '{name}'"))

    def _told(self, what: str) -> str:
        return (
            f"The {self._part} of a stream is in the process that shares it: here it cannot "
            f"{what}, only its length. Ask it before share(...), and hand on what it says."
        )


class ByEpochs(Elsewhere):
    """A part of a shared loader that gives every epoch by its number.

    Args:
        part: its name as an attribute of a loader.
        length: of it; nothing where it does not tell.
        comes: tells the epoch that the next loop gives.
    """

    def __init__(self, part: str, length: int | None, comes: Callable[[], int]) -> None:
        super().__init__(part, length)
        self._comes = comes

    def set_epoch(self, epoch: int) -> None:
        """Nothing, where the next loop gives that epoch: the stream tells its parts itself.

        Raises:
            StreamError: the next loop gives another one.
        """
        if epoch != (comes := self._comes()):
            raise StreamError(
                f"set_epoch({epoch}), and the next loop over this reader gives epoch {comes}, "
                "which is one and the same for all members. Number epochs from 0, as their loops "
                "come, or leave set_epoch out: the stream tells its loader of every epoch."
            )


class LooksLikeALoader:
    """What a reader tells of the loader that is shared, to who looks at it as at a DataLoader."""

    _asked: Asked
    _samples: int | None
    _told: Mapping[str, int]

    @property
    def dataset(self) -> Elsewhere:
        """The data set, which tells how many samples it has."""
        return self._elsewhere("dataset", self._samples)

    @property
    def sampler(self) -> Elsewhere:
        """The sampler, which tells how many samples an epoch has."""
        return self._elsewhere("sampler", self._samples)

    @property
    def drop_last(self) -> bool:
        """Whether a last batch that is not full is left out, here or by the loader."""
        return self._asked.drop_last or bool(self._told.get("drop_last"))

    def _elsewhere(self, part: str, length: int | None = None) -> Elsewhere:
        """A part of the loader, which may be told of an epoch where the loader's wants to be."""
        length = self._told.get(part, length)
        wants = self._told.get(wants_epoch(part))
        return ByEpochs(part, length, self._comes) if wants else Elsewhere(part, length)

    def _comes(self) -> int:
        """The epoch that the next loop gives."""
        raise NotImplementedError

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise StreamError(
            "A reader cannot be copied or sent to another process: it is a connection. Call "
            f"attach({self._asked.name!r}, model=...) where another one is to read."
        )

    def __getattr__(self, name: str) -> Any:
        told = self.__dict__.get("_told", {})
        if name == "batch_sampler" and name in told:
            return self._elsewhere(name)
        if name == "set_epoch" and told.get(wants_epoch("")):
            return ByEpochs("", None, self._comes).set_epoch
        if name in NUMBERS and name in told:
            return NUMBERS[name](told[name])
        if name in LOADERS:
            raise NotHere(
                f"A reader has no '{name}': the loader that is shared has, in the process that "
                "shares it. Take it from the loader before share(...)."
            )
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
