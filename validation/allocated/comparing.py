"""What a program allocated beside what was predicted of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

GIB = 2.0**30
TOTAL = 0.03
"""How far a total may be off."""
SHARE, ROOM = 0.02, 0.3 * GIB
"""How far a component may be off: a part of what was allocated, and bytes."""

COMPONENTS = ("weights", "gradients", "optimizer", "activations", "buffers")
Bytes = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """The peak of one stage, as it was and as it is predicted.

    Attributes:
        allocated: bytes by component.
        predicted: bytes by component, of the moments that are predicted to be the fullest: those
            that a total tells no more apart than it may be off.
    """

    allocated: Bytes
    predicted: Sequence[Bytes]

    @property
    def error(self) -> float:
        """Of the total, as a fraction."""
        return total(self.predicted[0]) / total(self.allocated) - 1.0

    @property
    def wrong(self) -> tuple[str, ...]:
        """What is further off than it may be; components at the moment that is nearest."""
        if abs(self.error) > TOTAL:
            return ("total",)
        return min((tuple(self._components(each)) for each in self.predicted), key=len)

    def _components(self, predicted: Bytes) -> Iterator[str]:
        for name in COMPONENTS:
            there = self.allocated.get(name, 0)
            if abs(predicted[name] - there) > SHARE * there + ROOM:
                yield name


def total(amounts: Bytes) -> float:
    """All components."""
    return sum(amounts.get(name, 0) for name in COMPONENTS)


def peak(phases: Mapping[str, Bytes]) -> Bytes:
    """The fullest phase of a step."""
    return max(phases.values(), key=total)
