"""Kueue: queues with quotas that lend to each other, and take back what they have lent.

In a cycle the first job of every queue is looked at; those that fit are let in one after the other,
who does not borrow first. Cycles follow each other until nobody is let in. Only quota decides, and
then whether the devices can be had.

Source: kueue, pkg/scheduler and pkg/cache/scheduler; re-implemented from the rules.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import NamedTuple

from foretrain.cluster.mixed import Fleet
from foretrain.errors import InputError
from foretrain.jobs.active import Active
from foretrain.jobs.simulation import Simulation
from foretrain.measured.job import Job
from foretrain.measured.quota import QuotaQueue

THOUSAND = 1000.0
"""A share of 1000 is all that a cohort lends. Source: kueue, its status."""


class QuotaTree:
    """What queues are promised, lend and use."""

    def __init__(self, queues: Sequence[QuotaQueue]) -> None:
        """Nobody uses anything."""
        self.queues: Mapping[str, QuotaQueue] = {each.name: each for each in queues}
        self.usage = dict.fromkeys(self.queues, 0.0)

    def available(self, name: str) -> float:
        """Devices that a queue could still use.

        Args:
            name: of the queue.

        What it lends to nobody is its own; of the rest as much as its cohort has, and as it may
        borrow.
        """
        queue, used = self.queues[name], self.usage[name]
        own = self._own(queue)
        beyond = queue.devices - own - max(0.0, used - own) + queue.borrows
        return max(0.0, own - used) + min(self._of_cohort(queue), beyond)

    def borrows(self, name: str, devices: float) -> bool:
        """Whether a queue would use more than it is promised with some devices more.

        Args:
            name: of the queue.
            devices: more.
        """
        return self.usage[name] + devices > self.queues[name].devices

    def share(self, name: str, devices: float = 0.0) -> float:
        """The share of a queue with some devices more.

        Args:
            name: of the queue.
            devices: more.

        Returns:
            1000 times what it borrows over what its cohort lends, over its weight.
        """
        queue = self.queues[name]
        borrowed = max(0.0, self.usage[name] + devices - queue.devices)
        lent = sum(each.devices - self._own(each) for each in self._cohort(queue))
        if not borrowed:
            return 0.0
        return THOUSAND * borrowed / lent / queue.weight if queue.weight and lent else inf

    def _own(self, queue: QuotaQueue) -> float:
        """What it lends to nobody; everything where it has no cohort."""
        return max(0.0, queue.devices - queue.lends) if queue.cohort else queue.devices

    def _cohort(self, queue: QuotaQueue) -> Iterator[QuotaQueue]:
        return (each for each in self.queues.values() if each.cohort == queue.cohort)

    def _of_cohort(self, queue: QuotaQueue) -> float:
        """What nobody of a cohort uses of all that they lend."""
        if not queue.cohort:
            return 0.0
        left = 0.0
        for each in self._cohort(queue):
            own = self._own(each)
            left += each.devices - own - max(0.0, self.usage[each.name] - own)
        return left


class QueuedJob(NamedTuple):
    """A job in a queue; the highest priority first, then who came first."""

    urgency: float
    arrival: float
    rank: int
    active: Active


class KueueDispatcher:
    """Lets jobs in as Kueue does.

    A job belongs to the queue that its group names. Who is stopped starts again from its beginning,
    in the place that its arrival gives it.
    """

    def __init__(self, queues: Sequence[QuotaQueue], fleet: Fleet, *, fair: bool = False) -> None:
        """Nobody waits or runs.

        Args:
            queues: with their quotas; none for one with all devices.
            fleet: that they share.
            fair: whether shares decide who borrows (fair sharing).
        """
        named = queues or (QuotaQueue(name="", devices=float(fleet.devices)),)
        self.tree = QuotaTree(named)
        self._fair = fair
        self._lines: dict[str, list[QueuedJob]] = {each.name: [] for each in named}
        self._aside: set[int] = set()
        self._running: dict[int, Active] = {}
        self._free = 0.0

    def arrive(self, active: Active, simulation: Simulation) -> None:
        """A job has come, or comes again after a failure."""
        insort(self._lines[self._queue(active.job)], self._entry(active))

    def leave(self, active: Active, simulation: Simulation) -> None:
        """A job has ended: those that were set aside may fit."""
        self._gone(active)

    def decide(self, simulation: Simulation) -> None:
        """Cycles, until nobody is let in."""
        if simulation.pool.free(()) > self._free:
            self._aside.clear()  # a node may be back
        blocked: set[str] = set()
        while heads := dict(self._heads(blocked)):
            order = sorted(heads, key=lambda name: self._turn(name, heads[name]))
            let_in = [name for name in order if self._let_in(name, heads[name], simulation)]
            for name in order:
                if name in let_in:
                    continue
                if self.tree.queues[name].strict:
                    blocked.add(name)
                else:
                    self._aside.add(heads[name].rank)
        self._free = simulation.pool.free(())

    def _queue(self, job: Job) -> str:
        if len(self._lines) == 1 and "" in self._lines:
            return ""
        if job.group not in self._lines:
            raise InputError(
                f"job {job.name} was submitted to queue '{job.group}', which the site has not."
                f" Known: {', '.join(self._lines)}. Add it to site.queues."
            )
        return job.group

    def _entry(self, active: Active) -> QueuedJob:
        return QueuedJob(-active.job.priority, active.job.arrival, active.rank, active)

    def _heads(self, blocked: set[str]) -> Iterator[tuple[str, QueuedJob]]:
        for name, line in self._lines.items():
            if name not in blocked:
                found = next((each for each in line if each.rank not in self._aside), None)
                if found is not None:
                    yield name, found

    def _turn(self, name: str, head: QueuedJob) -> tuple[float, float, float, int]:
        devices = head.active.job.devices
        borrows = float(self.tree.borrows(name, devices))
        first = self.tree.share(name, devices) if self._fair else borrows
        return (first, *head[:3])

    def _let_in(self, name: str, head: QueuedJob, simulation: Simulation) -> bool:
        """Start a job if its queue has quota, if need be in place of others."""
        devices = head.active.job.devices
        victims: Sequence[Active] = ()
        if devices > self.tree.available(name):
            victims = self._victims(name, head)
            if not victims:
                return False
        for victim in victims:
            simulation.stop(victim, done=0.0)
            self._gone(victim)
            insort(self._lines[self._queue(victim.job)], self._entry(victim))
        if not simulation.start(head.active, devices, head.active.job.kinds):
            return False
        self._lines[name].remove(head)
        self._running[head.rank] = head.active
        self.tree.usage[name] += devices
        return True

    def _gone(self, active: Active) -> None:
        del self._running[active.rank]
        self.tree.usage[self._queue(active.job)] -= active.job.devices
        self._aside.clear()

    def _victims(self, name: str, head: QueuedJob) -> Sequence[Active]:
        """Who is stopped for a job; nobody where that is not allowed or no use."""
        queue, devices = self.tree.queues[name], head.active.job.devices
        if self._fair:
            return self._by_share(name, devices) if queue.reclaims else ()
        candidates = [
            each
            for each in self._running.values()
            if each.job.preemptible and self._may_stop(name, head, each)
        ]
        # Other queues first, lower priority, then who was let in last.
        candidates.sort(key=lambda each: self._order(name, each))
        before = dict(self.tree.usage)
        gone: list[Active] = []
        for each in candidates:
            theirs = self._queue(each.job)
            if theirs != name and not self.tree.borrows(theirs, 0.0):
                continue
            self.tree.usage[theirs] -= each.job.devices
            gone.append(each)
            if devices <= self.tree.available(name):
                break
        else:
            gone = []
        # Whoever is not needed goes on, from the last but one to the first.
        for each in gone[-2::-1]:
            theirs = self._queue(each.job)
            self.tree.usage[theirs] += each.job.devices
            if devices <= self.tree.available(name):
                gone.remove(each)
            else:
                self.tree.usage[theirs] -= each.job.devices
        self.tree.usage.update(before)
        return gone

    def _may_stop(self, name: str, head: QueuedJob, victim: Active) -> bool:
        """Whether a job may be stopped for the first of a queue."""
        queue, theirs = self.tree.queues[name], self._queue(victim.job)
        if theirs == name:
            return queue.preempts and victim.job.priority < head.active.job.priority
        mine = not self.tree.borrows(name, head.active.job.devices)
        together = queue.cohort and self.tree.queues[theirs].cohort == queue.cohort
        return bool(queue.reclaims and mine and together)

    def _order(self, name: str, victim: Active) -> tuple[bool, float, float, int]:
        own = self._queue(victim.job) == name
        return (own, victim.job.priority, -victim.charged, -victim.rank)

    def _by_share(self, name: str, devices: float) -> Sequence[Active]:
        """Victims of the queue with the highest share, as long as that is fair.

        First those without whom their queue's share is still not below the other's; then those with
        whom it is above.
        """
        tree, before = self.tree, dict(self.tree.usage)
        mine, gone = tree.share(name, devices), list[Active]()
        for without in (True, False):
            while devices > tree.available(name):
                victim = self._of_highest_share(name, gone)
                if victim is None:
                    break
                theirs = self._queue(victim.job)
                then = tree.share(theirs, -victim.job.devices if without else 0.0)
                if not (mine <= then if without else mine < then):
                    break
                tree.usage[theirs] -= victim.job.devices
                gone.append(victim)
        fits = devices <= tree.available(name)
        tree.usage.update(before)
        return gone if fits else ()

    def _of_highest_share(self, name: str, gone: Sequence[Active]) -> Active | None:
        cohort = self.tree.queues[name].cohort
        left = [
            each
            for each in self._running.values()
            if each not in gone and each.job.preemptible and self._queue(each.job) != name
            and self.tree.queues[self._queue(each.job)].cohort == cohort
        ]  # fmt: skip
        return min(
            left,
            key=lambda each: (-self.tree.share(self._queue(each.job)), *self._order(name, each)),
            default=None,
        )
