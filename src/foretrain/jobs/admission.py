"""Who comes into the queue, and how much work a cluster lets in at once.

Partitions: groups of jobs with a part of the fleet of their own.

Eligibility: a job that waits for other jobs is not yet in the queue.

Dependencies are kept before any policy sees a job. One that can never be fulfilled, as when the
other job failed and success was asked, cancels the job, and so do those that wait for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from graphlib import CycleError, TopologicalSorter

from foretrain.cluster.mixed import REST, Fleet
from foretrain.errors import InputError
from foretrain.jobs.active import Active, Pool, pace
from foretrain.jobs.limits import Singletons, is_single, label_of
from foretrain.jobs.simulation import Dispatcher, Simulation
from foretrain.jobs.sweeps import SweepBooks
from foretrain.measured.job import Dependency, DependsOn, End, Job, Trace


class Admission:
    """Lets jobs in, in the order of arrival, while not too much work is outstanding.

    Who is not let in waits, and counts as waiting. A job is always let in where none is. The cap
    `most` is outstanding work in seconds of the whole fleet, as jobs mean it when they are let in.
    """

    def __init__(self, dispatcher: Dispatcher, fleet: Fleet, *, most: float) -> None:
        if not most > 0:
            raise InputError(f"admission needs a cap of work above 0 s, got {most}.")
        self._dispatcher, self._fleet = dispatcher, fleet
        self._most = most * fleet.devices
        self._outside: dict[int, Active] = {}
        self._inside: dict[int, float] = {}

    def arrive(self, active: Active, simulation: Simulation) -> None:
        """A job has come; it may have to wait outside."""
        self._outside[active.rank] = active
        if active.begun is not None:
            self._outside = dict(sorted(self._outside.items()))
        self._admit(simulation)

    def leave(self, active: Active, simulation: Simulation) -> None:
        """A job has ended; others may come in."""
        del self._inside[active.rank]
        self._dispatcher.leave(active, simulation)
        self._admit(simulation)

    def decide(self, simulation: Simulation) -> None:
        """Let the dispatcher decide on those let in."""
        self._dispatcher.decide(simulation)

    def _admit(self, simulation: Simulation) -> None:
        while self._outside:
            rank, active = next(iter(self._outside.items()))
            job = active.job
            quick = pace(active, job.devices, fleet=self._fleet)
            work = job.devices * (job.work - active.done) / quick
            if self._inside and sum(self._inside.values()) + work > self._most:
                break
            self._inside[rank] = work
            self._dispatcher.arrive(self._outside.pop(rank), simulation)


class Partitions:
    """Each group with a quota has nodes of its own, and a policy of its own on them.

    Nobody borrows what another group leaves free. Time, limits and dependencies are those of the
    whole cluster.

    Attributes:
        pools: of the groups.
    """

    def __init__(self, of_group: Mapping[str, tuple[Dispatcher, Pool]]) -> None:
        self._of_group = of_group
        self._released = 0
        self._due: list[Pool] = []
        self.pools: Sequence[Pool] = [pool for _, pool in of_group.values()]

    def arrive(self, active: Active, simulation: Simulation) -> None:
        """A job has come to its group."""
        self._deal(active.job, simulation).arrive(active, simulation)

    def leave(self, active: Active, simulation: Simulation) -> None:
        """A job has left its group."""
        self._deal(active.job, simulation).leave(active, simulation)

    def decide(self, simulation: Simulation) -> None:
        """Let those decide on their nodes in whose groups something has happened."""
        due, self._due = self._due, []
        released, self._released = self._released, simulation.limits.released
        for dispatcher, pool in self._of_group.values():
            if released != self._released or any(pool is each for each in due):
                simulation.pool = pool
                dispatcher.decide(simulation)

    def home(self, job: Job) -> Pool:
        """Where a job may run."""
        return self._of_group[home(job, self._of_group)][1]

    def wake(self, pool: Pool) -> None:
        """Something that was asked for happens in the partition of some devices."""
        self._due.append(pool)

    def _deal(self, job: Job, simulation: Simulation) -> Dispatcher:
        dispatcher, simulation.pool = self._of_group[home(job, self._of_group)]
        self._due.append(simulation.pool)
        return dispatcher


def home(job: Job, groups: Container[str]) -> str:
    """The partition of a job, among those of groups with a quota."""
    return job.group if job.group in groups else REST


def is_home(groups: Container[str], group: str, job: Job) -> bool:
    """Whether a job is of a partition."""
    return home(job, groups) == group


def members(trace: Trace, shares: Mapping[str, Fleet]) -> Mapping[str, Trace]:
    """The jobs of each partition that has any.

    Args:
        trace: the jobs.
        shares: what each group with a quota has, and the rest if any is left.

    Raises:
        InputError: where nothing is left for a job.
    """
    found: dict[str, list[Job]] = {}
    for job in trace.jobs:
        found.setdefault(home(job, shares), []).append(job)
    if REST in found and REST not in shares:
        raise InputError(
            f"{trace.name}: the quotas leave no node for job {found[REST][0].name} of the group"
            f" '{found[REST][0].group}'. Give that group a quota, or the others less."
        )
    return {
        group: replace(trace.only(jobs), name=f"{trace.name}, {group}")
        for group, jobs in found.items()
    }


class Eligibility:
    """The stage before a dispatcher: jobs come to it once what they wait for has happened.

    It is told of starts and ends as an observer, and so sees them under any policy.
    """

    def __init__(self, dispatcher: Dispatcher, trace: Trace) -> None:
        """Nothing has happened.

        Raises:
            InputError: a job waits for one that is not there, or jobs wait for each other.
        """
        self._dispatcher = dispatcher
        self._happened: dict[Dependency, bool] = {}
        self._open: defaultdict[Dependency, int] = defaultdict(int)
        self._waiters: defaultdict[Dependency, list[Active]] = defaultdict(list)
        self._news: dict[int, Active] = {}
        self._gone: set[int] = set()
        self._waits: dict[int, Sequence[Dependency]] = {}
        self.sweeps = SweepBooks()
        _refuse(trace)
        self._alike = Singletons(trace)
        self._now_alone(self._alike.alone())
        for job in trace.jobs:
            if job.array:
                for what in DependsOn:
                    self._open[Dependency(job.array, what)] += 1

    def arrive(self, active: Active, simulation: Simulation) -> None:
        """A job has come; it may have to wait for others."""
        after = self._after(active) if active.begun is None else ()
        if all(self._happened.get(each) for each in after):
            # In its turn among those that come in this instant.
            self._dispatcher.arrive(active, simulation)
        else:
            for each in after:
                self._waiters[each].append(active)
            self._news[active.rank] = active

    def leave(self, active: Active, simulation: Simulation) -> None:
        """A job has ended, or lost its node."""
        self._dispatcher.leave(active, simulation)

    def _after(self, active: Active) -> Sequence[Dependency]:
        """What a job waits for."""
        if not active.job.after:
            return ()
        if active.rank not in self._waits:
            self._waits[active.rank] = [each.meant(active.job) for each in active.job.after]
        return self._waits[active.rank]

    def lacks(self, active: Active) -> Sequence[str]:
        """Names of the jobs and arrays that a job still waits for.

        Args:
            active: the job.
        """
        lacking = [each for each in self._after(active) if not self._happened.get(each)]
        alone = any(each.what is DependsOn.SINGLETON for each in lacking)
        others = self._alike.others(active.job) if alone else ()
        return [each.job for each in lacking if each.what is not DependsOn.SINGLETON] + [*others]

    def decide(self, simulation: Simulation) -> None:
        """Let in whoever may start now, let the dispatcher decide, and look again."""
        self._let_in(simulation)
        self._dispatcher.decide(simulation)
        while self._news:
            self._let_in(simulation)
            self._dispatcher.decide(simulation)

    def come(self, now: float, active: Active) -> None:
        """Nothing waits for that."""

    def give(self, now: float, active: Active) -> None:
        """Jobs that must be alone may wait for that; a sweep's books are kept."""
        if not active.suspended:
            self._now_alone(self._alike.give(active.job))
        if active.job.rung is not None:
            self.sweeps.give(now, active.job.rung.sweep)

    def hold(self, now: float, active: Active) -> None:
        """A job has started."""
        if not active.suspended:
            self._alike.hold(active.job)
        if active.job.rung is not None:
            self.sweeps.hold(now, active.job.rung.sweep)
        if active.begun == now and not active.stops:
            self._note(active.job, DependsOn.START, True)

    def end(self, now: float, active: Active) -> None:
        """A job has ended."""
        job, ran = active.job, active.begun is not None
        whole = ran and active.done >= job.ends_after
        good = whole and job.end is End.FINISHED
        self._note(job, DependsOn.START, ran)
        self._note(job, DependsOn.END, True)
        self._note(job, DependsOn.SUCCESS, good)
        self._note(job, DependsOn.FAILURE, not good)
        self._now_alone(self._alike.end(job))
        if job.rung is not None:
            # Who is told to end, or never ran, has nobody after it.
            if not ran:
                self._settle(Dependency(job.name, DependsOn.PROMOTION), False)
            for other, goes_on in self.sweeps.end(job, good=good):
                self._settle(Dependency(other, DependsOn.PROMOTION), goes_on)

    def _now_alone(self, names: Iterable[str]) -> None:
        for name in names:
            self._settle(Dependency(name, DependsOn.SINGLETON), True)

    def _note(self, job: Job, what: DependsOn, good: bool) -> None:
        """Something has happened to a job, or never will."""
        one, whole = Dependency(job.name, what), Dependency(job.array, what)
        if not self._settle(one, good):
            return
        if job.array:
            self._open[whole] -= 1
            # An array has started, ended or succeeded when all of its tasks have.
            if not good or self._open[whole] <= 0:
                self._settle(whole, good)

    def _settle(self, what: Dependency, good: bool) -> bool:
        """Whether it was open until now."""
        if what in self._happened:
            return False
        self._happened[what] = good
        for active in self._waiters.pop(what, ()):
            self._news[active.rank] = active
        return True

    def _let_in(self, simulation: Simulation) -> None:
        while self._news:
            news, self._news = self._news, {}
            for _, active in sorted(news.items()):
                states = [self._happened.get(each) for each in self._after(active)]
                if active.rank in self._gone:
                    continue
                if False in states:
                    self._gone.add(active.rank)
                    simulation.cancel_job(active)
                elif all(states):
                    self._gone.add(active.rank)
                    active.eligible = max(active.eligible, simulation.now)
                    self._dispatcher.arrive(active, simulation)


