"""Sites: the rules by which an administrator lets jobs share a cluster, in Slurm's terms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import inf

from foretrain.cluster.device import Switch, switch_problems
from foretrain.errors import InputError
from foretrain.measured.limit import PartyLimit, QuotaCohort, QuotaQueue, quota_problems

DAY = 86_400.0

MOST_REORDERS = 100
"""Tries of who is stopped; Slurm makes one."""

NodeRange = tuple[int, int]
"""First and last node, counted through all kinds of a fleet from 0."""


class PreemptMode(StrEnum):
    """What becomes of a job that makes room for another."""

    OFF = "off"
    REQUEUE = "requeue"
    """It waits again and starts from its beginning."""

    CANCEL = "cancel"
    SUSPEND = "suspend"
    """It keeps its place and its licences, and goes on once its devices are free again."""


class PreemptBy(StrEnum):
    """Who may preempt whom."""

    NOBODY = "none"
    QOS = "qos"
    """Jobs of a quality of service those of the qualities that it names."""

    TIER = "partition_prio"
    """Jobs of a partition of a higher tier those of a lower one."""


class BillingRule(StrEnum):
    """How what a job holds becomes one number."""

    SUM = "sum"
    MAX_TRES = "max_tres"
    """The largest of what it holds on nodes."""

    MAX_TRES_GRES = "max_tres_gres"
    """Its devices, and the largest of cores, memory and nodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Qos:
    """A quality of service.

    Attributes:
        name: of it.
        priority: enters the priority of its jobs as a share of the largest one.
        preempts: names of the qualities whose jobs its jobs may preempt.
        mode: what becomes of its jobs where they are preempted; None for what the site says.
        exempt: seconds that its jobs run before they may be preempted; None for what the site says.
        usage_factor: weight of what its jobs use.
        reserves: whether its jobs may hold a reservation (without Slurm's flag NoReserve).
    """

    name: str
    priority: float = 0.0
    preempts: tuple[str, ...] = ()
    mode: PreemptMode | None = None
    exempt: float | None = None
    usage_factor: float = 1.0
    reserves: bool = True

    def __post_init__(self) -> None:
        if not (0 <= self.priority < inf and 0 <= self.usage_factor < inf):
            raise InputError(f"Qos.priority and usage_factor of {self.name} must be at least 0.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """A queue of jobs for some nodes; nodes may be in several.

    Attributes:
        name: as jobs name it by their group.
        nodes: in it; empty for all.
        tier: a higher one goes before a lower one, whatever the priorities of jobs.
        factor: enters the priority of its jobs as a share of the largest one.
        longest: seconds, the most that a job may ask for.
        default: seconds that are allowed to a job that asks for none; None for `longest`.
        exclusive: whether a job has its nodes to itself.
        device_weight: billing units of a device.
        node_weight: billing units of a node.
    """

    name: str
    nodes: tuple[NodeRange, ...] = ()
    tier: int = 1
    factor: float = 1.0
    longest: float = inf
    default: float | None = None
    exclusive: bool = False
    device_weight: float = 1.0
    node_weight: float = 0.0

    def __post_init__(self) -> None:
        if not self.longest > 0:
            raise InputError(f"Partition.longest of {self.name} must be above 0 s.")
        if not all(0 <= each < inf for each in (self.factor, self.device_weight, self.node_weight)):
            raise InputError(
                f"Partition.factor, device_weight and node_weight of {self.name} must be finite and"
                " at least 0."
            )
        if any(not 0 <= first <= last for first, last in self.nodes):
            raise InputError(f"Partition.nodes of {self.name} must be ranges, got {self.nodes}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Association:
    """A user or an account in the tree of shares.

    Attributes:
        name: of the user or the account.
        parent: the account above it; empty for the root.
        shares: among its siblings; None for a user that shares as its account does.
        is_user: whether it is a user of the account, not an account.
        usage: decayed, that it begins with; of users only.
    """

    name: str
    parent: str = ""
    shares: float | None = 1.0
    is_user: bool = False
    usage: float = 0.0

    def __post_init__(self) -> None:
        if not ((self.shares is None or 0 <= self.shares < inf) and 0 <= self.usage < inf):
            raise InputError(f"Association.shares and usage of {self.name} must be at least 0.")


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityWeights:
    """Slurm's multifactor priority.

    Attributes:
        age: and the next five: weights of the factors.
        fairshare: ditto.
        size: ditto.
        partition: ditto.
        qos: ditto.
        devices: ditto, of the share of the partition's devices.
        longest_age: seconds after which a job grows no older.
        small_first: whether the size factor is larger for small jobs.
        period: seconds after which priorities and usage are worked out again.
        half_life: seconds in which usage is halved; infinite for never.
        fair_tree: whether shares are ranked down the tree; otherwise the classic exponential.
        damping: of the classic one.
        billing: how what a job holds becomes one number.
    """

    age: float = 0.0
    fairshare: float = 0.0
    size: float = 0.0
    partition: float = 0.0
    qos: float = 0.0
    devices: float = 0.0
    longest_age: float = 7 * DAY
    small_first: bool = False
    period: float = 300.0
    half_life: float = 7 * DAY
    fair_tree: bool = True
    damping: float = 1.0
    billing: BillingRule = BillingRule.SUM

    def __post_init__(self) -> None:
        if not (self.longest_age > 0 and 0 < self.period < inf and self.half_life > 0):
            raise InputError("PriorityWeights.longest_age, period and half_life must be above 0 s.")
        weights = (self.age, self.fairshare, self.size, self.partition, self.qos, self.devices)
        if not all(0 <= each < inf for each in weights) or not 0 < self.damping < inf:
            raise InputError(
                f"PriorityWeights must be finite and at least 0, and damping above 0, got {weights}"
                f" and {self.damping}."
            )

    @property
    def any(self) -> bool:
        """Whether priorities differ at all."""
        return any((self.age, self.fairshare, self.size, self.partition, self.qos, self.devices))


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillRules:
    """Slurm's backfill: every job gets a planned slot in the order of priority.

    Attributes:
        interval: seconds from one cycle to the next.
        window: seconds; a job that is planned to start later has no slot.
        resolution: seconds to which slots are rounded outwards.
        depth: jobs that are looked at in a cycle.
        reserves: jobs of each partition that may have a future slot; 0 for all, 1 for EASY.
        per_user: jobs of a user that are looked at in a cycle; 0 for all.
    """

    interval: float = 30.0
    window: float = DAY
    resolution: float = 60.0
    depth: int = 500
    reserves: int = 0
    per_user: int = 0

    def __post_init__(self) -> None:
        if not (0 < self.interval < inf and self.window > 0 and 0 < self.resolution < inf):
            raise InputError("BackfillRules.interval, window and resolution must be above 0 s.")
        for name, least in (("depth", 1), ("reserves", 0), ("per_user", 0)):
            if (found := getattr(self, name)) < least:
                raise InputError(f"BackfillRules.{name} must be at least {least}, got {found}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class PreemptRules:
    """Who is stopped for whom.

    Attributes:
        by: who may preempt.
        mode: what becomes of who is preempted.
        exempt: seconds that a job runs before it may be preempted.
        youngest_first: whether the last to start is the first to stop.
        reorders: how often the choice is tried again with the decisive job first.
    """

    by: PreemptBy = PreemptBy.NOBODY
    mode: PreemptMode = PreemptMode.REQUEUE
    exempt: float = 0.0
    youngest_first: bool = False
    reorders: int = 1

    def __post_init__(self) -> None:
        if not (self.exempt >= 0 and 0 <= self.reorders <= MOST_REORDERS):
            raise InputError(
                f"PreemptRules.exempt must be at least 0 s and reorders from 0 to {MOST_REORDERS}."
            )

    def mode_of(self, qos: Qos) -> PreemptMode:
        """What becomes of a job of a quality of service."""
        return self.mode if qos.mode is None else qos.mode

    def exempt_of(self, qos: Qos) -> float:
        """For how many seconds a job of a quality of service is not preempted."""
        return self.exempt if qos.exempt is None else qos.exempt


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """Nodes that are kept free for a while, as for maintenance.

    Attributes:
        start: seconds since the trace began.
        end: seconds since the trace began; a job may end at the start, or start at the end.
        nodes: kept free; empty for all.
    """

    start: float
    end: float
    nodes: tuple[NodeRange, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise InputError(f"Closed must end after it starts, got {self.start} and {self.end}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteRules:
    """The rules of a site, with Slurm's defaults.

    Attributes:
        partitions: of the cluster; empty for one of all nodes. The first is that of jobs whose
            group is none.
        qualities: of service; empty for one without priority.
        associations: accounts and users; those of jobs that are not named have one share each.
        priority: what jobs are sorted by.
        depth: jobs beside the first that are looked at when something has happened.
        backfill: how jobs pass; None where nobody passes (sched/builtin).
        preempt: who is stopped for whom.
        closed: when nodes are kept free.
        limits: of users, accounts, qualities and arrays, and of licences.
        switches: between the nodes; empty for a site without a topology.
        switch_wait: seconds for which a job may wait for few leaf switches, at most.
        across: share of its pace that a job keeps whose nodes are under several leaf switches.
        not_kept: in words, rules of the site that are not kept here.
        queues: with quotas, of Kueue, Volcano and KAI.
        cohorts: of Kueue's queues; those that are only named have no quota and no parent.
        fair_sharing: whether Kueue's queues borrow by their shares.
    """

    partitions: tuple[Partition, ...] = ()
    qualities: tuple[Qos, ...] = ()
    associations: tuple[Association, ...] = ()
    priority: PriorityWeights = PriorityWeights()
    depth: int = 100
    backfill: BackfillRules | None = BackfillRules()
    preempt: PreemptRules = PreemptRules()
    closed: tuple[Closed, ...] = ()
    limits: tuple[PartyLimit, ...] = ()
    switches: tuple[Switch, ...] = ()
    switch_wait: float = 300.0
    across: float = 1.0
    not_kept: tuple[str, ...] = ()
    queues: tuple[QuotaQueue, ...] = ()
    cohorts: tuple[QuotaCohort, ...] = ()
    fair_sharing: bool = False

    def __post_init__(self) -> None:
        for wrong in self._problems():
            raise InputError(wrong)

    @property
    def suspends(self) -> bool:
        """Whether a job may be suspended."""
        modes = {self.preempt.mode, *(each.mode for each in self.qualities)}
        return self.preempt.by is not PreemptBy.NOBODY and PreemptMode.SUSPEND in modes

    def _problems(self) -> Iterator[str]:
        qualities = [each.name for each in self.qualities]
        for what, names in (
            ("partitions", [each.name for each in self.partitions]),
            ("qualities", qualities),
            ("queues", [each.name for each in self.queues]),
            ("cohorts", [each.name for each in self.cohorts]),
            ("switches", [each.name for each in self.switches]),
        ):
            if len({*names}) < len(names):
                yield f"Site.{what} names one twice: {', '.join(names)}."
        for each in self.qualities:
            for other in each.preempts:
                if other not in qualities:
                    yield (
                        f"Qos.preempts of {each.name} names {other}, which is none."
                        f" Known: {', '.join(qualities)}."
                    )
        if not 0 < self.across <= 1:
            yield f"Site.across must be above 0 and at most 1, got {self.across}."
        yield from switch_problems(self.switches)
        yield from _of_tree(self.associations)
        yield from quota_problems(self.queues, self.cohorts)


def _of_tree(associations: Sequence[Association]) -> Iterator[str]:
    """What is wrong with a tree of shares, in words."""
    above = {each.name: each.parent for each in associations if not each.is_user}
    for one in associations:
        if one.parent and one.parent not in above:
            yield (
                f"Association.parent of {one.name} is {one.parent}, which is no account."
                f" Known: {', '.join(sorted(above)) or 'none'}."
            )
    for name in above:
        path = [name]
        while above.get(path[-1]) and len(path) <= len(above):
            path.append(above[path[-1]])
        if len(path) > len(above):
            yield f"Association.parent of {name} leads back to itself."


def node_set(ranges: Sequence[NodeRange], count: int) -> int:
    """The set of nodes in some ranges, as a whole number of which their bits are 1.

    Args:
        ranges: of nodes; empty for all.
        count: of all nodes.
    """
    if not ranges:
        return (1 << count) - 1
    nodes = 0
    for first, last in ranges:
        nodes |= ((1 << (last - first + 1)) - 1) << first
    return nodes & ((1 << count) - 1)
