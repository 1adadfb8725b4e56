"""Parts of studies of throughput: laws of seconds, profiles of workers, starts of whole jobs.

Values of a study that vary: seconds by their law, and when workers may go on.

[start] of a scale study: the whole job, from its launch to its last epoch.

Files of profiles: what a worker and its servers did in some steps.

A profile is a JSON document. Times are seconds since a step began, sizes bytes, rates bytes per
second; a key that the reader does not know is refused.

    {
      "schema": "foretrain/profile/1",
      "name": "two layers over 10 Gb/s",
      "nodes": 2,
      "samples": 32,
      "link": 1.25e9,
      "latency": 5e-5,
      "steps": [
        {
          "number": 0,
          "operations": [
            {"name": "pull 1", "resource": "downlink", "start": 0, "end": 0.08, "size": 1e8,
             "layer": 1},
            {"name": "forward 1", "resource": "compute", "start": 0.08, "end": 0.1,
             "after": ["pull 1"]}
          ]
        }
      ]
    }
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Final

from foretrain.cluster.cluster import Storage
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
from foretrain.measured.scale_study import Profile
from foretrain.plan.servers import SYNCHRONOUS, Updates
from foretrain.plan.startup import Access, StartUp, WholeJob
from foretrain.study.documents import from_json
from foretrain.study.files import read_text, write_text
from foretrain.study.keys import Count, Reads, ratio, reader
from foretrain.study.problems import Problems, inner, validated
from foretrain.study.workload import SomeSamples
from foretrain.units import BYTES, BYTES_PER_SECOND, SECONDS, SHARE, as_written
from foretrain.workload.workload import Data

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


SCHEMA: Final = "foretrain/profile/1"
MOST_BYTES: Final = 2**26


def read_profile(path: Path) -> Profile:
    """The profile that a file holds.

    Raises:
        InputError: it cannot be read, or what it says cannot be; all that is wrong at once.
    """
    document = from_json(read_text(path, most=MOST_BYTES), str(path))
    problems, inside = Problems(str(path)), Problems(str(path))
    said = document.pop("schema", None)
    if said != SCHEMA:
        problems.add("schema", f"{as_written(said)} is not known. Write '{SCHEMA}'.")
    found = validated(Profile, document, path="", problems=inside, taken=("schema",))
    for key, text in inside.found:
        problems.add(key.lstrip("."), text)
    problems.check()
    assert found
    return found


def write_profile(path: Path, profile: Profile) -> None:
    """A file that `read_profile` reads.

    Raises:
        InputError: it cannot be written; what was there before still is.
    """
    write_text(path, f"{profile_document(profile)}\n")


def profile_document(profile: Profile) -> str:
    """The text of a profile's file."""
    return json.dumps({"schema": SCHEMA, **asdict(profile)}, indent=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartSection:
    """The whole job, as it is written; `StartUp`, `Data` and `WholeJob` have the meanings."""

    samples: SomeSamples
    sample_bytes: Annotated[float, BYTES] | None = None
    prepare: Annotated[float, SECONDS] | None = None
    epochs: Annotated[float, ratio(below=1e6)] = 1.0
    cores: Count | None = None
    held: Annotated[float, SHARE] = 1.0
    access: Annotated[Access, Reads(reader(Access), {"type": "string"})] = Access.UNSHARDED
    read: Annotated[float, BYTES_PER_SECOND]
    total_read: Annotated[float, BYTES_PER_SECOND] | None = None
    files: Count | None = None
    opening: Annotated[float, SECONDS] = 0.0
    total_opens: Annotated[float, ratio(below=1e12)] | None = None
    launch: Annotated[float, SECONDS] = 0.0
    node_launch: Annotated[float, SECONDS] = 0.0
    local: Annotated[float, BYTES_PER_SECOND] | None = None

    def job(self, latency: float) -> WholeJob:
        """What it means.

        Args:
            latency: seconds before the first byte between two nodes arrives.
        """
        start = StartUp(
            storage=Storage(read=self.read, write=self.read, total_read=self.total_read),
            access=self.access,
            files=float(self.files or 0),
            opening=self.opening,
            total_opens=self.total_opens,
            launch=self.launch,
            node_launch=self.node_launch,
            latency=latency,
            local=self.local,
        )
        data = Data(samples=self.samples, sample_bytes=self.sample_bytes, prepare=self.prepare)
        return WholeJob(
            start=start, data=data, epochs=self.epochs, cores=self.cores, held=self.held
        )
