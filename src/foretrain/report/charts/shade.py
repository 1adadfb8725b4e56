"""Shades: a few colours from the best to the worst, and what each stands for."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

SHADES = 6
"""Colours that the style sheet has, `--shade-0` for the best."""

SLOWER = (0.02, 0.05, 0.10, 0.25, 0.50, inf)
"""Up to which part more than the best each shade of a map goes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Which shade a value has.

    Attributes:
        tops: the largest value of each shade, ascending.
        texts: what the legend says of each shade.
    """

    tops: tuple[float, ...]
    texts: tuple[str, ...]

    def shade(self, value: float) -> int:
        """The first shade that goes as far as the value, which is at most the last one's."""
        return bisect_left(self.tops, value)


def distances() -> Scale:
    """Shades of how much more a value is than the best, as a part of the best."""
    texts = [f"up to {100 * top:.0f} %" for top in SLOWER[:-1]]
    return Scale(tops=SLOWER, texts=(*texts, "more"))


def amounts(values: Sequence[float], write: Callable[[float], str]) -> Scale:
    """Shades of values: one for each while there are few, else as many of them on each shade."""
    ascending = sorted(set(values))
    if len(ascending) <= SHADES:
        return Scale(tops=tuple(ascending), texts=tuple(write(value) for value in ascending))
    last = (len(ascending) * (shade + 1) // SHADES - 1 for shade in range(SHADES))
    tops = tuple(ascending[place] for place in last)
    return Scale(tops=tops, texts=tuple(f"up to {write(top)}" for top in tops))
