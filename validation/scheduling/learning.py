"""Learning: what a step of a larger batch is worth, and how that changes as training goes on."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from math import inf

from validation.scheduling.profile import Profile

ROUNDING = 1e-9
"""Share of an epoch's end by which progress may miss it."""


def gain(scale: float, *, signal: float, noise: float) -> float:
    """Steps of the smallest batch that a step of a larger one is worth.

    Args:
        scale: the batch in smallest batches, at least 1.
        signal: squared norm of the mean gradient.
        noise: variance of the gradient of the smallest batch.

    Between 1, without noise, and `scale`, with nothing but noise.

    Source: johnson2020, section 3; qiao2021, section 3.1, as statistical efficiency.
    """
    return (noise + signal) / (noise / scale + signal)


@dataclass(frozen=True, slots=True)
class Learning:
    """What steps are worth, from the epochs of a profile.

    Attributes:
        profile: measured at some total batches; between two of them signal, noise and steps lie
            on the straight line.
    """

    profile: Profile
    _ends: tuple[float, ...] = field(init=False, repr=False)
    _marks: dict[float, tuple[float, ...]] = field(default_factory=dict, init=False, repr=False)
    _gains: dict[tuple[float, int], float] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        epochs = self.profile.epochs[self.profile.smallest][: self.profile.length]
        object.__setattr__(self, "_ends", tuple(epoch.progress for epoch in epochs))

    @property
    def work(self) -> float:
        """Steps of the smallest batch after which training ends."""
        return self._ends[-1]

    def epoch(self, done: float) -> int:
        """The epoch that some progress lies in, from 0."""
        return min(bisect_right(self._ends, done * (1.0 + ROUNDING)), len(self._ends) - 1)

    def begin(self, epoch: int) -> float:
        """Progress at which an epoch begins."""
        return self._ends[epoch - 1] if epoch else 0.0

    def until(self, done: float) -> float:
        """Progress at which the next epoch begins; infinity in the last one."""
        place = bisect_right(self._ends, done * (1.0 + ROUNDING))
        return self._ends[place] if place < len(self._ends) else inf

    def gain(self, batch: float, epoch: int) -> float:
        """Steps of the smallest batch that a step is worth in an epoch."""
        found = self._gains.get((batch, epoch))
        if found is None:
            found = self._gains[batch, epoch] = self._gain(batch, epoch)
        return found

    def steps(self, batch: float, done: float) -> float:
        """Steps of a total batch that lead to some progress."""
        marks = self._marks.get(batch)
        if marks is None:
            marks = self._marks[batch] = self._marked(batch)
        epoch = self.epoch(done)
        begin = self.begin(epoch)
        share = (done - begin) / (self._ends[epoch] - begin)
        return marks[epoch] + (marks[epoch + 1] - marks[epoch]) * share

    def _gain(self, batch: float, epoch: int) -> float:
        low, high, share = self._around(batch)
        left, right = (self.profile.epochs[each][epoch] for each in (low, high))
        signal = left.signal + (right.signal - left.signal) * share
        noise = left.noise + (right.noise - left.noise) * share
        return gain(batch / self.profile.smallest, signal=signal, noise=noise)

    def _marked(self, batch: float) -> tuple[float, ...]:
        """Steps made at the beginning of each epoch, and at the end of the last."""
        low, high, share = self._around(batch)
        pairs = zip(self.profile.epochs[low], self.profile.epochs[high], strict=False)
        marks = (left.steps + (right.steps - left.steps) * share for left, right in pairs)
        return 0.0, *marks

    def _around(self, batch: float) -> tuple[int, int, float]:
        """The measured batches on both sides, and how far between them one lies."""
        known = sorted(self.profile.epochs)
        high = known[bisect_left(known, batch)]
        low = high if high == batch else known[bisect_left(known, batch) - 1]
        return low, high, (batch - low) / (high - low) if high > low else 0.0