class Opening:
    """The first stage: jobs come to a dispatcher once they stand in the queue.

    Before a trace opens, the dispatcher is told of those alone that then ran, when they began: no
    policy has anybody else to start. Who waited comes as the trace opens.
    """

    def __init__(self, dispatcher: Dispatcher, trace: Trace) -> None:
        self._dispatcher, self._trace, self._seen = dispatcher, trace, False

    def arrive(self, active: Active, simulation: Simulation) -> None:
        """A job has come; it may have to wait until it stands in the queue."""
        if self._trace.opened and not self._seen:
            self._seen = True
            simulation.at(self._trace.opened, simulation.outcomes.open)
        job = active.job
        active.eligible = max(job.arrival, job.eligible or 0.0)
        comes = self._trace.found.get(job.name, max(active.eligible, self._trace.opened))
        if active.begun is not None or comes <= simulation.now:
            self._dispatcher.arrive(active, simulation)
        else:
            simulation.at(comes, partial(self._dispatcher.arrive, active, simulation))

    def leave(self, active: Active, simulation: Simulation) -> None:
        """A job has ended, or lost its node."""
        self._dispatcher.leave(active, simulation)

    def decide(self, simulation: Simulation) -> None:
        """Let the dispatcher decide on those that have come."""
        self._dispatcher.decide(simulation)


