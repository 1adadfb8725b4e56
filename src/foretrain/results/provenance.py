"""Where an answer comes from: enough to ask the same question again."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CoefficientSource:
    """One constant of the formulas and where it was found.

    Attributes:
        name: the coefficient's.
        value: in `unit`.
        unit: as text, empty for a plain ratio.
        low: lower end of its interval.
        high: upper end.
        source: who measured or published it.
        kind: how it was found (measured, published, assumed).
    """

    name: str
    value: float
    unit: str
    low: float
    high: float
    source: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """What an answer was computed from.

    Attributes:
        version: of foretrain.
        inputs: fingerprint of the question.
        coefficients: name of the coefficient set.
        sources: every coefficient of the set.
    """

    version: str
    inputs: str
    coefficients: str
    sources: tuple[CoefficientSource, ...] = ()
