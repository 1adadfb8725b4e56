"""Divisors: the degrees into which a count can be divided."""

from __future__ import annotations

from functools import lru_cache
from math import isqrt


@lru_cache(maxsize=1024)
def divisors(number: int) -> tuple[int, ...]:
    """Every divisor of a count of at least 1, in order."""
    small = [value for value in range(1, isqrt(number) + 1) if number % value == 0]
    return (*small, *(number // value for value in reversed(small) if value * value != number))
