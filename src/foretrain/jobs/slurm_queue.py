"""The order of Slurm's queue: tier, priority, submission; and what each job may use.

Priorities are worked out when a job comes and again every period, as they were at its beginning.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Mapping, Sequence
from math import ceil, floor, inf

from foretrain.cluster.mixed import Fleet
from foretrain.errors import InputError
from foretrain.jobs.active import Active
from foretrain.jobs.fair_tree import (
    Key,
    PriorityFactors,
    Usage,
    UsageTree,
    billing,
    priority,
    size_factor,
)
from foretrain.jobs.nodes import NodePool
from foretrain.measured.job import Job
from foretrain.measured.site import Partition, Qos, SiteRules, node_set

YEAR = 365 * 86_400.0
"""Seconds that a job without any limit is planned for. Source: slurm, backfill.c."""

GPU, NODE = "gres/gpu", "node"
"""What a job holds, as Slurm calls it."""

Order = tuple[int, int, float, int]
"""Minus tier, minus priority, submission and rank: what jobs are sorted by."""


class Pending:
    """A job in the queue of a site.

    Attributes:
        active: the job.
        partition: that it was submitted to.
        qos: its quality of service.
        user: under whose share it runs.
        nodes: the set that it may use.
        limit: seconds for which it is planned.
        submitted: when it came, or was requeued.
        order: its place in the queue.
        fixed: what its priority is made of beside age and share: it never changes.
    """

    __slots__ = (
        "active", "fixed", "limit", "nodes", "order", "partition", "qos", "submitted", "user",
    )  # fmt: skip

    def __init__(self, active: Active, rules: Rulebook, *, submitted: float) -> None:
        job = active.job
        self.active = active
        self.partition = rules.partition(job)
        self.qos = rules.qos(job)
        self.user = rules.user(job)
        self.nodes = rules.nodes[self.partition.name]
        self.limit = limit_of(job, self.partition)
        self.submitted = submitted
        self.order: Order = (0, 0, 0.0, 0)
        self.fixed = rules.fixed(self)


def limit_of(job: Job, partition: Partition) -> float:
    """Seconds for which a job is planned: what it asks for, at most what the partition allows.

    Args:
        job: that may ask for some by its estimate.
        partition: that may have a default.
    """
    asked = partition.default if job.estimate is None else job.estimate
    allowed = partition.longest if asked is None else min(asked, partition.longest)
    return min(allowed, YEAR)


class Rulebook:
    """What a site's rules say of a job, looked up by name.

    Attributes:
        site: the rules.
        nodes: the set of nodes of each partition.
        count: of all nodes.
        usage: what users have used.
    """

    def __init__(self, site: SiteRules, fleet: Fleet) -> None:
        self.site = site
        self.count = sum(each.count for each in fleet.nodes)
        self._fleet = fleet
        self._partitions = {each.name: each for each in site.partitions or (Partition(name=""),)}
        self._first = next(iter(self._partitions.values()))
        self._qualities = {each.name: each for each in site.qualities}
        self.nodes = {
            each.name: node_set(each.nodes, self.count) for each in self._partitions.values()
        }
        self.usage = Usage(UsageTree(site.associations), site.priority)
        self._fairshare: Mapping[Key, float] = {}
        self._epoch = -1
        self._most_qos = max((each.priority for each in site.qualities), default=0.0)
        self._most_partition = max(each.factor for each in self._partitions.values())
        self._sizes = self._node_sizes()

    def partition(self, job: Job) -> Partition:
        """Where a job was submitted.

        Raises:
            InputError: to a partition that the site has not.
        """
        if not job.group or not self.site.partitions:
            return self._first
        if job.group not in self._partitions:
            known = ", ".join(self._partitions)
            raise InputError(
                f"job {job.name} was submitted to partition '{job.group}', which the site has not."
                f" Known: {known}. Add it to site.partitions."
            )
        return self._partitions[job.group]

    def qos(self, job: Job) -> Qos:
        """Its quality of service.

        Raises:
            InputError: one that the site has not.
        """
        if job.qos not in self._qualities:
            if job.qos and self._qualities:
                raise InputError(
                    f"job {job.name} has the quality of service '{job.qos}', which the site has"
                    f" not. Known: {', '.join(self._qualities)}. Add it to site.qos."
                )
            return Qos(name=job.qos)
        return self._qualities[job.qos]

    def user(self, job: Job) -> Key:
        """Under whose share it runs."""
        return self.usage.tree.add(job.account, job.user)

    def billing(self, pending: Pending) -> float:
        """Units that count as used while it runs."""
        job, partition = pending.active.job, pending.partition
        held = {GPU: float(job.devices), NODE: self._size(pending, job.devices)[0] * self.count}
        weights = {GPU: partition.device_weight, NODE: partition.node_weight}
        return billing(held, weights, self.site.priority.billing) * pending.qos.usage_factor

    def place(self, pending: Pending, now: float) -> Order:
        """Where a job stands in the queue.

        Args:
            pending: the job.
            now: seconds since the trace began.
        """
        weights, tier = self.site.priority, -pending.partition.tier
        if not weights.any:
            return (tier, -1, pending.submitted, pending.active.rank)
        looked = max(pending.submitted, floor(now / weights.period) * weights.period)
        factors = pending.fixed._replace(
            age=min(1.0, (looked - pending.submitted) / weights.longest_age),
            fairshare=self._share(pending.user, now) if weights.fairshare else 0.0,
        )
        found = priority(factors, weights, nice=pending.active.job.nice)
        return (tier, -found, pending.submitted, pending.active.rank)

    def fixed(self, pending: Pending) -> PriorityFactors:
        """The factors of a job that stay as they are while it waits."""
        nodes, devices, mine = self._size(pending, pending.active.job.devices)
        return PriorityFactors(
            size=size_factor(nodes, devices, small_first=self.site.priority.small_first),
            partition=pending.partition.factor / (self._most_partition or 1.0),
            qos=pending.qos.priority / self._most_qos if self._most_qos else 0.0,
            devices=mine,
        )

    def _share(self, user: Key, now: float) -> float:
        epoch = floor(now / self.site.priority.period)
        if epoch != self._epoch or user not in self._fairshare:
            self.usage.advance(now)
            self._fairshare, self._epoch = self.usage.factors(), epoch
        return self._fairshare[user]

    def _node_sizes(self) -> Mapping[str, tuple[int, int]]:
        """Devices of a node and of all nodes of each partition."""
        found = {}
        for name, nodes in self.nodes.items():
            first = total = 0
            for group in self._fleet.nodes:
                mine = nodes >> first & ((1 << group.count) - 1)
                total += mine.bit_count() * group.devices
                first += group.count
            found[name] = (max(group.devices for group in self._fleet.nodes), total)
        return found

    def _size(self, pending: Pending, devices: int) -> tuple[float, float, float]:
        """Nodes and devices over those of the cluster, and devices over those of the partition."""
        per_node, mine = self._sizes[pending.partition.name]
        whole = self._fleet.devices
        return ceil(devices / per_node) / self.count, devices / whole, devices / (mine or whole)


Need = tuple[int, tuple[str, ...], int]
"""Devices, kinds and nodes that a job may use."""


class Queue:
    """Pending jobs in their order.

    Attributes:
        needs: how many pending jobs need what.

    The order is worked out when it is asked for, as it was when the jobs came: whoever waits alone,
    or for devices that nobody has, needs no priority.
    """

    def __init__(self, rules: Rulebook) -> None:
        self.needs: Counter[Need] = Counter()
        self._rules = rules
        self._line: list[tuple[Order, Pending]] = []
        self._new: dict[int, Pending] = {}
        self._epoch = 0

    def __len__(self) -> int:
        """How many wait."""
        return len(self._line) + len(self._new)

    def add(self, pending: Pending) -> None:
        """A job waits.

        Args:
            pending: the job.
        """
        self._new[pending.active.rank] = pending
        self.needs[need_of(pending)] += 1

    def remove(self, pending: Pending) -> None:
        """It waits no longer."""
        need = need_of(pending)
        self.needs[need] -= 1
        if not self.needs[need]:
            del self.needs[need]
        if self._new.pop(pending.active.rank, None) is None:
            del self._line[bisect_left(self._line, (pending.order,))]

    def fits(self, pool: NodePool) -> bool:
        """Whether anybody finds room now: else nobody can start, whatever the order."""
        return any(pool.has(count, kinds, among=nodes) for count, kinds, nodes in self.needs)

    def roomy(self, pool: NodePool) -> frozenset[Need]:
        """What of that which pending jobs need is there now."""
        return frozenset(need for need in self.needs if pool.has(need[0], need[1], among=need[2]))

    def first(self, now: float, count: float = inf) -> Sequence[Pending]:
        """The first jobs, by their priorities of the present period.

        Args:
            now: seconds since the trace began.
            count: how many at most.
        """
        weights = self._rules.site.priority
        epoch = floor(now / weights.period)
        if len(self) == 1 and self._new:
            return list(self._new.values())
        if weights.any and epoch != self._epoch:
            for _, pending in self._line:
                pending.order = self._rules.place(pending, now)
            self._line = sorted((pending.order, pending) for _, pending in self._line)
        self._epoch = epoch
        for pending in self._new.values():
            pending.order = self._rules.place(pending, now)
            insort(self._line, (pending.order, pending))
        self._new.clear()
        most = len(self._line) if count == inf else int(count)
        return [pending for _, pending in self._line[:most]]


def need_of(pending: Pending) -> Need:
    """What a job must find to start."""
    job = pending.active.job
    return job.devices, job.kinds, pending.nodes
