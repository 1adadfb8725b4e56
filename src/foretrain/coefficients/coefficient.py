"""One coefficient: a value and what speaks for it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from foretrain.errors import InputError


class Origin(StrEnum):
    """Where a value comes from."""

    MEASURED = "measured"
    """Fitted to published runs, whose row ids are listed."""
    PUBLISHED = "published"
    """Measured or stated by somebody else; "from memory" where it was not read again."""
    ASSUMED = "assumed"
    """Nobody measured it for us yet, and the interval says how little we know."""
    GIVEN = "given"
    """Given by the caller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficient:
    """A value and where it comes from.

    Attributes:
        value: in `unit`.
        unit: "1" for a ratio.
        low: tenth percentile of what is plausible; a given value's is the value itself.
        high: ninetieth percentile.
        kind: where it comes from.
        source: key in references.bib and where in it, or the command of the fit.
        rows: ids of the measured rows that it was fitted to.
    """

    value: float
    unit: str
    low: float
    high: float
    kind: Origin
    source: str
    rows: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.low <= self.value <= self.high:
            raise InputError(
                f"a coefficient must lie in its interval, got {self.value:g} "
                f"for {self.low:g} to {self.high:g}."
            )
        if (self.kind is Origin.MEASURED) != bool(self.rows):
            raise InputError("a measured coefficient, and only such a one, lists its rows.")


def given(value: float, known: Coefficient) -> Coefficient:
    """A value that the caller gave in place of a known one."""
    return Coefficient(
        value=value,
        unit=known.unit,
        low=value,
        high=value,
        kind=Origin.GIVEN,
        source="given with the question",
    )
