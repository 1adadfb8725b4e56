"""A calibration: a set of coefficients with what speaks for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from foretrain.coefficients.coefficient import Coefficient
from foretrain.coefficients.coefficients import Coefficients, coefficients_of
from foretrain.coefficients.uncertainty import NOTHING, Covers


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
    covers: Covers = NOTHING

    @cached_property
    def coefficients(self) -> Coefficients:
        """The values, which predictions read; they know where they come from."""
        values = {name: it.value for name, it in self.known.items()}
        made = coefficients_of(self.name, values)
        return replace(made, known=self.known, covers=self.covers)
