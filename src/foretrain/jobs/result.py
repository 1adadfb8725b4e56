"""What `simulate` answers: how long jobs take under each policy, at each load.

What one run of a simulation says, before it is compared with others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from foretrain.ensemble.result import SharedInput
from foretrain.measured.job import LeftOut
from foretrain.plan.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCounts:
    """Jobs by what became of them.

    `running` still ran when their log was written: they hold devices for as long as it saw them,
    and no mean or percentile counts them. `waiting` have come and not ended.
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
    jobs: int
    mean_response: float
    mean_waiting: float
    device_time: float


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
        mean_response_finished: seconds, of jobs that were neither killed nor failed nor stopped;
            None without one.
        makespan: seconds from the first arrival to the last end, mean over seeds.
        utilisation: device-seconds held over those there were, from the first arrival to the last
            end.
        fragmentation: share of the free devices that no job that waits could use, over time;
            None where nodes are not told apart.
        interruptions: per job.
        cost: dollars for the fleet until the last end; None without a price.
        jobs: by what became of them, all seeds together.
        groups: by virtual cluster or queue, most device time first.
        users: likewise.
    """

    mean_response: float
    low: float | None
    high: float | None
    p50: float
    p95: float
    p99: float
    quantiles: tuple[float, ...]
    mean_waiting: float
    median_waiting: float
    mean_response_finished: float | None
    makespan: float
    utilisation: float
    fragmentation: float | None
    interruptions: float
    cost: float | None
    jobs: JobCounts
    groups: tuple[PartyResult, ...]
    users: tuple[PartyResult, ...]


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
        plan: the plan; of an ensemble, that of each member on its share of the devices.
        input: how the members of an ensemble are fed; None for a single model.
    """

    devices: int
    rate: float
    low: float
    high: float
    efficiency: float
    plan: Plan
    input: SharedInput | None = None


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
        spans: of the first jobs.
    """

    policy: str
    times: tuple[float, ...]
    busy: tuple[float, ...]
    queue: tuple[int, ...]
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Enough:
    """How many devices keep a target under a policy.

    Attributes:
        policy: which one.
        nodes: the fewest that keep it; None where not even the most that were looked at do.
        devices: of those nodes.
        response: what the target is about, seconds, on those nodes or on the most.
        utilisation: of their devices.
        price: dollars per second for them; None without a price.
    """

    policy: str
    nodes: int | None
    devices: int
    response: float
    utilisation: float
    price: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """What a target needs.

    Attributes:
        quantity: "mean" or "p95" of the response.
        seconds: at most.
        load: at which jobs come, over the devices of the study; None for a trace as it is.
        policies: what each needs, the fewest nodes first.
    """

    quantity: str
    seconds: float
    load: float | None
    policies: tuple[Enough, ...]


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

    policy: str
    devices: int
    gap: float | None
    logged: float
    simulated: float
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
        replays: a log beside its simulation under its own policy, or under several, the one that
            fits best first; empty where there is no log or it does not tell who waited.
        left_out: entries of the log that are not simulated, the most frequent reason first.
        capacity: what a target needs; None where the study has none.
        findings: what follows, in words.
        jobs_per_second: simulated jobs per CPU second.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """One run of one policy.

    Attributes:
        responses: seconds from coming to ending, of the jobs that count, in order of arrival:
            those after the warm-up that have ended.
        waiting: seconds of those without devices.
        finished: responses of the jobs that finished.
        makespan: seconds from the first arrival to the last end.
        utilisation: device-seconds held over those there were, from the first arrival to the last
            end.
        fragmentation: mean share of the devices that were free but of no use; None if not seen.
        interruptions: of all jobs.
        counts: jobs by what became of them.
        groups: by virtual cluster or queue.
        users: likewise.
    """

    responses: tuple[float, ...]
    waiting: tuple[float, ...]
    finished: tuple[float, ...]
    makespan: float
    utilisation: float
    fragmentation: float | None
    interruptions: int
    counts: JobCounts
    groups: tuple[PartyResult, ...]
    users: tuple[PartyResult, ...]

    @property
    def mean(self) -> float:
        """Mean response, seconds."""
        return fmean(self.responses)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """What came out of a run.

    Attributes:
        summary: what it says.
        history: how it went; None if that was not noted.
        seconds: CPU seconds that the simulation took.
    """

    summary: RunSummary
    history: History | None
    seconds: float
