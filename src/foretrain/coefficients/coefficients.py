"""The coefficients of a prediction: one group for each idea.

A calibration: a set of coefficients with what speaks for each.

One coefficient: a value and what speaks for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import cache, cached_property
from operator import attrgetter
from typing import Any, get_type_hints

from foretrain.coefficients.device import (
    FusedAttention,
    HostWork,
    JobTimes,
    KernelTraffic,
    Matrix,
    MemoryErrors,
    Pictures,
    PictureSteps,
    Reserve,
    StepFactor,
)
from foretrain.coefficients.links import Links, Overlap, Protocols, TransferErrors
from foretrain.coefficients.uncertainty import NOTHING, Covers, PlanErrors, Uncertainty
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficients:
    """One set of values.

    Two sets of one name, the same values and the same coverage are equal, whatever they know of
    their sources.

    Attributes:
        name: the set's version.
        known: what speaks for each value, as the `Calibration` says that the set is read from.
        covers: the runs that the values were fitted to.
    """

    name: str
    matrix: Matrix
    attention: FusedAttention
    traffic: KernelTraffic
    pictures: Pictures
    picture_steps: PictureSteps
    host: HostWork
    links: Links
    protocols: Protocols
    transfer_errors: TransferErrors
    overlap: Overlap
    memory: Reserve
    memory_errors: MemoryErrors
    memory_errors_eager: MemoryErrors
    job: JobTimes
    step: StepFactor
    uncertainty: Uncertainty
    plan_errors: PlanErrors
    known: Mapping[str, Coefficient] = field(default_factory=dict, compare=False, repr=False)
    covers: Covers = NOTHING

    def value(self, name: str) -> float:
        """A value by its name (`links.nvlink`)."""
        return float(_of(name)(self))

    @property
    def sources(self) -> Mapping[str, Coefficient]:
        """Where each value comes from; one that was changed was given by the caller."""
        return {
            name: it if it.value == value else given(value, it)
            for name, it in self.known.items()
            for value in (self.value(name),)
        }

    def changed(self, values: Mapping[str, float]) -> Coefficients:
        """The same with other values, by name (`links.nvlink`)."""
        groups: dict[str, dict[str, float]] = {}
        for name, value in values.items():
            group, field = name.split(".")
            groups.setdefault(group, {})[field] = value
        return replace(
            self,
            **{group: replace(getattr(self, group), **inside) for group, inside in groups.items()},
        )


_of = cache(attrgetter)
"""What reads a value by its name."""

BESIDE = ("name", "known", "covers")
"""What a set has beside its groups."""

GROUPS: Mapping[str, type[Any]] = {
    name: kind for name, kind in get_type_hints(Coefficients).items() if name not in BESIDE
}


def names() -> Iterator[str]:
    """The names of all coefficients, group by group (`links.nvlink`)."""
    for group, kind in GROUPS.items():
        yield from (f"{group}.{field.name}" for field in fields(kind))


def _before_eager(values: Mapping[str, float]) -> dict[str, float]:
    """What a set says of errors of memory that does not tell software apart yet."""
    known = ((each.name, values.get(f"memory_errors.{each.name}")) for each in fields(MemoryErrors))
    return {f"memory_errors_eager.{name}": it for name, it in known if it is not None}


def coefficients_of(name: str, values: Mapping[str, float]) -> Coefficients:
    """A set from all its values by name.

    Raises:
        InputError: a value is missing or unknown.
    """
    known = tuple(names())
    values = {**_before_eager(values), **values}
    missing = [each for each in known if each not in values]
    unknown = [each for each in values if each not in known]
    if missing or unknown:
        raise InputError(
            f"coefficients '{name}': missing {', '.join(missing) or 'none'}; "
            f"unknown {', '.join(unknown) or 'none'}."
        )
    groups = {
        group: kind(**{field.name: values[f"{group}.{field.name}"] for field in fields(kind)})
        for group, kind in GROUPS.items()
    }
    return Coefficients(name=name, **groups)


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
