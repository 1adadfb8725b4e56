"""Sites: [site] of a study, an administrator's rules in Slurm's terms.

`SiteRules` and what it is made of have the meanings; sections differ from them where values have
units or are lists. Outages of a simulation are written like a site's closed nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from foretrain.cluster.mixed import NodeFailures, Outage
from foretrain.errors import InputError
from foretrain.measured.limit import Party, PartyLimit, QuotaQueue
from foretrain.measured.site import (
    DAY,
    Association,
    BackfillRules,
    BillingRule,
    Closed,
    NodeRange,
    Partition,
    PreemptBy,
    PreemptMode,
    PreemptRules,
    PriorityWeights,
    Qos,
    SiteRules,
)
from foretrain.study.files import read_text
from foretrain.study.keys import Count
from foretrain.study.problems import Problems, validated
from foretrain.study.slurm_config import site_of_config
from foretrain.units import SECONDS, SHARE, as_written

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Seconds = Annotated[float, SECONDS]

MOST_BYTES: Final = 2**20
"""Of a configuration; Slurm's has some ten thousand."""

RANGE: Final = re.compile(r"(\d+)(?:-(\d+))?")


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


def node_ranges(text: str) -> tuple[NodeRange, ...]:
    """Nodes as they are written: "0-15, 20".

    Raises:
        InputError: something else is written.
    """
    found = []
    for part in filter(None, (each.strip() for each in text.split(","))):
        read = RANGE.fullmatch(part)
        if read is None:
            raise InputError(
                f"{as_written(part)} is no range of nodes. Write numbers from 0 on, such as"
                ' "0-15, 20".'
            )
        found.append((int(read[1]), int(read[2] or read[1])))
    return tuple(found)


def _told(section: DataclassInstance) -> dict[str, Any]:
    """What a section says, by its keys."""
    return {each.name: getattr(section, each.name) for each in fields(section)}


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
        return Partition(**{**_told(self), "nodes": node_ranges(self.nodes)})


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
        return Qos(**_told(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountSection:
    """An account in the tree of shares, as it is written."""

    name: str
    parent: str = ""
    shares: float = 1.0

    @property
    def noun(self) -> Association:
        """What it means."""
        return Association(**_told(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class UserSection:
    """A user under an account, as it is written."""

    name: str
    account: str = ""
    shares: float | None = None
    usage: Seconds = 0.0

    @property
    def noun(self) -> Association:
        """What it means: without shares the user has one."""
        return Association(
            name=self.name,
            parent=self.account,
            shares=1.0 if self.shares is None else self.shares,
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
        return PriorityWeights(**_told(self))


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
        told = _told(self)
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
        return PreemptRules(**_told(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedSection:
    """Nodes that are kept free for a while, as they are written."""

    start: Seconds
    end: Seconds
    nodes: str = ""

    @property
    def noun(self) -> Closed:
        """What it means."""
        return Closed(**{**_told(self), "nodes": node_ranges(self.nodes)})


@dataclass(frozen=True, slots=True, kw_only=True)
class OutageSection:
    """Nodes that are not there for a while, as they are written; `Outage` has the meanings."""

    nodes: str
    start: Seconds
    end: Seconds = inf
    notice: Seconds = 0.0
    lets_end: bool = False
    checkpoint: Seconds = inf

    @property
    def noun(self) -> Outage:
        """What it means."""
        return Outage(**{**_told(self), "nodes": node_ranges(self.nodes)})


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
class PartyLimitSection:
    """What each party may hold at once, as it is written."""

    each: Party = Party.EVERYBODY
    of: Party = Party.EVERYBODY
    named: str = ""
    devices: int | None = None
    jobs: int | None = None

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
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSection:
    """A queue with a quota, as it is written."""

    name: str
    cohort: str = ""
    devices: float = 0.0
    borrows: float = inf
    lends: float = inf
    most: float = inf
    weight: float = 1.0
    strict: bool = False
    reclaims: bool = False
    preempts: bool = False
    past: Annotated[float, SHARE] = 0.0

    @property
    def noun(self) -> QuotaQueue:
        """What it means."""
        return QuotaQueue(**_told(self))


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
    queues: tuple[QueueSection, ...] = ()
    fair_sharing: bool = False
    kill: bool = True
    over_limit: Seconds = 0.0

    @property
    def grace(self) -> float:
        """Seconds beyond its limit after which a job is ended; infinite for never."""
        return self.over_limit if self.kill else inf


def read_site(
    written: Mapping[str, Any], problems: Problems, *, folder: Path
) -> tuple[SiteRules, float]:
    """The rules that a study states, and how long a job may run beyond its limit.

    Args:
        written: the section. `config` names a file that tells what it leaves out.
        problems: take what is wrong with it; then what is returned says nothing.
        folder: of the study.
    """
    whole = {key: value for key, value in written.items() if key != "infer"}
    if (name := whole.pop("config", None)) is not None:
        with problems.noting("site.config"):
            whole = _over(site_of_config(read_text(folder / str(name), most=MOST_BYTES)), whole)
    section = validated(SiteSection, whole, path="site", problems=problems)
    if section is None:
        return SiteRules(), inf
    made = dict(_made(section, problems))
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
            limits=made["limits"],
            queues=made["queues"],
            fair_sharing=section.fair_sharing,
        )
        return rules, section.grace
    return SiteRules(), inf


def _over(told: Mapping[str, Any], written: Mapping[str, Any]) -> dict[str, Any]:
    """What a file tells, but for what is written."""
    found = {**told, **written}
    for key, value in told.items():
        if isinstance(value, dict) and isinstance(written.get(key), dict):
            found[key] = {**value, **written[key]}
    return found


def _made(section: SiteSection, problems: Problems) -> Iterator[tuple[str, Any]]:
    """Nouns of each list; those that are none are left out and noted."""
    for name in ("partitions", "qos", "accounts", "users", "closed", "limits", "queues"):
        found = []
        for place, each in enumerate(getattr(section, name)):
            with problems.noting(f"site.{name}[{place}]"):
                found.append(each.noun)
        yield name, tuple(found)
