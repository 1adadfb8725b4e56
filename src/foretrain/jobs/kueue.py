"""Kueue: queues with quotas that lend to each other, and take back what they have lent.

In a cycle the first job of every queue is looked at; those that fit are let in one after the other,
who does not borrow first. Cycles follow each other until nobody is let in. Only quota decides, and
then whether the devices can be had.

Source: kueue, pkg/scheduler and pkg/cache/scheduler; re-implemented from the rules.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from foretrain.cluster.mixed import Fleet
from foretrain.errors import InputError
from foretrain.jobs.active import Active
from foretrain.jobs.quotas import QuotaBooks, QuotaNode, QuotaTree, urgency
from foretrain.jobs.simulation import Simulation
from foretrain.measured.job import Job
from foretrain.measured.limit import QuotaCohort, QuotaQueue


class QueuedJob(NamedTuple):
    """A job in a queue; the highest priority first, then who came first."""

    urgency: float
    arrival: float
    rank: int
    queue: str
    active: Active


class FlavorFit(IntEnum):
    """How a job fits, the better the larger."""

    NOT = 0
    NOBODY = 1
    """Others would have to stop, and nobody may be stopped."""

    PREEMPTS = 2
    RECLAIMS = 3
    """Jobs of other queues alone are stopped."""

    FITS = 4


class FlavorChoice(NamedTuple):
    """A flavor for the first job of a queue, how it fits, and who is stopped for it."""

    flavor: str
    fitting: FlavorFit
    height: int = 0
    victims: tuple[Active, ...] = ()


class KueueDispatcher:
    """Lets jobs in as Kueue does.

    A job belongs to the queue that its group names. Who is stopped starts again from its beginning,
    in the place that its arrival gives it, and stops nobody in the instant in which it was stopped.
    """

    def __init__(
        self,
        queues: Sequence[QuotaQueue],
        fleet: Fleet,
        *,
        fair: bool = False,
        cohorts: Sequence[QuotaCohort] = (),
    ) -> None:
        """Nobody waits or runs.

        Args:
            queues: with their quotas; none for one with all devices.
            fleet: that they share.
            fair: whether shares decide who borrows (fair sharing).
            cohorts: of the queues.

        Raises:
            InputError: a flavor is no kind of a fleet of several.
        """
        named = queues or (QuotaQueue(name="", devices=float(fleet.devices)),)
        self.tree = QuotaTree(named, cohorts)
        self._queues = {each.name: each for each in named}
        self._jobs = QuotaBooks(self.tree, self._queues, fair=fair)
        self._fair = fair
        self._kinds = {each.kind for each in fleet.nodes} if len(fleet.nodes) > 1 else set[str]()
        self._lines: dict[str, list[QueuedJob]] = {each.name: [] for each in named}
        self._aside: set[int] = set()
        self._stopped: dict[int, float] = {}
        self._free, self._released = 0.0, 0
        flavors = {each.name for queue in named for each in queue.flavors}
        if self._kinds and flavors - self._kinds:
            raise InputError(
                f"site.queues have flavors that are no kinds of the fleet:"
                f" {', '.join(sorted(flavors - self._kinds))}. Known:"
                f" {', '.join(sorted(self._kinds))}."
            )

    def arrive(self, active: Active, simulation: Simulation) -> None:
        """A job has come, or comes again after a failure."""
        insort(self._lines[self._queue(active.job)], self._entry(active))

    def leave(self, active: Active, simulation: Simulation) -> None:
        """A job has ended: those that were set aside may fit."""
        self._gone(active)

    def decide(self, simulation: Simulation) -> None:
        """Cycles, until nobody is let in."""
        released = simulation.limits.released
        if simulation.pool.free(()) > self._free or released != self._released:
            self._aside.clear()  # a node may be back, or a limit have room again
        self._released = released
        blocked: set[str] = set()
        while (heads := dict(self._heads())).keys() - blocked:
            before = len(self._jobs), len(self._aside), len(blocked)
            for name in self._cycle(heads, simulation):
                # Who blocks its queue is looked at in every cycle, and keeps its quota in each.
                if self._queues[name].strict:
                    blocked.add(name)
                else:
                    self._aside.add(heads[name].rank)
            if before == (len(self._jobs), len(self._aside), len(blocked)):
                break
        self._free = simulation.pool.free(())

    def _cycle(self, heads: Mapping[str, QueuedJob], simulation: Simulation) -> Sequence[str]:
        """Let the first jobs in that fit; the queues whose first job does not."""
        chosen = {name: self._choose(head, simulation) for name, head in heads.items()}
        kept_out: list[str] = []
        reserved: list[tuple[QuotaNode, str, float]] = []
        for name in self._turns(heads, chosen):
            head, choice = heads[name], chosen[name]
            if choice.fitting is FlavorFit.NOBODY:
                reserved += self._reserve(head, choice.flavor)
            if choice.fitting >= FlavorFit.PREEMPTS:
                there = all(each.held for each in choice.victims) and self._fits(head, choice)
                # Where somebody was quicker it is looked at again.
                if not there or self._let_in(head, choice, simulation):
                    continue
            kept_out.append(name)
        for node, flavor, devices in reserved:
            node.use(flavor, -devices)
        return kept_out

    def exhausted(self, active: Active) -> bool:
        """Whether the queue of a job may not use as many devices more."""
        name = self._queue(active.job)
        flavors = self._flavors(name, active.job)
        return all(active.job.devices > self.tree.available(name, each) for each in flavors)

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
        job = active.job
        return QueuedJob(urgency(job), job.arrival, active.rank, self._queue(job), active)

    def _heads(self) -> Iterator[tuple[str, QueuedJob]]:
        for name, line in self._lines.items():
            found = next((each for each in line if each.rank not in self._aside), None)
            if found is not None:
                yield name, found

    def _flavors(self, name: str, job: Job) -> Iterator[str]:
        """Flavors of a queue that a job can use, in their order."""
        for flavor in self.tree.queues[name].quota:
            if not (self._kinds and flavor and job.kinds) or flavor in job.kinds:
                yield flavor

    def _choose(self, head: QueuedJob, simulation: Simulation) -> FlavorChoice:
        """The flavor for the first job of a queue: the best that is looked at."""
        queue, best = self._queues[head.queue], FlavorChoice("", FlavorFit.NOT)
        for flavor in self._flavors(head.queue, head.active.job):
            found = self._tried(head, flavor, simulation)
            if found.fitting > best.fitting or (
                found.fitting is best.fitting and found.height < best.height
            ):
                best = found
            borrows = found.height > 0 and queue.next_before_borrowing
            stops = found.fitting < FlavorFit.FITS and not queue.stops_before_next
            if found.fitting >= FlavorFit.NOBODY and not borrows and not stops:
                break
        return best

    def _tried(self, head: QueuedJob, flavor: str, simulation: Simulation) -> FlavorChoice:
        """How a job fits a flavor."""
        node, queue = self.tree.queues[head.queue], self._queues[head.queue]
        devices = head.active.job.devices
        if devices > node.most(flavor):
            return FlavorChoice(flavor, FlavorFit.NOT)
        height = node.height(flavor, devices)
        if devices <= node.available(flavor):
            return FlavorChoice(flavor, FlavorFit.FITS, height)
        inside = any(each.parent for each in [*node.path()][height : height + 1])
        while_borrowing = queue.reclaims if self._fair else queue.stops_to_borrow
        if not (devices <= node.quota[flavor].devices or inside or while_borrowing):
            return FlavorChoice(flavor, FlavorFit.NOT)
        victims: tuple[Active, ...] = ()
        if self._stopped.get(head.rank) != simulation.now:
            victims = tuple(self._jobs.for_job(head.active, head.queue, flavor))
        held = [each.held for each in victims if each.held]
        kinds = self._allowed(flavor, head.active.job)
        # Nobody is stopped in vain: the devices of whom could be had must be those of a job.
        if not victims or simulation.pool.enough(devices, kinds, held) is None:
            return FlavorChoice(flavor, FlavorFit.NOBODY, height)
        own = any(self._queue(each.job) == head.queue for each in victims)
        return FlavorChoice(
            flavor, FlavorFit.PREEMPTS if own else FlavorFit.RECLAIMS, height, victims
        )

    def _allowed(self, flavor: str, job: Job) -> tuple[str, ...]:
        return (flavor,) if self._kinds and flavor else job.kinds

    def _turns(
        self, heads: Mapping[str, QueuedJob], chosen: Mapping[str, FlavorChoice]
    ) -> Iterator[str]:
        """Queues in the order in which their first jobs are let in."""
        if not self._fair:
            yield from sorted(heads, key=lambda name: (chosen[name].height > 0, *heads[name][:3]))
            return
        left = dict(heads)
        while left:
            name = next(iter(left))
            *_, root = self.tree.queues[name].path()
            won = self._winner(root, left, chosen)
            yield won
            del left[won]

    def _fits(self, head: QueuedJob, choice: FlavorChoice) -> bool:
        """Whether a job is still within its quota, once those have stopped that would."""
        devices = head.active.job.devices
        return self._jobs.without(
            choice.victims, lambda: devices <= self.tree.available(head.queue, choice.flavor)
        )

    def _let_in(self, head: QueuedJob, choice: FlavorChoice, simulation: Simulation) -> bool:
        """Start a job, if need be in place of others."""
        for victim in choice.victims:
            simulation.stop(victim, done=0.0)
            self._stopped[victim.rank] = simulation.now
            self._gone(victim)
            insort(self._lines[self._queue(victim.job)], self._entry(victim))
        job = head.active.job
        if not simulation.start(head.active, job.devices, self._allowed(choice.flavor, job)):
            return False
        self._lines[head.queue].remove(head)
        self._jobs.run(head.active, head.queue, choice.flavor)
        return True

    def _reserve(self, head: QueuedJob, flavor: str) -> Iterator[tuple[QuotaNode, str, float]]:
        """What a job that stops nobody keeps from others in a cycle.

        Who may always take back what it is promised keeps nothing.
        """
        queue, node = self._queues[head.queue], self.tree.queues[head.queue]
        if queue.reclaims and not queue.lower_only:
            return
        quota, asked = node.quota[flavor], float(head.active.job.devices)
        beyond = quota.borrows if node.borrows(flavor, asked) else 0.0
        devices = max(0.0, min(asked, quota.devices + beyond - node.usage[flavor]))
        node.use(flavor, devices)
        yield node, flavor, devices

    def _gone(self, active: Active) -> None:
        self._jobs.gone(active)
        self._aside.clear()

    def _winner(
        self,
        node: QuotaNode,
        heads: Mapping[str, QueuedJob],
        chosen: Mapping[str, FlavorChoice],
    ) -> str:
        """Whose first job is let in next below a node: a tournament at every level.

        Who does not borrow goes before who does, then the lowest share with the job, then the
        highest priority, then who came first. Empty where no job waits there.
        """
        if node is self.tree.queues.get(node.name):
            return node.name if node.name in heads else ""
        rounds = []
        for child in node.children:
            if name := self._winner(child, heads, chosen):
                queue, choice = self.tree.queues[name], chosen[name]
                devices = heads[name].active.job.devices
                queue.use(choice.flavor, devices)
                rounds.append((choice.height > 0, child.share(), *heads[name][:3], name))
                queue.use(choice.flavor, -devices)
        return min(rounds)[-1] if rounds else ""
