"""Quotas: what queues and cohorts are promised, lend and use, and who is stopped for others.

A queue uses what is its own first; what it uses beyond that is its cohort's, and so on up the tree.
Who is stopped is told here and not yet stopped.

Source: kueue, pkg/cache/scheduler (resource_node.go, fair_sharing.go) and pkg/scheduler/preemption;
re-implemented from the rules.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import NamedTuple

from foretrain.jobs.active import Active
from foretrain.measured.job import Job
from foretrain.measured.limit import FlavorQuota, QuotaCohort, QuotaQueue, flavors_of

THOUSAND = 1000.0
"""A share of 1000 is all that a cohort lends. Source: kueue, its status."""
NO_QUOTA = FlavorQuota()


class QuotaNode:
    """A queue or a cohort in the tree of those that lend to each other.

    Attributes:
        name: of it.
        quota: what it is promised itself, by flavor.
        weight: among its siblings.
        parent: the cohort that it is in; None for none.
        children: who is in it.
        whole: devices of it and of all that those in it lend, by flavor.
        usage: of these, what is used here or by who is in it, by flavor.
    """

    def __init__(self, name: str, quota: Sequence[FlavorQuota], weight: float) -> None:
        """Nobody is in it, and it is in nobody."""
        self.name = name
        self.quota = {each.name: each for each in quota}
        self.weight = weight
        self.parent: QuotaNode | None = None
        self.children: list[QuotaNode] = []
        self.whole = defaultdict[str, float](float)
        self.usage = defaultdict[str, float](float)

    def path(self) -> Iterator[QuotaNode]:
        """It and all above it, to the root."""
        node: QuotaNode | None = self
        while node is not None:
            yield node
            node = node.parent

    def local(self, flavor: str) -> float:
        """What it lends to nobody; everything where it is in no cohort."""
        lends = self.quota.get(flavor, NO_QUOTA).lends
        return max(0.0, self.whole[flavor] - lends) if self.parent else self.whole[flavor]

    def use(self, flavor: str, devices: float) -> None:
        """Use some devices, or give them back; what is beyond the local ones counts above too."""
        local = self.local(flavor)
        before = max(0.0, self.usage[flavor] - local)
        self.usage[flavor] += devices
        after = max(0.0, self.usage[flavor] - local)
        if self.parent is not None and after != before:
            self.parent.use(flavor, after - before)

    def available(self, flavor: str) -> float:
        """Devices of a flavor that could still be used; below 0 where too many are.

        What it lends to nobody is its own; of the rest as much as is available above, and as it may
        borrow.
        """
        whole, used = self.whole[flavor], self.usage[flavor]
        if self.parent is None:
            return whole - used
        local = self.local(flavor)
        beyond = whole - local - max(0.0, used - local) + self._borrows(flavor)
        return max(0.0, local - used) + min(self.parent.available(flavor), beyond)

    def most(self, flavor: str) -> float:
        """Devices of a flavor that it could use if nobody else used any."""
        if self.parent is None:
            return self.whole[flavor]
        most = self.local(flavor) + self.parent.most(flavor)
        return min(most, self.whole[flavor] + self._borrows(flavor))

    def borrows(self, flavor: str, devices: float = 0.0) -> bool:
        """Whether more than what is its own would be used with some devices more."""
        return self.usage[flavor] + devices > self.whole[flavor]

    def height(self, flavor: str, devices: float) -> int:
        """How far up one must go until some devices more are within what is promised there."""
        height, node = 0, self
        while node.parent is not None and node.borrows(flavor, devices):
            # What it has left for itself is not asked of those above.
            devices -= max(0.0, node.local(flavor) - node.usage[flavor])
            height, node = height + 1, node.parent
        return height

    def share(self) -> float:
        """1000 times what it borrows over what its cohort could give it, over its weight."""
        borrowed = sum(max(0.0, used - self.whole[name]) for name, used in self.usage.items())
        if self.parent is None or not borrowed:
            return 0.0
        lent = sum(self.parent.most(flavor) for flavor in self.parent.whole)
        return THOUSAND * borrowed / lent / self.weight if self.weight and lent else inf

    def _borrows(self, flavor: str) -> float:
        return self.quota.get(flavor, NO_QUOTA).borrows


class QuotaTree:
    """What queues and cohorts are promised, lend and use.

    Attributes:
        queues: by name.
    """

    def __init__(self, queues: Sequence[QuotaQueue], cohorts: Sequence[QuotaCohort] = ()) -> None:
        """Nobody uses anything."""
        self.queues: dict[str, QuotaNode] = {}
        above = {each.name: QuotaNode(each.name, flavors_of(each), each.weight) for each in cohorts}
        homes = [(above[each.name], each.parent) for each in cohorts]
        for each in queues:
            self.queues[each.name] = QuotaNode(each.name, flavors_of(each), each.weight)
            homes.append((self.queues[each.name], each.cohort))
        for node, parent in homes:
            if parent:
                node.parent = above.setdefault(parent, QuotaNode(parent, (), 1.0))
                node.parent.children.append(node)
        for root in (*above.values(), *self.queues.values()):
            if root.parent is None:
                _add_up(root)

    def available(self, name: str, flavor: str = "") -> float:
        """Devices of a flavor that a queue could still use."""
        return self.queues[name].available(flavor)


def _add_up(node: QuotaNode) -> None:
    """What is promised to those in a node, and to it."""
    for child in node.children:
        _add_up(child)
    for each in node.quota.values():
        node.whole[each.name] += each.devices
    for child in node.children:
        for flavor in child.whole:
            node.whole[flavor] += child.whole[flavor] - child.local(flavor)


def urgency(job: Job) -> float:
    """By which jobs of a queue are sorted, the most urgent first."""
    return job.nice - job.priority


class QuotaUse(NamedTuple):
    """What a running job uses of its queue."""

    active: Active
    node: QuotaNode
    flavor: str

    def use(self, sign: int = 1) -> None:
        """Its devices are used, or with -1 given back."""
        self.node.use(self.flavor, sign * self.active.job.devices)


Lines = defaultdict[QuotaNode, list[QuotaUse]]
"""Jobs of each queue that may be stopped, the first to be so first."""


class QuotaBooks:
    """Who runs, on whose quota, and who of them is stopped for another job."""

    def __init__(
        self, tree: QuotaTree, queues: Mapping[str, QuotaQueue], *, fair: bool = False
    ) -> None:
        """Nobody runs.

        Args:
            tree: of the queues.
            queues: with their rules.
            fair: whether shares decide (fair sharing).
        """
        self._tree = tree
        self._queues = queues
        self._fair = fair
        self._running: dict[int, QuotaUse] = {}

    def __len__(self) -> int:
        """How many run."""
        return len(self._running)

    def run(self, active: Active, queue: str, flavor: str) -> None:
        """A job runs on the quota of a queue."""
        self._running[active.rank] = QuotaUse(active, self._tree.queues[queue], flavor)
        self._running[active.rank].use()

    def gone(self, active: Active) -> None:
        """A job runs no more."""
        self._running.pop(active.rank).use(-1)

    def without(self, victims: Sequence[Active], fits: Callable[[], bool]) -> bool:
        """What a question answers once some jobs run no more."""
        gone = [self._running[each.rank] for each in victims]
        for each in gone:
            each.use(-1)
        found = fits()
        _restored(gone)
        return found

    def for_job(self, active: Active, queue: str, flavor: str) -> Sequence[Active]:
        """Who is stopped for a job, so that it may use a flavor of its queue; else nobody.

        Args:
            active: the job, which waits.
            queue: of it.
            flavor: of the devices.
        """
        mine, rules = self._tree.queues[queue], self._queues[queue]
        search = VictimSearch(mine, rules, self._running.values(), active=active, flavor=flavor)
        found = search.by_share() if self._fair else search.by_priority()
        return [each.active for each in found]


def _restored(gone: Sequence[QuotaUse]) -> Sequence[QuotaUse]:
    for each in gone:
        each.use()
    return ()


class VictimSearch:
    """The search for those who are stopped for one job; it leaves the tree as it was."""

    def __init__(
        self,
        mine: QuotaNode,
        rules: QuotaQueue,
        running: Iterable[QuotaUse],
        *,
        active: Active,
        flavor: str,
    ) -> None:
        self._mine, self._rules, self._active, self._flavor = mine, rules, active, flavor
        self._path = [*mine.path()]
        alike = [each for each in running if each.flavor == flavor and each.active.job.preemptible]
        self._candidates = sorted(filter(self._may_stop, alike), key=self._order)

    def by_priority(self) -> Sequence[QuotaUse]:
        """Other queues first, then lower priority, then who was let in last, until the job fits.

        Where the queue may not borrow by stopping others, it tries to have what it is promised.
        """
        others = [each for each in self._candidates if each.node is not self._mine]
        entitled = any(self._entitled(each) for each in others)
        below = self._mine.usage[self._flavor] < self._mine.quota[self._flavor].devices
        forbidden = not self._rules.stops_to_borrow
        tries = (False, True) if forbidden and not entitled else (True, False)
        for borrowing in (True,) if not others or (forbidden and not below) else tries:
            valid = [each for each in self._candidates if self._valid(each, borrowing=borrowing)]
            if found := self._fewest(valid, borrowing=borrowing):
                return found
        return ()

    def by_share(self) -> Sequence[QuotaUse]:
        """Of the queue with the highest share, as long as that is fair.

        First those without whom its share is still not below the job's queue's with the job; then
        one of each queue whose share is above that.
        """
        devices, gone = self._active.job.devices, list[QuotaUse]()
        lines, later = Lines(list), Lines(list)
        for each in self._candidates:
            lines[each.node].append(each)
        self._mine.use(self._flavor, devices)
        while not (fits := self._fits_with()) and (node := self._of_highest_share(lines)):
            while lines[node]:
                each = lines[node].pop(0)
                each.use(-1)
                mine, theirs = (below.share() for below in self._meeting(node))
                own = node is self._mine or not self._mine.borrows(self._flavor)
                if own or mine <= theirs:
                    gone.append(each)
                    break
                each.use()
                later[node].append(each)
        while not fits and (node := self._of_highest_share(later)):
            mine, theirs = (below.share() for below in self._meeting(node))
            if mine < theirs:
                gone.append(later[node][0])
                later[node][0].use(-1)
                fits = self._fits_with()
            later[node] = []
        self._mine.use(self._flavor, -devices)
        return self._spared(gone, borrowing=True) if fits else _restored(gone)

    def _may_stop(self, holding: QuotaUse) -> bool:
        """Whether the rules of its queue let the job stop another at all."""
        rules, mine = self._rules, urgency(self._active.job)
        theirs = urgency(holding.active.job)
        if holding.node is self._mine:
            newer = rules.newer_too and holding.active.job.arrival > self._active.job.arrival
            return rules.preempts and (theirs > mine or (newer and theirs == mine))
        together = self._path[-1] in holding.node.path()
        return bool(together and rules.reclaims and (theirs > mine or not rules.lower_only))

    def _order(self, holding: QuotaUse) -> tuple[bool, bool, float, float, int]:
        active, own = holding.active, holding.node is self._mine
        away = own or not self._entitled(holding)
        return (own, away, -urgency(active.job), -active.charged, -active.rank)

    def _meeting(self, node: QuotaNode) -> tuple[QuotaNode, QuotaNode]:
        """Where the paths of the job's and another queue meet: the last of each below that."""
        mine, theirs = [*self._path], [*node.path()]
        while mine[-1] is theirs[-1] and len(mine) > 1 and len(theirs) > 1:
            mine.pop()
            theirs.pop()
        return mine[-1], theirs[-1]

    def _entitled(self, holding: QuotaUse) -> bool:
        """Whether the job is within what is promised below where its path meets another's."""
        devices = float(self._active.job.devices)
        last, _ = self._meeting(holding.node)
        for node in self._path:
            if not node.borrows(self._flavor, devices):
                return True
            devices -= max(0.0, node.local(self._flavor) - node.usage[self._flavor])
            if node is last:
                return False
        return False

    def _valid(self, holding: QuotaUse, *, borrowing: bool) -> bool:
        """Whether another may be stopped where the job does or does not borrow."""
        if holding.node is self._mine or self._entitled(holding) or not borrowing:
            return True
        rules, job = self._rules, holding.active.job
        lower = urgency(job) > urgency(self._active.job) and -urgency(job) <= rules.stops_up_to
        return rules.stops_to_borrow and lower

    def _fewest(self, candidates: Sequence[QuotaUse], *, borrowing: bool) -> Sequence[QuotaUse]:
        gone: list[QuotaUse] = []
        for each in candidates:
            # Whoever is within what is promised to it is no more to be stopped.
            _, last = self._meeting(each.node)
            path = [*each.node.path()]
            below = path[: path.index(last) + 1] if each.node is not self._mine else []
            if not all(node.borrows(self._flavor) for node in below):
                continue
            each.use(-1)
            gone.append(each)
            if self._fits(borrowing=borrowing):
                return self._spared(gone, borrowing=borrowing)
        return _restored(gone)

    def _spared(self, gone: list[QuotaUse], *, borrowing: bool) -> Sequence[QuotaUse]:
        """Whoever is not needed goes on, from the last but one to the first; all are restored."""
        for each in gone[-2::-1]:
            each.use()
            if self._fits(borrowing=borrowing):
                gone.remove(each)
            else:
                each.use(-1)
        _restored(gone)
        return gone

    def _fits(self, *, borrowing: bool) -> bool:
        devices = self._active.job.devices
        if not borrowing and self._mine.borrows(self._flavor, devices):
            return False
        return devices <= self._mine.available(self._flavor)

    def _fits_with(self) -> bool:
        """Whether the job fits that is in the tree already."""
        self._mine.use(self._flavor, -self._active.job.devices)
        fits = self._fits(borrowing=True)
        self._mine.use(self._flavor, self._active.job.devices)
        return fits

    def _of_highest_share(self, lines: Lines) -> QuotaNode | None:
        """The queue whose job would be stopped next.

        Down the tree to the highest share, past those that do not borrow.
        """
        ahead = [self._path[-1]]
        while ahead:
            node = ahead.pop()
            if node in self._path or node.share() > 0.0:
                if lines.get(node):
                    return node
                ahead += sorted(node.children, key=lambda each: self._rank(each, lines))
        return None

    def _rank(self, node: QuotaNode, lines: Lines) -> tuple[float, bool, tuple[float, ...]]:
        """The last is looked at first: a queue before a cohort, then whose job is stopped first."""
        first = lines.get(node)
        order = tuple(-float(each) for each in self._order(first[0])) if first else ()
        return (node.share(), bool(first), order)
