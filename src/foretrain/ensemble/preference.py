"""Which of several ways to feed members is to be preferred: rate first, then CPU time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

CLOSE = 0.02
"""Rates and CPU times that differ by less are equal: the model is no surer than that."""

WORTH = 0.05
"""Share of the CPU time that sharing must save at equal rates before it is worth its machinery."""


class Priced(Protocol):
    """A way to feed members, with what it delivers and costs."""

    @property
    def rate(self) -> float:
        """Samples per second of a member."""

    @property
    def cpu(self) -> float:
        """Core-seconds per sample."""


Way = TypeVar("Way", bound=Priced)


def preferred(found: Sequence[Way]) -> Way:
    """The fastest; of those as fast, the cheapest; of those as cheap, the first.

    Args:
        found: at least one, simple ones first.
    """
    fast = [each for each in found if as_fast(each, max(found, key=lambda one: one.rate))]
    least = min(each.cpu for each in fast)
    return next(each for each in fast if each.cpu <= (1.0 + CLOSE) * least)


def as_fast(one: Priced, other: Priced) -> bool:
    """Whether one is as fast as the other, or faster."""
    return one.rate >= (1.0 - CLOSE) * other.rate


def worth_sharing(shared: Priced, private: Priced) -> bool:
    """Whether sharing is faster, or as fast for clearly less CPU time."""
    if not as_fast(private, shared):
        return True
    return as_fast(shared, private) and shared.cpu < (1.0 - WORTH) * private.cpu
