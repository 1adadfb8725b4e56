"""The coefficients of a prediction: one group for each idea."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, get_type_hints

from foretrain.coefficients.attention import FusedAttention
from foretrain.coefficients.convolution import Pictures, PictureSteps
from foretrain.coefficients.host import HostWork
from foretrain.coefficients.job import JobTimes
from foretrain.coefficients.links import Links
from foretrain.coefficients.matrix import Matrix
from foretrain.coefficients.memory import MemoryErrors, Reserve
from foretrain.coefficients.overlap import Overlap
from foretrain.coefficients.step import Pace
from foretrain.coefficients.protocols import Protocols
from foretrain.coefficients.traffic import Traffic
from foretrain.coefficients.uncertainty import Uncertainty
from foretrain.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficients:
    """One set of values. Sources stand in the `Calibration` that a set is read from.

    Attributes:
        name: the set's version.
    """

    name: str
    matrix: Matrix
    attention: FusedAttention
    traffic: Traffic
    pictures: Pictures
    picture_steps: PictureSteps
    host: HostWork
    links: Links
    protocols: Protocols
    overlap: Overlap
    memory: Reserve
    memory_errors: MemoryErrors
    job: JobTimes
    step: Pace
    uncertainty: Uncertainty

    def value(self, name: str) -> float:
        """A value by its name (`links.nvlink`)."""
        group, field = name.split(".")
        return float(getattr(getattr(self, group), field))

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


GROUPS: Mapping[str, type[Any]] = {
    name: kind for name, kind in get_type_hints(Coefficients).items() if name != "name"
}


def names() -> Iterator[str]:
    """The names of all coefficients, group by group (`links.nvlink`)."""
    for group, kind in GROUPS.items():
        yield from (f"{group}.{field.name}" for field in fields(kind))


def coefficients_of(name: str, values: Mapping[str, float]) -> Coefficients:
    """A set from all its values by name.

    Raises:
        InputError: a value is missing or unknown.
    """
    known = tuple(names())
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
