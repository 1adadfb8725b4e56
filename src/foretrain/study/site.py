"""Sites: [site] of a study, an administrator's rules in Slurm's terms.

`SiteRules` and what it is made of have the meanings; sections differ from them where values have
units or are lists. Outages of a simulation are written like a site's closed nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Annotated, Any, Final, Literal

from foretrain.cluster.mixed import Autoscaling, NodeFailures
from foretrain.errors import InputError
from foretrain.measured.limit import Party, PartyLimit
from foretrain.measured.site import (
    DAY,
    Association,
    BackfillRules,
    BillingRule,
    Partition,
    PreemptBy,
    PreemptMode,
    PreemptRules,
    PriorityWeights,
    Qos,
    SiteRules,
)
from foretrain.study.keys import Count
from foretrain.study.problems import Problems, validated
from foretrain.study.quotas import CohortSection, QueueSection, told_by
from foretrain.study.slurm_nodes import ClosedSection, SwitchSection, node_ranges, on_clock
from foretrain.units import SECONDS, SHARE, as_written

Seconds = Annotated[float, SECONDS]

INFERRED: Final = "is stated, and infer asks the log for it. Leave one of them out."
BESIDE_INFER: Final = frozenset({"infer", "kill", "over_limit"})
"""Keys of [site] that a log does not tell."""


def infers_rules(written: object, problems: Problems) -> bool:
    """Whether the rules of a site are those that its log follows.

    Args:
        written: the section; None without one.
        problems: take what is wrong with it, such as rules that are stated beside.
    """
    site = written if isinstance(written, Mapping) else {}
    asked = site.get("infer", False)
    if not isinstance(asked, bool):
        problems.add("site.infer", f"is {as_written(asked)}. Write true or false.")
    elif asked:
        for key in sorted(site.keys() - BESIDE_INFER):
            problems.add(f"site.{key}", INFERRED)
    return asked is True


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSection:
    """A queue of jobs for some nodes, as it is written."""

    name: str
    nodes: str = ""
    tier: int = 1
    factor: float = 1.0
    longest: Seconds = inf
    default: Seconds | None = None
    exclusive: bool = False
    device_weight: float = 1.0
    node_weight: float = 0.0

    @property
    def noun(self) -> Partition:
        """What it means."""
        return Partition(**{**told_by(self), "nodes": node_ranges(self.nodes)})


@dataclass(frozen=True, slots=True, kw_only=True)
class QosSection:
    """A quality of service, as it is written."""

    name: str
    priority: float = 0.0
    preempts: tuple[str, ...] = ()
    mode: PreemptMode | None = None
    exempt: Seconds | None = None
    usage_factor: float = 1.0
    reserves: bool = True

    @property
    def noun(self) -> Qos:
        """What it means."""
        return Qos(**told_by(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountSection:
    """An account in the tree of shares, as it is written."""

    name: str
    parent: str = ""
    shares: float = 1.0

    @property
    def noun(self) -> Association:
        """What it means."""
        return Association(**told_by(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class UserSection:
    """A user under an account, as it is written."""

    name: str
    account: str = ""
    shares: float | Literal["parent"] | None = None
    usage: Seconds = 0.0

    @property
    def noun(self) -> Association:
        """What it means: without shares the user has one, and "parent" shares as its account."""
        shares = 1.0 if self.shares is None else self.shares
        return Association(
            name=self.name,
            parent=self.account,
            shares=None if shares == "parent" else shares,
            is_user=True,
            usage=self.usage,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PrioritySection:
    """Weights of priorities, as they are written."""

    age: float = 0.0
    fairshare: float = 0.0
    size: float = 0.0
    partition: float = 0.0
    qos: float = 0.0
    devices: float = 0.0
    longest_age: Seconds = 7 * DAY
    small_first: bool = False
    period: Seconds = 300.0
    half_life: Seconds = 7 * DAY
    fair_tree: bool = True
    damping: float = 1.0
    billing: BillingRule = BillingRule.SUM

    @property
    def noun(self) -> PriorityWeights:
        """What they mean."""
        return PriorityWeights(**told_by(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillSection:
    """How jobs pass, as it is written."""

    on: bool = True
    interval: Seconds = 30.0
    window: Seconds = DAY
    resolution: Seconds = 60.0
    depth: Count = 500
    reserves: int = 0
    per_user: int = 0

    @property
    def noun(self) -> BackfillRules | None:
        """What it means: None where nobody passes."""
        told = told_by(self)
        return BackfillRules(**told) if told.pop("on") else None


@dataclass(frozen=True, slots=True, kw_only=True)
class PreemptSection:
    """Who is stopped for whom, as it is written."""

    by: PreemptBy = PreemptBy.NOBODY
    mode: PreemptMode = PreemptMode.REQUEUE
    exempt: Seconds = 0.0
    youngest_first: bool = False
    reorders: int = 1

    @property
    def noun(self) -> PreemptRules:
        """What it means."""
        return PreemptRules(**told_by(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class FailuresSection:
    """How nodes fail, as it is written; `NodeFailures` has the meanings."""

    between: Annotated[float, SECONDS]
    repair: Annotated[float, SECONDS]
    checkpoint: Annotated[float, SECONDS]

    @property
    def noun(self) -> NodeFailures:
        """What it means."""
        return NodeFailures(between=self.between, repair=self.repair, checkpoint=self.checkpoint)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingSection:
    """How nodes come and leave with the jobs, as it is written; `Autoscaling` has the meanings."""

    least: int = 0
    scan: Seconds = 10.0
    boot: Seconds = 300.0
    varies: float = 0.0
    give_up: Seconds = 900.0
    idle: Seconds = 600.0
    after_add: Seconds = 600.0

    @property
    def noun(self) -> Autoscaling:
        """What it means."""
        return Autoscaling(**told_by(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class PartyLimitSection:
    """What each party may hold at once, as it is written."""

    each: Party = Party.EVERYBODY
    of: Party = Party.EVERYBODY
    named: str = ""
    devices: int | None = None
    jobs: int | None = None
    license: str = ""
    count: int | None = None

    @property
    def noun(self) -> PartyLimit:
        """What it means."""
        if bool(self.of) != bool(self.named):
            raise InputError('says of whom and needs a name, as in of = "qos", named = "normal".')
        return PartyLimit(
            each=self.each,
            of=self.of,
            named=self.named,
            devices=inf if self.devices is None else self.devices,
            jobs=inf if self.jobs is None else self.jobs,
            license=self.license,
            count=inf if self.count is None else self.count,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteSection:
    """The rules of a site, as they are written."""

    partitions: tuple[PartitionSection, ...] = ()
    qos: tuple[QosSection, ...] = ()
    accounts: tuple[AccountSection, ...] = ()
    users: tuple[UserSection, ...] = ()
    priority: PrioritySection = PrioritySection()
    depth: Count = 100
    backfill: BackfillSection = BackfillSection()
    preempt: PreemptSection = PreemptSection()
    closed: tuple[ClosedSection, ...] = ()
    limits: tuple[PartyLimitSection, ...] = ()
    licenses: dict[str, Count] = field(default_factory=dict)
    switches: tuple[SwitchSection, ...] = ()
    switch_wait: Seconds = 300.0
    across: Annotated[float, SHARE] = 1.0
    not_kept: tuple[str, ...] = ()
    queues: tuple[QueueSection, ...] = ()
    cohorts: tuple[CohortSection, ...] = ()
    fair_sharing: bool = False
    kill: bool = True
    over_limit: Seconds = 0.0

    @property
    def grace(self) -> float:
        """Seconds beyond its limit after which a job is ended; infinite for never."""
        return self.over_limit if self.kill else inf


def read_site(
    written: Mapping[str, Any], problems: Problems, *, origin: float | None = None
) -> tuple[SiteRules, float]:
    """The rules that a study states, and how long a job may run beyond its limit.

    Args:
        written: the section.
        problems: take what is wrong with it; then what is returned says nothing.
        origin: seconds since 1970 of the first job; None where jobs are drawn.
    """
    whole = {key: value for key, value in written.items() if key != "infer"}
    if isinstance(whole.get("closed"), list):
        whole["closed"] = [*on_clock(whole["closed"], origin, problems)]
    section = validated(SiteSection, whole, path="site", problems=problems)
    if section is None:
        return SiteRules(), inf
    made = dict(_made(section, problems))
    told = section.licenses.items()
    licenses = (PartyLimit(license=name, count=count) for name, count in told)
    with problems.noting("site", fields={"site.qualities": "site.qos"}):
        rules = SiteRules(
            partitions=made["partitions"],
            qualities=made["qos"],
            associations=(*made["accounts"], *made["users"]),
            priority=section.priority.noun,
            depth=section.depth,
            backfill=section.backfill.noun,
            preempt=section.preempt.noun,
            closed=made["closed"],
            limits=(*made["limits"], *licenses),
            switches=made["switches"],
            switch_wait=section.switch_wait,
            across=section.across,
            not_kept=section.not_kept,
            queues=made["queues"],
            cohorts=made["cohorts"],
            fair_sharing=section.fair_sharing,
        )
        return rules, section.grace
    return SiteRules(), inf


LISTS: Final = (
    "partitions",
    "qos",
    "accounts",
    "users",
    "closed",
    "limits",
    "queues",
    "cohorts",
    "switches",
)
"""Keys of [site] whose values are lists of nouns."""


def _made(section: SiteSection, problems: Problems) -> Iterator[tuple[str, Any]]:
    """Nouns of each list; those that are none are left out and noted."""
    for name in LISTS:
        found = []
        for place, each in enumerate(getattr(section, name)):
            with problems.noting(f"site.{name}[{place}]"):
                found.append(each.noun)
        yield name, tuple(found)
