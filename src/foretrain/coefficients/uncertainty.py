"""Uncertainty: how far off predictions have been."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncertainty:
    """Uncertainty: how far off predictions have been.

    Attributes:
        time: half-width of the interval of a step's time, as a fraction.
        memory: half-width of the interval of the memory, as a fraction.
    """

    time: float
    memory: float
