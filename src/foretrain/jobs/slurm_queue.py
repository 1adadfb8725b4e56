"""The order of Slurm's queue: tier, priority, submission; and what each job may use.

Priorities are worked out when a job comes and again every period, as they were at its beginning.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import ceil, floor, inf

import numpy as np
from numpy.typing import NDArray

from foretrain.cluster.mixed import Fleet
from foretrain.errors import InputError
from foretrain.jobs.active import Active, SwitchWish
from foretrain.jobs.fair_tree import (
    LARGEST,
    Key,
    PriorityFactors,
    Usage,
    UsageTree,
    billing,
    priority,
    size_factor,
    weigh,
)
from foretrain.jobs.limits import Lane, Limits
from foretrain.jobs.nodes import NodePool
from foretrain.measured.job import Job
from foretrain.measured.site import Partition, Qos, SiteRules, node_set

YEAR = 365 * 86_400.0
"""Seconds that a job without any limit is planned for. Source: slurm, backfill.c."""

GPU, NODE = "gres/gpu", "node"
"""What a job holds, as Slurm calls it."""

Order = tuple[int, int, float, int]
"""Minus tier, minus priority, submission and rank: what jobs are sorted by."""


Need = tuple[int, tuple[str, ...], int]
"""Devices, kinds and nodes that a job may use."""


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
        lane: the limits that bind it.
        need: what it must find to start.
        wish: the leaf switches for which it waits; None for any.
    """

    __slots__ = (
        "active", "fixed", "lane", "limit", "need", "nodes", "order", "partition", "qos",
        "submitted", "user", "wish",
    )  # fmt: skip

    def __init__(
        self, active: Active, rules: Rulebook, *, submitted: float, lane: Lane = ()
    ) -> None:
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
        self.lane = lane
        self.need: Need = (job.devices, job.kinds, self.nodes)
        self.wish: SwitchWish | None = None
        if job.switches is not None:
            most, wait = job.switches
            self.wish = SwitchWish(most, submitted + min(wait, rules.site.switch_wait))


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

    def priorities(
        self, table: NDArray[np.void], users: Sequence[Key], now: float
    ) -> NDArray[np.int64]:
        """The priorities of many jobs.

        Args:
            table: a row for each, of `COLUMNS`.
            users: whom the numbers in it mean.
            now: seconds since the trace began.
        """
        weights, submitted = self.site.priority, table["submitted"]
        looked = np.maximum(submitted, floor(now / weights.period) * weights.period)
        shares = [self._share(user, now) if weights.fairshare else 0.0 for user in users]
        age = np.minimum(1.0, (looked - submitted) / weights.longest_age)
        size, partition, qos, devices = (table[name] for name in PriorityFactors._fields[2:])
        factors = (age, np.array(shares)[table["user"]], size, partition, qos, devices)
        total = weigh(factors, weights, nice=table["nice"])
        whole: NDArray[np.int64] = np.minimum(LARGEST, np.maximum(1.0, total)).astype(np.int64)
        return whole

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


ROOM = 64
"""Jobs for which a line begins with room."""

ORDER = (("tier", "i8"), ("priority", "i8"), ("submitted", "f8"), ("rank", "i8"))
"""The columns of an `Order`, tier and priority below 0."""

COLUMNS = np.dtype(
    [*ORDER, ("user", "i8"), ("nice", "f8"), *((name, "f8") for name in PriorityFactors._fields)]
)
"""What the place of a job in the line is made of."""


class RankedJobs:
    """Many pending jobs in their order, all priorities of which are worked out at once."""

    def __init__(self, rules: Rulebook) -> None:
        self._rules = rules
        self._table = np.zeros(ROOM, dtype=COLUMNS)
        self._jobs: list[Pending] = []
        self._rows: dict[int, int] = {}
        self._free: list[int] = []
        self._users: dict[Key, int] = {}
        self._order: list[int] = []

    def __len__(self) -> int:
        """How many stand in it."""
        return len(self._order)

    def add(self, pending: Pending) -> None:
        """A job takes its place, which its order says."""
        if self._free:
            row = self._free.pop()
            self._jobs[row] = pending
        else:
            row = len(self._jobs)
            self._jobs.append(pending)
            if row == len(self._table):
                self._table = np.concatenate([self._table, np.zeros_like(self._table)])
        user = self._users.setdefault(pending.user, len(self._users))
        order, nice = pending.order, pending.active.job.nice
        self._table[row] = (*order, user, nice, *pending.fixed)
        self._rows[order[-1]] = row
        self._order.insert(self._place(order), row)

    def remove(self, pending: Pending) -> None:
        """It leaves."""
        row = self._rows.pop(pending.active.rank)
        del self._order[self._place(self._of(row))]
        self._free.append(row)

    def first(self, count: float) -> list[Pending]:
        """The first jobs."""
        rows = self._order if count >= len(self._order) else self._order[: int(count)]
        return [self._jobs[row] for row in rows]

    def sort(self, now: float) -> None:
        """All jobs by their priorities of the present period."""
        rows = np.array(self._order)
        table = self._table[rows]
        table["priority"] = -self._rules.priorities(table, tuple(self._users), now)
        self._table[rows] = table
        keys = [table[name] for name, _ in reversed(ORDER)]
        self._order = rows[np.lexsort(keys)].tolist()

    def _place(self, order: Order) -> int:
        return bisect_left(self._order, order, key=self._of)

    def _of(self, row: int) -> Order:
        held = self._table[row]
        return (held["tier"], held["priority"], held["submitted"], held["rank"])


class Queue:
    """Pending jobs in their order.

    The order is worked out when it is asked for, as it was when the jobs came: whoever waits alone,
    or for devices that nobody has, needs no priority.
    """

    def __init__(self, rules: Rulebook) -> None:
        self._rules = rules
        self._lanes: defaultdict[Need, Counter[Lane]] = defaultdict(Counter)
        self._line = RankedJobs(rules)
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
        self._lanes[pending.need][pending.lane] += 1

    def remove(self, pending: Pending) -> None:
        """It waits no longer."""
        need = pending.need
        lanes = self._lanes[need]
        lanes[pending.lane] -= 1
        if not lanes[pending.lane]:
            del lanes[pending.lane]
        if not lanes:
            del self._lanes[need]
        if self._new.pop(pending.active.rank, None) is None:
            self._line.remove(pending)

    def fits(self, pool: NodePool, limits: Limits) -> bool:
        """Whether anybody finds room now that a limit lets it have: else nobody can start."""
        return any(
            limits.open(lane, need[0])
            for need, lanes in self._lanes.items()
            if pool.has(need[0], need[1], among=need[2])
            for lane in lanes
        )

    def roomy(self, pool: NodePool) -> frozenset[Need]:
        """What of that which pending jobs need is there now."""
        return frozenset(need for need in self._lanes if pool.has(need[0], need[1], among=need[2]))

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
        if weights.any and epoch != self._epoch and len(self._line):
            self._line.sort(now)
        self._epoch = epoch
        for pending in self._new.values():
            pending.order = self._rules.place(pending, now)
            self._line.add(pending)
        self._new.clear()
        return self._line.first(count)
