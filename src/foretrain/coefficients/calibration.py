"""A calibration: a set of coefficients with what speaks for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from foretrain.coefficients.coefficient import Coefficient, given
from foretrain.coefficients.coefficients import Coefficients, coefficients_of


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


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """A set of coefficients with its sources.

    Attributes:
        name: the set's version.
        date: when it was made, year first.
        known: every coefficient by name (`links.nvlink`).
        covers: what it was fitted to.
    """

    name: str
    date: str
    known: Mapping[str, Coefficient]
    covers: Covers = Covers()

    @cached_property
    def coefficients(self) -> Coefficients:
        """The values alone, which predictions read."""
        return coefficients_of(self.name, {name: it.value for name, it in self.known.items()})

    def sources_of(self, coefficients: Coefficients) -> Mapping[str, Coefficient]:
        """Where each value of a set comes from; one unlike this set's was given by the caller."""
        return {
            name: it
            if coefficients.value(name) == it.value
            else given(coefficients.value(name), it)
            for name, it in self.known.items()
        }
