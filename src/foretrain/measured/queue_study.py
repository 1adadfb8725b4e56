"""Studies of a shared cluster: which jobs come, what they share, which policies are compared."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from typing import Final

from foretrain.cluster.mixed import Autoscaling, Fleet, NodeFailures, Outage
from foretrain.errors import InputError
from foretrain.measured.job import Log
from foretrain.measured.limit import PartyLimit
from foretrain.measured.site import SiteRules
from foretrain.measured.sweep import SweepKind
from foretrain.plan.study import Study
from foretrain.throughput import ThroughputCurve


class Placement(StrEnum):
    """Where the devices of a job lie."""

    ANY = "any"
    """Nodes are not told apart: a job gets any free devices, as if packed."""

    PACKED = "packed"
    SPREAD = "spread"
    RACKS = "racks"


class TargetQuantity(StrEnum):
    """What a target is about."""

    MEAN = "mean"
    """The mean response time."""
    P95 = "p95"
    """The response time that 95 % of the jobs stay below."""
    WAITING = "waiting"
    """The mean time that jobs are without devices."""
    P95_WAITING = "p95_waiting"
    """The time without devices that 95 % of the jobs stay below."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobModel:
    """Jobs that train one model.

    Attributes:
        name: of the model.
        study: workload, cluster and space of plans; a search answers it for every count. None where
            the throughput is known.
        share: of the jobs, above 0; shares of all models are scaled to 1.
        counts: devices to look at, ascending.
        asks: devices that a job asks for; None for as many as it uses well.
        vary: standard deviation of the amount of training over its mean.
        members: 1, or those of an ensemble: so many train at once, on equal shares of the
            devices and over one input; batch, plan and amount are those of one member.
        prepared: bytes of a sample as members of an ensemble get it; None for a single model.
        curve: samples per second that are known of every count, in place of a study.
        samples: that a job trains on, with a curve.
    """

    name: str
    study: Study | None = None
    share: float
    counts: tuple[int, ...]
    asks: int | None = None
    vary: float = 1.0
    members: int = 1
    prepared: float | None = None
    curve: ThroughputCurve | None = None
    samples: float | None = None

    @property
    def planned(self) -> Study:
        """The study of a model whose throughput is not known."""
        assert self.study, "a model whose throughput is known has no study"
        return self.study

    @property
    def amount(self) -> float:
        """Samples that a job trains on."""
        known = self.study.workload.samples if self.study else self.samples
        assert known is not None, "a model without an amount was not refused"
        return known

    def __post_init__(self) -> None:
        # Refuse an ensemble whose input or whose share of the devices cannot be told.
        if not self.members >= 1:
            raise InputError(f"JobModel.members must be at least 1, got {self.members}.")
        if any(count % self.members for count in self.counts):
            raise InputError(
                f"JobModel.counts of {self.name} must be multiples of its {self.members} members,"
                f" got {self.counts}."
            )
        if not self.share > 0:
            raise InputError(f"JobModel.share must be above 0, got {self.share}.")
        if not self.vary >= 0:
            raise InputError(f"JobModel.vary must be at least 0, got {self.vary}.")
        if (self.study is None) != (self.curve is not None and self.samples is not None):
            raise InputError(f"{self.name} needs JobModel.study, or a curve and samples.")
        if self.study is not None:
            self._check(self.study)

    def _check(self, study: Study) -> None:
        data = study.workload.data
        if self.members > 1 and not (self.prepared and data and data.prepare):
            raise InputError(
                f"the ensemble {self.name} needs JobModel.prepared, bytes of a prepared sample,"
                " and a workload whose data say what preparing one takes."
            )
        if self.members > 1 and study.cluster.host is None:
            raise InputError(f"the ensemble {self.name} needs a cluster that says its host.")
        if study.workload.samples is None:
            raise InputError(f"the workload of {self.name} needs an amount, such as '90 epochs'.")


MOST_DRAWN: Final = 200_000
"""Jobs of a run; more seeds say more about chance than more jobs."""