def _refuse(trace: Trace) -> None:
    """Refuse jobs that would wait for ever."""
    waits = {
        job.name: [each.meant(job) for each in job.after if each.what is not DependsOn.SINGLETON]
        for job in trace.jobs
        if job.after
    }
    members: defaultdict[str, list[str]] = defaultdict(list)
    for job in trace.jobs if waits else ():
        members[job.name].append(job.name)
        if job.array and job.array != job.name:
            members[job.array].append(job.name)
    for name, after in waits.items():
        for each in after:
            if each.job not in members:
                raise InputError(
                    f"{trace.name}: job {name} waits for {each.job}, which is no job and no array"
                    " of the trace. Add it, or leave the dependency out."
                )
    _refuse_circles(trace, waits, members)


def _refuse_circles(
    trace: Trace,
    waits: Mapping[str, Sequence[Dependency]],
    members: Mapping[str, Sequence[str]],
) -> None:
    """Refuse jobs that would wait for each other."""
    before = {
        name: [other for each in after for other in members[each.job]]
        for name, after in waits.items()
    }
    since: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for job in trace.jobs if waits else ():
        if is_single(job):
            before[job.name] += since[label_of(job)]
            since[label_of(job)].clear()
        since[label_of(job)].append(job.name)
    try:
        TopologicalSorter(before).prepare()
    except CycleError as error:
        around = " < ".join(reversed(error.args[1]))
        raise InputError(
            f"{trace.name}: jobs wait for each other: {around}. Leave out one of what they wait"
            " for."
        ) from None
