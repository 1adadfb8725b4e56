"""What `simulate` answers: how long jobs take under each policy, at each load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from foretrain.ensemble.result import SharedInput
from foretrain.jobs.asked import Capacity, RuleChange, WhyWaited
from foretrain.measured.job import LeftOut
from foretrain.measured.queue_study import InferredRules
from foretrain.plan.plan import Plan
from foretrain.show.table import label, labelled
from foretrain.show.words import per_second, percent, span, whole
from foretrain.units import DOLLARS, SECONDS

HOUR: Final = 3600.0
TIME: Final = "time"
"""The group of columns that have one unit."""


def hours(seconds: float) -> str:
    """Device-hours: "1,234"."""
    return f"{seconds / HOUR:,.0f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCounts:
    """Jobs by what became of them.

    `running` still ran when their log was written: they hold devices for as long as it saw them.
    `waiting` had not begun then: they stand in the queue. No mean or percentile counts either.
    """

    submitted: int
    finished: int
    stopped: int
    failed: int
    killed: int
    waiting: int
    running: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PartyResult:
    """The jobs of one user or one group.

    Attributes:
        name: of the user or group.
        jobs: how many.
        mean_response: seconds from coming to ending.
        mean_waiting: seconds without devices.
        device_time: device-seconds that they held.
    """

    name: str
    jobs: int = field(metadata=label("jobs", whole))
    mean_response: float = field(metadata=label("mean response", SECONDS))
    mean_waiting: float = field(metadata=label("mean waiting", SECONDS))
    device_time: float = field(metadata=label("device hours", hours))


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyResult:
    """What a policy did, over all seeds, without the jobs of the warm-up.

    Attributes:
        mean_response: seconds from coming to ending.
        low: of the 95 % interval of the mean, above 0; None where there is too little to tell.
        high: likewise.
        p50: median response, seconds.
        p95: response that 95 % of the jobs stay below.
        p99: likewise 99 %.
        quantiles: responses that 0, 1, 2 ... 100 % of the jobs stay below or reach, seconds.
        mean_waiting: seconds without devices.
        median_waiting: likewise.
        p95_waiting: seconds without devices that 95 % of the jobs stay below.
        mean_response_finished: seconds, of jobs that were neither killed nor failed nor stopped;
            None without one.
        makespan: seconds from the first arrival to the last end, mean over seeds.
        utilisation: device-seconds held over those there were, from the first arrival to the last
            end.
        fragmentation: share of the free devices that no job that waits could use, over time;
            None where nodes are not told apart.
        rented: share of the fleet's device time during which nodes were there or on their way,
            until the last job left; None where nodes neither come nor leave.
        interruptions: per job.
        cost: dollars for the fleet until the last end, of what was rented; None without a price.
        jobs: by what became of them, all seeds together.
        groups: by virtual cluster or queue, most device time first.
        users: likewise.
    """

    mean_response: float = field(
        metadata=label("mean", SECONDS, meaning="from coming to ending", group=TIME)
    )
    low: float | None
    high: float | None
    p50: float = field(metadata=label("median", SECONDS, group=TIME))
    p95: float = field(metadata=label("p95", SECONDS, spare=4, group=TIME))
    p99: float = field(metadata=label("p99", SECONDS, group=TIME))
    quantiles: tuple[float, ...]
    mean_waiting: float = field(
        metadata=label("waiting", SECONDS, meaning="mean time without devices", group=TIME)
    )
    median_waiting: float
    p95_waiting: float
    mean_response_finished: float | None
    makespan: float
    utilisation: float = field(
        metadata=label("utilisation", percent, meaning="until the last end", short="used", spare=2)
    )
    fragmentation: float | None
    interruptions: float = field(
        metadata=label(
            "interrupted", "{:.2g}".format, meaning="times per job", short="stops", spare=3
        )
    )
    cost: float | None = field(
        metadata=label("cost", DOLLARS, meaning="of all devices until the last end", spare=6)
    )
    jobs: JobCounts
    groups: tuple[PartyResult, ...]
    users: tuple[PartyResult, ...]
    rented: float | None = field(
        default=None,
        metadata={
            **label("rented", percent, meaning="of all devices' time until the last end", spare=2),
            "if_set": True,
        },
    )

    @property
    @labelled("within", number=True, meaning="95 % interval of the mean", spare=1, group=TIME)
    def interval(self) -> str | None:
        """Of the mean."""
        if self.low is None or self.high is None:
            return None
        return span(self.low, self.high, SECONDS)

    @property
    @labelled("of finished", SECONDS, meaning="mean of jobs that completed", spare=5, group=TIME)
    def mean_of_finished(self) -> float | None:
        """None where all jobs finished, as it would say the mean again."""
        counted = self.jobs.submitted - self.jobs.running - self.jobs.waiting
        return None if self.jobs.finished == counted else self.mean_response_finished


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyPair:
    """Two policies on the same jobs.

    Attributes:
        first: the policy with the shorter mean response.
        second: the other.
        difference: seconds that the mean response of the second is longer.
        low: of its 95 % interval over seeds; None with one seed.
        high: likewise.
        p: chance of such a difference if there were none; None with one seed.
    """

    first: str
    second: str
    difference: float
    low: float | None
    high: float | None
    p: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPoint:
    """All policies at one load.

    Attributes:
        load: device-seconds that come over those there are; None for a trace as it is.
        policies: what each did.
        pairs: of policies, neighbours in the order of their mean response.
    """

    load: float | None
    policies: Mapping[str, PolicyResult]
    pairs: tuple[PolicyPair, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """The best plan on a number of devices.

    Attributes:
        devices: how many.
        rate: samples per second; of an ensemble, those on which every member trains.
        low: of its 10-90 % interval.
        high: likewise.
        efficiency: rate per device over that of the first point.
        plan: the plan; of an ensemble, that of each member on its share of the devices; None where
            the throughput was known without one.
        input: how the members of an ensemble are fed; None for a single model.
    """

    devices: int = field(metadata=label("devices", whole))
    rate: float = field(metadata=label("samples/s", per_second))
    low: float
    high: float
    efficiency: float = field(
        metadata=label("efficiency", percent, meaning="of a device, over the first row")
    )
    plan: Plan | None
    input: SharedInput | None = None

    @property
    @labelled("interval", spare=1)
    def interval(self) -> str:
        """Of the rate."""
        return f"{per_second(self.low)} to {per_second(self.high)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCurve:
    """What one model gets out of devices.

    Attributes:
        name: of the model.
        points: by number of devices; those on which nothing fits are left out.
        asks: devices that a job of it asks for.
        why: why so many.
        refused: why nothing fits, by number of devices.
        members: that train together in one job; 1 for a single model.
    """

    name: str
    points: tuple[CurvePoint, ...]
    asks: int
    why: str
    refused: Mapping[int, str]
    members: int = 1

    @property
    def asked(self) -> CurvePoint:
        """The point of the devices that a job asks for."""
        return next(point for point in self.points if point.devices == self.asks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A job on its devices.

    Attributes:
        job: its name.
        start: seconds since the trace began.
        end: likewise.
        devices: how many.
    """

    job: str
    start: float
    end: float
    devices: float


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """One run as it went: the first seed of the highest load.

    Attributes:
        policy: which one.
        times: seconds at which something was looked at.
        busy: share of the devices held then.
        queue: jobs that waited then.
        came: seconds at which parts of the time began in which jobs came.
        waited: seconds that those that came in each waited on average, until they first ran.
        spans: of the jobs in a row that came in the shortest time.
    """

    policy: str
    times: tuple[float, ...]
    busy: tuple[float, ...]
    queue: tuple[int, ...]
    came: tuple[float, ...]
    waited: tuple[float, ...]
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A log beside its simulation under one policy.

    Attributes:
        policy: that was simulated.
        devices: of the fleet.
        gap: mean difference of a job's simulated waiting from its logged one, in the first half
            of the waiting, over the mean of all logged ones; None where only the log has none.
        logged: median seconds of waiting in the second half, of the jobs that waited in the log.
        simulated: of the same jobs in the simulation.
        error: relative error of the simulated median; None where only the log's is 0.
    """

    policy: str = field(metadata=label("policy"))
    devices: int
    gap: float | None = field(
        metadata=label("apart", percent, meaning="job by job in the first half, over mean waiting")
    )
    logged: float = field(metadata=label("in the log", SECONDS, group="waiting"))
    simulated: float = field(
        metadata=label(
            "median waiting",
            SECONDS,
            meaning="of jobs that waited, in the second half",
            group="waiting",
        )
    )
    error: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """Response times of jobs that share a fleet.

    Attributes:
        devices: of the fleet.
        seeds: how many times each case was run; 1 for a trace as it is.
        policies: what each did at the highest load.
        points: the same at every load.
        curves: of the models, where jobs were drawn of models.
        histories: how it went under each policy.
        replays: a log that tells who waited beside simulations of it, the one that fits best first.
        left_out: entries of the log that are not simulated, the most frequent reason first.
        capacity: what a target needs; None where the study has none.
        findings: what follows, in words.
        inferred: the rules that the log follows, where they were asked for.
        jobs_per_second: simulated jobs per CPU second.
        counted: what responses are of: "jobs", or "sweeps" up to their winner.
        why: why jobs waited that were asked about.
        changes: single rules of the site that are otherwise, the one that shortens waiting most
            first, where that was asked.
    """

    devices: int
    seeds: int
    policies: Mapping[str, PolicyResult]
    points: tuple[LoadPoint, ...]
    curves: tuple[ModelCurve, ...]
    histories: tuple[History, ...]
    replays: tuple[Replayed, ...]
    left_out: tuple[LeftOut, ...]
    capacity: Capacity | None
    findings: tuple[str, ...]
    jobs_per_second: float
    inferred: InferredRules | None = None
    counted: str = "jobs"
    why: tuple[WhyWaited, ...] = field(default=(), metadata={"if_set": True})
    changes: tuple[RuleChange, ...] = field(default=(), metadata={"if_set": True})
