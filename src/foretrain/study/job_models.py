"""What is drawn for a shared cluster: [[jobs.models]] that jobs train, and [[jobs.sweeps]].

Their throughput curves may come from files: what `foretrain scale --json` printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Final

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.offer import even, fewer
from foretrain.errors import ForetrainError, InputError
from foretrain.measured.queue_study import JobModel, Target, TargetQuantity
from foretrain.measured.sweep import Bracket, EndingRule, Sweep, SweepKind, geometric, hyperband
from foretrain.plan.study import Study
from foretrain.study.documents import from_json
from foretrain.study.files import read_text
from foretrain.study.keys import Count, ratio
from foretrain.study.problems import Problems, validated
from foretrain.study.study import study_from
from foretrain.study.workload import SomeSamples
from foretrain.throughput import Point, ThroughputCurve
from foretrain.units import BYTES, SECONDS, SHARE, as_written

NO_ENSEMBLE: Final = "is 1, which is no ensemble. Leave it out, or say at least 2."
ALONE: Final = "is what members of an ensemble share. Say how many there are: members = 8."
NO_PREPARED: Final = (
    "must be said, above 0 bytes. Members hand prepared samples on:"
    " '150 kB' is a picture of 224 x 224 in one byte per colour."
)
NO_PREPARE: Final = (
    "must be said, above 0 s. What members share is preparing samples: write its time on one core,"
    " such as data = { samples = 1281167, sample_bytes = '110 kB', prepare = '9 ms' }."
)
NO_HOST: Final = "is missing. Members share the cores of a host: say them in [cluster.host]."
UNEVEN: Final = "{count} devices are no equal shares for {members} members."
NO_COUNTS: Final = (
    "{members} members divide none of the usual numbers of devices ({usual}) equally. Say counts"
    " that they do, or have other members."
)


BESIDE_CURVE: Final = "stands beside a curve, which already says what devices do. Leave it out."
NO_SAMPLES: Final = "is missing. A curve says samples per second; say how many a job trains on."

Ratio = Annotated[float, ratio(below=1e6)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSection:
    """Jobs of one model, as they are written; `JobModel` has the meanings."""

    name: str
    workload: dict[str, Any] = field(default_factory=dict)
    curve: str | None = None
    samples: SomeSamples | None = None
    per_worker: Count = 1
    plan: dict[str, Any] = field(default_factory=dict)
    share: Ratio = 1.0
    counts: tuple[Count, ...] = ()
    devices: Count | None = None
    vary: Annotated[float, SHARE] = 1.0
    members: Count | None = None
    prepared: Annotated[float, BYTES] | None = None


NO_RUNGS: Final = (
    "needs when trials are looked at: first and last, such as '10 min' and '90 min', or rungs."
)
TWO_RUNGS: Final = "stands beside first and last, which say the same. Leave it out."
OF_HYPERBAND: Final = "is for other rules: Hyperband says it itself, by first, last and eta."
NO_TRIALS: Final = "is missing. Say how many there are."


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepSection:
    """Hyper-parameter sweeps, as they are written; `Sweep` and `SweepKind` have the meanings."""

    name: str
    rule: EndingRule = EndingRule.HALVING
    trials: Count | None = None
    eta: Ratio = 3.0
    first: Annotated[float, SECONDS] | None = None
    last: Annotated[float, SECONDS] | None = None
    rungs: tuple[Annotated[float, SECONDS], ...] = ()
    devices: Count = 1
    share: Ratio = 1.0
    vary: Annotated[float, SHARE] = 0.0

    def noun(self, path: str, problems: Problems) -> SweepKind | None:
        """What it means; None where a mistake, noted in the problems, hides it."""
        many = self.rule is EndingRule.HYPERBAND
        spread = self.first is not None and self.last is not None
        if not many and self.trials is None:
            problems.add(f"{path}.trials", NO_TRIALS)
        elif many and self.trials is not None:
            problems.add(f"{path}.trials", OF_HYPERBAND)
        elif self.rungs and (many or self.first is not None or self.last is not None):
            problems.add(f"{path}.rungs", OF_HYPERBAND if many else TWO_RUNGS)
        elif not (self.rungs or spread):
            problems.add(path, NO_RUNGS)
        else:
            with problems.noting(path):
                sweep = Sweep(
                    name=self.name,
                    brackets=self._brackets(),
                    rule=self.rule,
                    eta=self.eta,
                    devices=self.devices,
                )
                return SweepKind(sweep=sweep, share=self.share, vary=self.vary)
        return None

    def _brackets(self) -> tuple[Bracket, ...]:
        if self.first is None or self.last is None:
            return (Bracket(trials=self.trials or 0, rungs=self.rungs),)
        if self.rule is EndingRule.HYPERBAND:
            return hyperband(self.first, self.last, eta=self.eta)
        rungs = geometric(self.first, self.last, eta=self.eta)
        return (Bracket(trials=self.trials or 0, rungs=rungs),)


def known_model(
    section: ModelSection, folder: Path, *, path: str, problems: Problems
) -> JobModel | None:
    """Jobs whose throughput is known; None where a mistake, noted in the problems, hides it.

    Args:
        section: as it is written, with a curve.
        folder: that relative paths are relative to.
        path: of the section, for messages.
        problems: takes mistakes.
    """
    assert section.curve is not None
    for key in ("workload", "plan", "members", "prepared"):
        if getattr(section, key):
            problems.add(f"{path}.{key}", BESIDE_CURVE)
    if section.samples is None:
        problems.add(f"{path}.samples", NO_SAMPLES)
        return None
    with problems.noting(path):
        curve = read_curve(folder / section.curve, section.name, per_worker=section.per_worker)
        wanted = section.counts or curve.counts
        counts = tuple(each for each in curve.counts if each in wanted)
        if section.devices is not None and section.devices not in counts:
            raise InputError(
                f"devices is {section.devices}, and the curve knows {', '.join(map(str, counts))}."
            )
        return JobModel(
            name=section.name,
            curve=curve,
            samples=section.samples,
            share=section.share,
            counts=counts,
            asks=section.devices,
            vary=section.vary,
        )
    return None


@dataclass(frozen=True, slots=True)
class ModelReader:
    """A section on its way to a model.

    Attributes:
        section: as it is written.
        cluster: that all jobs share.
        path: of the section, for messages.
        problems: takes mistakes.
        today: the day by which prices age; None for that of this machine.
    """

    section: ModelSection
    cluster: Cluster
    path: str
    problems: Problems
    today: date | None

    def model(self, cluster: Mapping[str, Any]) -> JobModel | None:
        """Jobs of one model; None where a mistake, noted in the problems, hides them.

        Args:
            cluster: the section [cluster], as it is written.
        """
        section = self.section
        document = {"workload": section.workload, "cluster": cluster, "plan": section.plan}
        try:
            study = study_from(document, self.problems.where, today=self.today)
            lacking = [*self._lacking(study)]
            for key, text in lacking:
                self.problems.add(key, text)
            if lacking:
                return None
            return JobModel(
                name=section.name,
                study=study,
                share=section.share,
                counts=self._counts(),
                asks=section.devices,
                vary=section.vary,
                members=section.members or 1,
                prepared=section.prepared,
            )
        except ForetrainError as error:
            where = f"{self.problems.where}: "
            self.problems.add(self.path, str(error).removeprefix(where))
            return None

    def _counts(self) -> tuple[int, ...]:
        """Devices to look at; of the usual numbers those that members divide equally."""
        section, members = self.section, self.section.members or 1
        usual = tuple(count for count in even(self.cluster) if count % members == 0)
        counts = sorted({*(section.counts or usual), *filter(None, [section.devices])})
        for count in counts:
            if count > self.cluster.devices:
                raise InputError(f"{count} devices; the cluster has {self.cluster.devices}.")
            if count % members:
                raise InputError(UNEVEN.format(count=count, members=members))
            fewer(self.cluster, count)
        if not counts:
            usual_ones = ", ".join(map(str, even(self.cluster)))
            raise InputError(NO_COUNTS.format(members=members, usual=usual_ones))
        return tuple(counts)

    def _lacking(self, study: Study) -> Iterator[tuple[str, str]]:
        """Keys of an ensemble that do not say what they must, and why."""
        section, data = self.section, study.workload.data
        if section.members == 1:
            yield f"{self.path}.members", NO_ENSEMBLE
        if section.members is None and section.prepared is not None:
            yield f"{self.path}.prepared", ALONE
        if section.members is None or section.members == 1:
            return
        if not section.prepared:
            yield f"{self.path}.prepared", NO_PREPARED
        if not (data and data.prepare):
            yield f"{self.path}.workload.data.prepare", NO_PREPARE
        if self.cluster.host is None:
            yield "cluster.host", NO_HOST


SCHEMA: Final = "foretrain/scale/1"
MOST_BYTES: Final = 2**24


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveEntry:
    """What is used of a point of the document."""

    workers: int
    throughput: float
    low: float
    high: float
    variance: float | None = None


USED: Final = tuple(CurveEntry.__dataclass_fields__)


def read_curve(path: Path, name: str, *, per_worker: int) -> ThroughputCurve:
    """The curve that a document of `scale` holds.

    Args:
        path: of the document.
        name: what the curve is of.
        per_worker: devices of one worker.

    Raises:
        InputError: it cannot be read, or is another document.
    """
    document = from_json(read_text(path, most=MOST_BYTES), str(path))
    if document.get("schema") != SCHEMA:
        raise InputError(
            f"{path}: schema is {as_written(document.get('schema'))}; '{SCHEMA}' is wanted, which"
            " foretrain scale STUDY --json prints."
        )
    problems, points = Problems(str(path)), []
    entries = document.get("points")
    for place, entry in enumerate(entries if isinstance(entries, list) else []):
        where = f"points[{place}]"
        found = problems.table(entry, where)
        used = {key: value for key, value in (found or {}).items() if key in USED}
        known = validated(CurveEntry, used, path=where, problems=problems)
        if known is not None and not problems.found:
            with problems.noting(where):
                points.append(
                    Point(
                        devices=known.workers * per_worker,
                        rate=known.throughput,
                        low=known.low,
                        high=known.high,
                        variance=known.variance,
                    )
                )
    problems.check()
    return ThroughputCurve(name=name, points=tuple(points))


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSection:
    """A response or waiting time to be kept, as it is written."""

    mean: Annotated[float, SECONDS] | None = None
    p95: Annotated[float, SECONDS] | None = None
    waiting: Annotated[float, SECONDS] | None = None
    p95_waiting: Annotated[float, SECONDS] | None = None
    most: Count

    @property
    def noun(self) -> Target:
        """What it means.

        Raises:
            InputError: it says several, or none.
        """
        said = {each: getattr(self, each.value) for each in TargetQuantity}
        told = {quantity: seconds for quantity, seconds in said.items() if seconds is not None}
        if len(told) != 1:
            raise InputError("needs one of mean, p95, waiting and p95_waiting, such as '2 h'.")
        [(quantity, seconds)] = told.items()
        return Target(quantity=quantity, seconds=seconds, most=self.most)