MOST_SEEDS: Final = 1_000
MOST_LOADS: Final = 100
LEAST_LOAD: Final = 1e-6
"""Where jobs come still further apart, a float that tells when does not tell how long they run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Jobs that are drawn at random.

    Attributes:
        jobs: how many.
        models: what they train; empty for jobs like those of a published log.
        serial: share of a job's time that more devices do not shorten, by Amdahl's law; None for
            jobs that run on the devices they ask for.
        ends: whether some jobs fail or are killed, as in that log; otherwise all finish.
        sweeps: hyper-parameter sweeps, of which `jobs` are drawn in place of jobs.
    """

    jobs: int
    models: tuple[JobModel, ...] = ()
    serial: float | None = None
    ends: bool = True
    sweeps: tuple[SweepKind, ...] = field(default=(), metadata={"if_set": True})

    def __post_init__(self) -> None:
        if self.sweeps and (self.models or self.serial is not None):
            raise InputError(
                "Drawn.sweeps stands beside models or serial. A sweep of one trial and one rung is"
                " a job like any other; say those so."
            )
        if not 1 <= self.jobs <= MOST_DRAWN:
            raise InputError(f"Drawn.jobs must be from 1 to {MOST_DRAWN:,}, got {self.jobs:,}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A time to be kept.

    Attributes:
        quantity: of which time: responses, or waiting.
        seconds: at most.
        most: nodes to look at, of each kind.
    """

    quantity: TargetQuantity
    seconds: float
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """Under which jobs run.

    Attributes:
        period: seconds of a scheduling round; 0 to decide at every event.
        placement: of jobs on nodes.
        admit: outstanding work, in seconds of the whole fleet, from which on jobs wait outside;
            0 lets everybody in.
        failures: how nodes fail; None for nodes that never do.
        outages: nodes that are known not to be there for a while; with them nodes do not fail.
        scaling: how nodes come and leave with the jobs; None for nodes that are there.
        limits: what users, groups, accounts and arrays may hold at once.
        grace: seconds beyond its time limit, which is its estimate, after which a job is ended;
            infinite where limits end nobody.
        site: an administrator's rules, for policies that replay them.
    """

    period: float = 0.0
    placement: Placement = Placement.ANY
    admit: float = 0.0
    failures: NodeFailures | None = None
    outages: tuple[Outage, ...] = ()
    scaling: Autoscaling | None = field(default=None, metadata={"if_set": True})
    limits: tuple[PartyLimit, ...] = ()
    grace: float = inf
    site: SiteRules = field(default_factory=SiteRules)

    def __post_init__(self) -> None:
        if not (self.period >= 0 and self.admit >= 0 and self.grace >= 0):
            raise InputError("Conditions.period, admit and grace must be at least 0 s.")
        if self.failures and self.outages:
            raise InputError("Conditions.failures and outages exclude each other; keep one.")
        if self.scaling and self.outages:
            raise InputError(
                "Conditions.scaling and outages exclude each other: outages name nodes by their"
                " numbers, and which of them are there is not known before. Keep one."
            )

        if self.site.suspends and (self.failures or self.outages or self.scaling):
            raise InputError(
                "Site.preempt suspends jobs, which keep their places on nodes: failures, outages"
                " and scaling take nodes away. Keep one, or preempt by requeue."
            )
        if self.site.across < 1.0 and self.placement is Placement.ANY:
            raise InputError(
                "Site.across slows jobs by the nodes on which they lie. Say on which, as by"
                ' simulation.placement = "packed".'
            )

    @property
    def on_nodes(self) -> bool:
        """Whether nodes matter one by one."""
        fleeting = self.failures or self.outages or self.scaling
        return self.placement is not Placement.ANY or bool(fleeting)

    @property
    def all_limits(self) -> tuple[PartyLimit, ...]:
        """Those of the conditions and of the site."""
        return (*self.limits, *self.site.limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueStudy:
    """What `simulate` is asked.

    Attributes:
        fleet: what jobs share.
        jobs: a log, or how to draw jobs.
        policies: names of the table of policies.
        loads: device-seconds that come over those there are; none for a trace as it is.
        seeds: how often each load is drawn.
        warm_up: share of the jobs, the first to come, that is not counted.
        conditions: under which jobs run.
        restart: seconds that a start after an interruption takes, for jobs that say none.
        policy: under which a trace's cluster ran, for a replay; None to find out.
        target: a response or waiting time to be kept; None without one.
        infer_rules: whether the rules of the site are those that the log follows.
        infer_fleet: whether the nodes are too; until then `fleet` is only large enough.
        rules: whether to say which single rule of the site to change.
        assumed: in words, every default that a reader filled in.
    """

    fleet: Fleet
    jobs: Log | Drawn
    policies: tuple[str, ...]
    loads: tuple[float, ...] = ()
    seeds: int = 1
    warm_up: float = 0.0
    conditions: Conditions = Conditions()
    restart: float = 0.0
    policy: str | None = None
    target: Target | None = None
    infer_rules: bool = False
    infer_fleet: bool = False
    rules: bool = field(default=False, metadata={"if_set": True})
    assumed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.warm_up < 1:
            raise InputError(f"QueueStudy.warm_up must be a share below 1, got {self.warm_up}.")
        if not self.restart >= 0:
            raise InputError(f"QueueStudy.restart must be at least 0 s, got {self.restart}.")
        if isinstance(self.jobs, Drawn) and (self.infer_rules or self.infer_fleet):
            raise InputError("QueueStudy.infer_rules needs a log; drawn jobs follow no rules.")
        if isinstance(self.jobs, Drawn) and not self.loads:
            raise InputError("QueueStudy.loads is empty; drawn jobs need a load, such as 0.8.")
        if len(self.loads) > MOST_LOADS:
            raise InputError(
                f"QueueStudy.loads may be {MOST_LOADS} at most, got {len(self.loads)}."
            )
        if wrong := [load for load in self.loads if not load >= LEAST_LOAD]:
            raise InputError(f"QueueStudy.loads must be at least {LEAST_LOAD:g}, got {wrong[0]:g}.")
        if self.seeds > MOST_SEEDS:
            raise InputError(
                f"QueueStudy.seeds must be at most {MOST_SEEDS:,}, got {self.seeds:,}."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class InferredRule:
    """A rule that a log follows.

    Attributes:
        rule: what it is about.
        value: what it says.
        evidence: what in the log speaks for it.
    """

    rule: str
    value: str
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InferredRules:
    """What a log tells of its site.

    Attributes:
        rules: with their evidence.
        apart: how far the replay is from the log: mean difference of waiting over its mean, and a
            fifth of the relative difference of the median.
        written: the sections of a study that state them.
    """

    rules: tuple[InferredRule, ...]
    apart: float
    written: str
