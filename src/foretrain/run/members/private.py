"""A private loader: every sample prepared by the member itself, in the order of the stream.

What it gives is what the shared stream gives, to the last bit; only who prepares it differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from time import monotonic
from typing import Any, Final

from foretrain.errors import InputError
from foretrain.run.members.prepared import Tree, batch_of, prepared
from foretrain.run.stream.order import Order
from foretrain.run.stream.seeds import generators_kept, number_of, seed_of, sow
from foretrain.run.stream.source import Source

LEFT_OUT: Final = object()
"""Instead of a sample that cannot be prepared."""


class PrivateLoader:
    """Batches of one member, prepared between its steps; a loop over it is an epoch, or its rest.

    Attributes:
        epoch: that the next batch belongs to.
        position: samples of that epoch that have gone by.
    """

    def __init__(
        self,
        source: Source,
        order: Order,
        *,
        member: str,
        batch_size: int,
        private: Callable[[Any], Any] | None,
        skip: bool,
    ) -> None:
        if source.samples_of is None:
            raise InputError(
                "input = 'private' needs a data set with a length and an index; this one is a"
                " loader, which members can only share."
            )
        self.epoch = self.position = 0
        self._source, self._order, self._batch_size = source, order, batch_size
        self._private, self._skip, self._member = private, skip, number_of(member)
        self._waited, self._skipped = 0.0, 0

    def __enter__(self) -> PrivateLoader:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def __iter__(self) -> Iterator[Tree]:
        began = monotonic()
        samples: list[Tree] = []
        for place in self._rest():
            sample = self._sample(place)
            samples += [] if sample is LEFT_OUT else [sample]
            self.position += 1
            if len(samples) == self._batch_size:
                batch, samples = batch_of(samples), []
                self._waited += monotonic() - began
                yield batch
                began = monotonic()
        if samples:
            self._waited += monotonic() - began
            yield batch_of(samples)
        self.epoch, self.position = self.epoch + 1, 0

    def state_dict(self) -> dict[str, int]:
        """Where it is: after the last batch that the loop got."""
        return {"epoch": self.epoch, "position": self.position}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Go on where a state was taken."""
        self.epoch, self.position = state["epoch"], state["position"]

    def stats(self) -> dict[str, float]:
        """Seconds that the member waited for its own preparing, and samples left out."""
        return {"wait_seconds": self._waited, "skipped": self._skipped}

    def _rest(self) -> list[int]:
        """Ids of the samples that are left of the epoch, in order."""
        count = self._order.samples
        assert count is not None
        first = self.epoch * count + self.position
        ids: list[int] = self._order.ids(first, count - self.position).tolist()
        return ids

    def _sample(self, place: int) -> Tree:
        """One sample; the member's own random numbers, such as those of dropout, stay its own."""
        with generators_kept():
            try:
                sample = prepared(self._source, place, epoch=self.epoch)
                if self._private is None:
                    return sample
                sow(seed_of(self._source.seed, self.epoch, place, self._member))
                return self._private(sample)
            except Exception:
                if not self._skip:
                    raise
                self._skipped += 1
                return LEFT_OUT
