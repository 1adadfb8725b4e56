"""Covers: which runs a set of coefficients was fitted to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Covers:
    """The runs that a set was fitted to: predictions unlike them are extrapolations.

    Attributes:
        devices: names of the catalogue.
        parameters: fewest and most of a model.
        counts: fewest and most devices.
        kinds: what else there was among them, by the names of `Uncertainty`.
        nearest: those runs in words.
    """

    devices: frozenset[str] = frozenset()
    parameters: tuple[float, float] = (0.0, 0.0)
    counts: tuple[float, float] = (0.0, 0.0)
    kinds: frozenset[str] = frozenset()
    nearest: str = "none"


NOTHING = Covers()
"""Of a set that was fitted to no run."""
