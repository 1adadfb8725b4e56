"""Admission: how much work a cluster lets in at once.

Partitions: groups of jobs with a part of the fleet of their own.

Fitting: which jobs of a log a fleet can hold at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf

from foretrain.cluster.mixed import Fleet
from foretrain.errors import InputError
from foretrain.jobs.active import Active
from foretrain.jobs.outcomes import Outcomes
from foretrain.jobs.progress import pace
from foretrain.jobs.simulation import Dispatcher, Simulation
from foretrain.measured.job import Job, Log, Remainder, Trace


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
