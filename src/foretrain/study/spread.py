"""Values of a study that vary: seconds by their law, and when workers may go on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Final

from foretrain.distributions import (
    Constant,
    Distribution,
    Exponential,
    LogNormal,
    Normal,
    Pareto,
    Samples,
    Weibull,
    stretched,
)
from foretrain.errors import InputError, nearest
from foretrain.plan.servers import SYNCHRONOUS, Updates
from foretrain.study.keys import Reads
from foretrain.study.problems import inner
from foretrain.units import SECONDS, SHARE, as_written

UPDATES: Final = '"synchronous", "asynchronous", { stale = 4 } or { backup = 2 }'
SPREADS: Final = (
    '"200 ms", or { mean = "200 ms" } with deviation = "20 ms" and law = "normal" or "lognormal",'
    ' with shape = 1.5 and law = "weibull" or "pareto", or with least = "100 ms" and law ='
    ' "exponential"; or { samples = ["190 ms", "210 ms"] }'
)

STRAGGLERS: Final = (
    '{ deviation = "10 %" } with law = "normal" or "lognormal", { shape = 1.5, law = "weibull" } or'
    ' "pareto", { least = "80 %", law = "exponential" }, or { samples = ["190 ms", "210 ms"] }, of'
    " which only the ratios count"
)


def read_updates(value: object) -> Updates:
    """When a worker may go on.

    Raises:
        InputError: it is none of the forms.
    """
    if isinstance(value, str) and value in {"synchronous", "asynchronous"}:
        return SYNCHRONOUS if value == "synchronous" else Updates(stale=None)
    known = ("stale", "backup")
    if not isinstance(value, Mapping) or len(value) != 1 or next(iter(value)) not in known:
        raise InputError(f"{as_written(value)} is not known. Write {UPDATES}.")
    ((name, number),) = value.items()
    if isinstance(number, bool) or not isinstance(number, int):
        raise InputError(f"{name} is {as_written(number)}, which is not a whole number.")
    return Updates(stale=number) if name == "stale" else Updates(backup=number)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadSection:
    """A distribution, as it is written."""

    mean: Annotated[float, SECONDS] | None = None
    law: str = ""
    deviation: Annotated[float, SECONDS] | None = None
    least: Annotated[float, SECONDS] = 0.0
    shape: float | None = None
    samples: tuple[Annotated[float, SECONDS], ...] = ()


def read_distribution(value: object) -> Distribution:
    """Seconds that vary, or do not.

    Raises:
        InputError: it is none of the forms.
    """
    if not isinstance(value, Mapping):
        return Constant(SECONDS.read(value))
    said = inner(SpreadSection, value)
    if said.samples:
        return Samples(said.samples)
    if said.mean is None:
        raise InputError(f"{as_written(value)} has no mean. Write {SPREADS}.")
    return _of_law(said.mean, said)


@dataclass(frozen=True, slots=True, kw_only=True)
class StragglersSection:
    """A distribution about a mean that is not known yet, as it is written."""

    law: str = ""
    deviation: Annotated[float, SHARE] | None = None
    least: Annotated[float, SHARE] = 0.0
    shape: float | None = None
    samples: tuple[Annotated[float, SECONDS], ...] = ()


def read_stragglers(value: object) -> Distribution:
    """What computing takes over what it takes on average.

    Raises:
        InputError: it is none of the forms.
    """
    if not isinstance(value, Mapping) or not value:
        raise InputError(f"{as_written(value)} is no distribution. Write {STRAGGLERS}.")
    said = inner(StragglersSection, value)
    if said.samples:
        found = Samples(said.samples)
        if not found.mean > 0:
            raise InputError("samples are all 0 s; at least one must be above.")
        return stretched(found, 1.0 / found.mean)
    law = said.law or "normal"
    return _of_law(
        1.0,
        SpreadSection(law=law, deviation=said.deviation, least=said.least, shape=said.shape),
    )


def _of_law(mean: float, said: SpreadSection) -> Distribution:
    """The distribution of a mean that a law makes."""
    law = said.law or ("constant" if said.deviation is None else "normal")
    if law not in LAWS:
        raise InputError(
            f"unknown law {as_written(law)}.{nearest(law, LAWS)} Known: {', '.join(LAWS)}."
        )
    return LAWS[law](mean, said)


def _needed(said: SpreadSection, name: str, example: str) -> float:
    value = getattr(said, name)
    if value is None:
        raise InputError(f"a {said.law or 'normal'} law needs {name} = {example} beside its mean.")
    return float(value)


LAWS: Final[Mapping[str, Callable[[float, SpreadSection], Distribution]]] = {
    "constant": lambda mean, _: Constant(mean),
    "exponential": lambda mean, said: Exponential(mean=mean, least=said.least),
    "normal": lambda mean, said: Normal(mean=mean, deviation=_needed(said, "deviation", '"20 ms"')),
    "lognormal": lambda mean, said: LogNormal(
        mean=mean, deviation=_needed(said, "deviation", '"20 ms"')
    ),
    "weibull": lambda mean, said: Weibull(mean=mean, shape=_needed(said, "shape", "1.5")),
    "pareto": lambda mean, said: Pareto(mean=mean, shape=_needed(said, "shape", "1.5")),
}


SomeUpdates = Annotated[Updates, Reads(read_updates, {"description": UPDATES})]
SomeSeconds = Annotated[Distribution, Reads(read_distribution, {"description": SPREADS})]
SomeStragglers = Annotated[Distribution, Reads(read_stragglers, {"description": STRAGGLERS})]
