"""Limits: what parties may hold at once, whatever the policy.

The simulation asks them at every start. A job that a limit keeps from starting does not stand in
the way of others.

Singletons: jobs that must be alone among those of their user and label.

Claims: what a suspended job keeps from others.

Fitting: which jobs of a log a fleet can hold at all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import takewhile
from math import inf

from foretrain.cluster.mixed import REST, Fleet
from foretrain.jobs.active import Active, HeldDevices
from foretrain.jobs.nodes import NodePool
from foretrain.measured.job import DependsOn, Job, Log, Remainder, Trace
from foretrain.measured.limit import PartyLimit

Lane = tuple[tuple[int, str, int], ...]
"""Limits that bind a job, each with the party, and how many of its licences it wants: jobs of one
lane are allowed or not alike."""


class Limits:
    """Limits, and what parties hold of them.

    Attributes:
        bind: whether there is any.
        released: how often devices were given back under them.
    """

    def __init__(self, limits: Sequence[PartyLimit]) -> None:
        """Nobody holds anything."""
        self._limits = tuple(limits)
        self._of: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for place, limit in enumerate(self._limits):
            self._of[limit.of, limit.named].append(place)
        self._fields = tuple({limit.of for limit in self._limits if limit.of})
        self.bind = bool(self._limits)
        self.released = 0
        self._devices: defaultdict[tuple[int, str], float] = defaultdict(float)
        self._jobs: defaultdict[tuple[int, str], int] = defaultdict(int)
        self._licenses: defaultdict[tuple[int, str], int] = defaultdict(int)

    def lane(self, job: Job) -> Lane:
        """What bounds a job."""
        places = self._of.get(("", ""), [])
        for field in self._fields:
            places = [*places, *self._of.get((field, getattr(job, field)), ())]
        limits = ((place, self._limits[place]) for place in sorted(places))
        return tuple(
            (place, limit.party(job), limit.many(job))
            for place, limit in limits
            if limit.binds(job)
        )

    def allow(self, active: Active, devices: float) -> bool:
        """Whether a job may start on so many devices."""
        return self.open(self.lane(active.job), devices)

    def open(self, lane: Lane, devices: float) -> bool:
        """Whether a job of a lane may."""
        return self._reached(lane, devices) is None

    def reached(self, active: Active, devices: float) -> PartyLimit | None:
        """The first limit that a start would exceed; None where none would be."""
        place = self._reached(self.lane(active.job), devices)
        return None if place is None else self._limits[place]

    def hold(self, active: Active, devices: float) -> None:
        """A job has started."""
        self._count(self.lane(active.job), devices, 1)

    def release(self, active: Active, devices: float) -> None:
        """It has given its devices back."""
        self.released += 1
        self._count(self.lane(active.job), -devices, -1)

    def _count(self, lane: Lane, devices: float, sign: int) -> None:
        for place, party, licenses in lane:
            key = (place, party)
            self._devices[key] += devices
            self._jobs[key] += sign
            self._licenses[key] += sign * licenses

    def together(self, jobs: Sequence[Active]) -> list[Active]:
        """Those of some jobs that may run at once, whoever stands first being served first.

        Args:
            jobs: on the devices that each asks for, whether they run or wait.
        """
        if not self.bind:
            return list(jobs)
        room = Limits(self._limits)
        may = []
        for active in jobs:
            if room.allow(active, active.job.devices):
                room.hold(active, active.job.devices)
                may.append(active)
        return may

    def _reached(self, lane: Lane, devices: float) -> int | None:
        for place, party, licenses in lane:
            limit, key = self._limits[place], (place, party)
            if self._devices[key] + devices > limit.devices or self._jobs[key] + 1 > limit.jobs:
                return place
            if licenses and self._licenses[key] + licenses > limit.count:
                return place
        return None


class Singletons:
    """Jobs of one user and one label, where some of them must be alone.

    Such a job may start once all that came before it have ended and none of the others runs.

    Source: slurm, sbatch(1), `--dependency=singleton`.
    """

    def __init__(self, trace: Trace) -> None:
        """None has ended, and none runs."""
        single = (job for job in trace.jobs if is_single(job))
        self._open: dict[tuple[str, str], dict[str, bool]] = {label_of(job): {} for job in single}
        self._running = dict.fromkeys(self._open, 0)
        for job in trace.jobs if self._open else ():
            if label_of(job) in self._open:
                self._open[label_of(job)][job.name] = is_single(job)

    def alone(self) -> Sequence[str]:
        """Jobs that must be alone and are from the beginning."""
        return [name for key in self._open for name in self._next(key)]

    def others(self, job: Job) -> Sequence[str]:
        """Those for which a job waits: all that came before it and have not ended."""
        before = takewhile(lambda name: name != job.name, self._open[label_of(job)])
        return [*before]

    def hold(self, job: Job) -> None:
        """A job has started."""
        if self._open and (key := label_of(job)) in self._open:
            self._running[key] += 1

    def give(self, job: Job) -> Sequence[str]:
        """A job holds nothing any more; who may start for that."""
        if not self._open or (key := label_of(job)) not in self._open:
            return ()
        self._running[key] -= 1
        return self._next(key)

    def end(self, job: Job) -> Sequence[str]:
        """A job has ended; who may start for that."""
        key = label_of(job)
        if not self._open or key not in self._open:
            return ()
        del self._open[key][job.name]
        return self._next(key)

    def _next(self, key: tuple[str, str]) -> Sequence[str]:
        """The first that is left, if it waits to be alone and is."""
        first = next(iter(self._open[key].items()), ("", False))
        return [first[0]] if first[1] and not self._running[key] else ()


class Claim:
    """Devices that a suspended job keeps from others, as far as nobody has them instead of it.

    Attributes:
        whole: all of its devices.
        kept: those of them that nobody has; None for none.
    """

    def __init__(self, whole: HeldDevices) -> None:
        """The job has just given its devices back."""
        self.whole = whole
        self.kept: HeldDevices | None = None

    def keep(self, pool: NodePool) -> bool:
        """Take what is free of its devices; whether it now has all of them.

        Args:
            pool: of all devices.
        """
        self.lend(pool)
        free = pool.free_on(self.whole)
        count = sum(devices for _, devices in free)
        if free:
            self.kept = HeldDevices(self.whole.kind, count, len(free), free)
            pool.remove(self.kept)
        return count == self.whole.devices

    def lend(self, pool: NodePool) -> None:
        """Give up, for a while, what it keeps.

        Args:
            pool: of all devices.
        """
        if self.kept is not None:
            pool.give(self.kept)
            self.kept = None


def is_single(job: Job) -> bool:
    """Whether a job must be alone among those of its user and label."""
    return any(each.what is DependsOn.SINGLETON for each in job.after)


def label_of(job: Job) -> tuple[str, str]:
    """What jobs have in common of which one must be alone."""
    return job.user, job.label


TOO_LARGE = "ask for more devices than there are for them"
NO_KIND = "need kinds of devices that the fleet has not"
LIMITED = "ask for more devices or licences than a limit ever lets them hold"
UNLICENSED = "hold licences that the site has not"
OF_SITE = "ask for more devices than their partition or queue ever has"


def unlicensed(job: Job, limits: Sequence[PartyLimit]) -> Sequence[str]:
    """Licences of a job that are none of those of which there are some.

    Args:
        job: that holds some.
        limits: of licences among others; where none is of all jobs', they are not counted.
    """
    there = {limit.license for limit in limits if limit.license and not limit.of}
    return [name for name, _ in job.licenses if there and name not in there]


def that_fit(
    log: Log,
    fleet: Fleet,
    limits: Sequence[PartyLimit] = (),
    *,
    of_site: Callable[[Job], float] = lambda _: inf,
) -> Log:
    """The log without jobs that can never run, which are told as left out.

    Args:
        log: of this fleet or of another.
        fleet: what its jobs are to share; a group with a quota has no other devices.
        limits: of parties.
        of_site: the most devices that the rules of a site ever give a job.

    Where no job fits, all of them are returned: a run of them says why.
    """
    shares = fleet.parts
    nobody, remainder = Limits(limits), Remainder(log.left_out)
    kept = []
    for job in log.trace.jobs:
        share = shares.get(job.group, shares.get(REST))
        # That the quotas leave a group nothing at all is no matter of one job: a run tells it.
        most = inf if share is None else share.most(job.kinds)
        asks, needs = f"job {job.name} asks for {job.devices}", f"job {job.name} needs"
        if unlicensed(job, limits):
            lacking = ", ".join(unlicensed(job, limits))
            remainder.add(UNLICENSED, job.sequence, f"{needs} {lacking}; see site.licenses.")
        elif job.devices > of_site(job):
            remainder.add(OF_SITE, job.sequence, f"{asks} of {of_site(job):g}.")
        elif job.devices <= most and nobody.open(nobody.lane(job), job.devices):
            kept.append(job)
        elif job.devices <= most:
            remainder.add(LIMITED, job.sequence, f"{asks}; see [[site.limits]].")
        elif most:
            remainder.add(TOO_LARGE, job.sequence, f"{asks}, and there are {most}.")
        else:
            remainder.add(NO_KIND, job.sequence, f"{needs} {' or '.join(job.kinds)}.")
    if not kept or len(kept) == len(log.trace.jobs):
        return log
    names = {job.name for job in kept}
    return replace(
        log,
        trace=log.trace.only(kept),
        begun={name: begun for name, begun in log.begun.items() if name in names},
        left_out=remainder.left_out(),
    )
