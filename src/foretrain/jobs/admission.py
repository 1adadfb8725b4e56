"""Who comes into the queue, and how much work a cluster lets in at once.

Admission: how much work a cluster lets in at once.

Partitions: groups of jobs with a part of the fleet of their own.

Fitting: which jobs of a log a fleet can hold at all.

Eligibility: a job that waits for other jobs is not yet in the queue.

Dependencies are kept before any policy sees a job. One that can never be fulfilled, as when the
other job failed and success was asked, cancels the job, and so do those that wait for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from math import inf

from foretrain.cluster.mixed import Fleet
from foretrain.errors import InputError
from foretrain.jobs.active import Active, pace
from foretrain.jobs.outcomes import Outcomes
from foretrain.jobs.simulation import Dispatcher, Simulation
from foretrain.jobs.sweeps import SweepBooks
from foretrain.measured.job import Dependency, DependsOn, End, Job, Log, Remainder, Trace


class Admission:
    """Lets jobs in, in the order of arrival, while not too much work is outstanding.

    Who is not let in waits, and counts as waiting. A job is always let in where none is. The cap
    `most` is outstanding work in seconds of the whole fleet, as jobs mean it when they are let in.
    """

    def __init__(self, dispatcher: Dispatcher, fleet: Fleet, *, most: float) -> None:
        if not most > 0:
            raise InputError(f"admission needs a cap of work above 0 s, got {most}.")
        self._dispatcher = dispatcher
        self._fleet = fleet
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


REST = ""
"""The partition of all groups without a quota."""


def partitioned(
    trace: Trace, fleet: Fleet, simulate: Callable[[Trace, Fleet], Outcomes]
) -> Outcomes:
    """What becomes of jobs where each group with a quota has its devices to itself.

    Args:
        trace: the jobs.
        fleet: of one kind; its quotas are whole nodes.
        simulate: a run of some jobs on some nodes, under any policy and placement.

    Nobody borrows what another group leaves free, so each partition is a cluster by itself.
    """
    shares = parts(fleet)
    members: dict[str, list[Job]] = {}
    for job in trace.jobs:
        members.setdefault(job.group if job.group in shares else REST, []).append(job)
    if REST in members and REST not in shares:
        raise InputError(
            f"{trace.name}: the quotas leave no node for job {members[REST][0].name} of the group"
            f" '{members[REST][0].group}'. Give that group a quota, or the others less."
        )
    ended = {
        group: simulate(Trace(name=f"{trace.name}, {group}", jobs=tuple(jobs)), shares[group])
        for group, jobs in members.items()
    }
    # The outcomes of all partitions in the order of the whole trace.
    whole = Outcomes(trace)
    ranks = {job.name: rank for rank, job in enumerate(trace.jobs)}
    for part in ended.values():
        for place, job in enumerate(part.trace.jobs):
            rank = ranks[job.name]
            for column in ("begun", "ended", "attained", "held", "stops"):
                getattr(whole, column)[rank] = getattr(part, column)[place]
        for column in ("killed", "cancelled"):
            places = {ranks[part.trace.jobs[place].name] for place in getattr(part, column)}
            getattr(whole, column).update(places)
        whole.sweeps = {**whole.sweeps, **part.sweeps}
        whole.last = max(whole.last, part.last)
    return whole


def parts(fleet: Fleet) -> Mapping[str, Fleet]:
    """Nodes of each group with a quota, and of the rest if any are left.

    Raises:
        InputError: where quotas are not whole nodes of one kind, or more than there are.
    """
    if len(fleet.nodes) > 1:
        raise InputError("quotas need a fleet of one kind of device; use a fleet for each kind.")
    nodes = fleet.nodes[0]
    uneven = [group for group, devices in fleet.quota.items() if devices % nodes.devices]
    if uneven:
        raise InputError(
            f"Fleet.quota of {', '.join(uneven)} must be whole nodes, multiples of {nodes.devices}."
        )
    rest = fleet.devices - sum(fleet.quota.values())
    if rest < 0:
        raise InputError(f"Fleet.quota promises {-rest} devices more than there are.")
    sizes = {**fleet.quota, REST: rest}
    return {
        group: Fleet(nodes=(replace(nodes, count=devices // nodes.devices),))
        for group, devices in sizes.items()
        if devices
    }


TOO_LARGE = "ask for more devices than there are for them"
NO_KIND = "need kinds of devices that the fleet has not"


def that_fit(log: Log, fleet: Fleet) -> Log:
    """The log without jobs that the fleet can never hold, which are told as left out.

    Args:
        log: of this fleet or of another.
        fleet: what its jobs are to share; a group with a quota has no other devices.

    Where no job fits, all of them are returned: a run of them says why.
    """
    shares = parts(fleet) if fleet.quota else {REST: fleet}
    remainder = Remainder(log.left_out)
    kept = []
    for job in log.trace.jobs:
        share = shares.get(job.group, shares.get(REST))
        # That the quotas leave a group nothing at all is no matter of one job: a run tells it.
        most = inf if share is None else room(share, job.kinds)
        if job.devices <= most:
            kept.append(job)
        elif most:
            told = f"job {job.name} asks for {job.devices}, and there are {most}."
            remainder.add(TOO_LARGE, job.sequence, told)
        else:
            told = f"job {job.name} needs {' or '.join(job.kinds)}."
            remainder.add(NO_KIND, job.sequence, told)
    if not kept or len(kept) == len(log.trace.jobs):
        return log
    names = {job.name for job in kept}
    return replace(
        log,
        trace=replace(log.trace, jobs=tuple(kept)),
        begun={name: begun for name, begun in log.begun.items() if name in names},
        left_out=remainder.left_out(),
    )


def room(fleet: Fleet, kinds: tuple[str, ...]) -> int:
    """The most devices of one kind.

    Args:
        fleet: that has them.
        kinds: that count; empty for all.
    """
    return max(
        (each.count * each.devices for each in fleet.nodes if not kinds or each.kind in kinds),
        default=0,
    )


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
        self.sweeps = SweepBooks()
        _refuse(trace)
        for job in trace.jobs:
            if job.array:
                for what in DependsOn:
                    self._open[Dependency(job.array, what)] += 1

    def arrive(self, active: Active, simulation: Simulation) -> None:
        """A job has come; it may have to wait for others."""
        if active.job.after and active.begun is None:
            for each in active.job.after:
                self._waiters[each].append(active)
            self._news[active.rank] = active
        else:
            self._dispatcher.arrive(active, simulation)

    def leave(self, active: Active, simulation: Simulation) -> None:
        """A job has ended, or lost its node."""
        self._dispatcher.leave(active, simulation)

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
        """Nothing waits for that; a sweep's books are kept."""
        if active.job.rung is not None:
            self.sweeps.give(now, active.job.rung.sweep)

    def hold(self, now: float, active: Active) -> None:
        """A job has started."""
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
        if job.rung is not None:
            # Who is told to end, or never ran, has nobody after it.
            if not ran:
                self._settle(Dependency(job.name, DependsOn.PROMOTION), False)
            for other, goes_on in self.sweeps.end(job, good=good):
                self._settle(Dependency(other, DependsOn.PROMOTION), goes_on)

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
                states = [self._happened.get(each) for each in active.job.after]
                if active.rank in self._gone:
                    continue
                if False in states:
                    self._gone.add(active.rank)
                    simulation.cancel_job(active)
                elif all(states):
                    self._gone.add(active.rank)
                    self._dispatcher.arrive(active, simulation)


def _refuse(trace: Trace) -> None:
    """Refuse jobs that would wait for ever."""
    waits = {job.name: job.after for job in trace.jobs if job.after}
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
    before = {
        name: [other for each in after for other in members[each.job]]
        for name, after in waits.items()
    }
    try:
        TopologicalSorter(before).prepare()
    except CycleError as error:
        around = " < ".join(reversed(error.args[1]))
        raise InputError(
            f"{trace.name}: jobs wait for each other: {around}. Leave out one of what they wait"
            " for."
        ) from None
