"""What a log shows of its site: who started before whom, what was held at once, what ticked.

Whoever starts while another waits that could have started in its place had the higher priority.
Which others could depends on how the site passes jobs: under the main loop all that wait in the
same partition, in a cycle of backfilling those that need no more devices for no longer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from foretrain.errors import InputError
from foretrain.measured.job import End, Job, Log
from foretrain.measured.limit import Party, PartyLimit

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]
Flags = NDArray[np.bool_]

MOST_OTHERS: Final = 64
"""Jobs that wait with which a start is compared, spread over all of them."""

PERIOD: Final = 300.0
"""Seconds after which Slurm works priorities out again, where nobody says otherwise."""

INTERVALS: Final = (600.0, 300.0, 120.0, 60.0, 30.0, 15.0, 10.0)
"""Of what starts jobs while nothing happens that are looked for, the longest first."""

REGULAR: Final = 0.9
"""Share of the quiet starts that must come at an interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """Jobs of a log whose start is known, as columns.

    Attributes:
        arrival: seconds since the trace began. [job]
        begun: likewise. [job]
        ended: likewise. [job]
        devices: that each holds. [job]
        limit: seconds allowed to each. [job]
        user: place of its user among `users`. [job]
        qos: place of its quality among `qualities`. [job]
        group: place of its partition among `groups`. [job]
        priority: as the log prints it; not a number where it does not. [job]
        users: account and name of each.
        qualities: names.
        groups: names.
    """

    arrival: Numbers
    begun: Numbers
    ended: Numbers
    devices: Numbers
    limit: Numbers
    user: Places
    qos: Places
    group: Places
    priority: Numbers
    users: tuple[tuple[str, str], ...]
    qualities: tuple[str, ...]
    groups: tuple[str, ...]


def started(
    jobs: Sequence[Job], begun: Mapping[str, float], priorities: Mapping[str, float]
) -> Started:
    """The jobs of a log whose start is known.

    Args:
        jobs: of the log, in the order of their submission.
        begun: when each started, by its name.
        priorities: that the log prints, by name.
    """
    known = [job for job in jobs if job.name in begun]
    users = {key: place for place, key in enumerate(sorted({(j.account, j.user) for j in known}))}
    qualities = {name: place for place, name in enumerate(sorted({job.qos for job in known}))}
    groups = {name: place for place, name in enumerate(sorted({job.group for job in known}))}
    starts = np.array([begun[job.name] for job in known])
    return Started(
        arrival=np.array([job.arrival for job in known]),
        begun=starts,
        ended=starts + np.array([job.ends_after for job in known]),
        devices=np.array([float(job.devices) for job in known]),
        limit=np.array([job.ends_after if job.estimate is None else job.estimate for job in known]),
        user=np.array([users[job.account, job.user] for job in known]),
        qos=np.array([qualities[job.qos] for job in known]),
        group=np.array([groups[job.group] for job in known]),
        priority=np.array([priorities.get(job.name, np.nan) for job in known]),
        users=tuple(users),
        qualities=tuple(qualities),
        groups=tuple(groups),
    )


MOST_JOBS: Final = 2_000
"""Jobs of a log that rules are looked for in."""

LONGEST: Final = 2.0 * 365.0 * 86_400.0
"""Seconds that these may span: priorities are worked out some 200,000 times in them."""


def busiest(log: Log) -> Log:
    """The part of a log that tells most: so many jobs in a row, of which the waiting is longest.

    Args:
        log: of which the begin of jobs is known.

    Who ran when the first of them came is what the part begins with; who waited comes before it.
    Jobs that had not begun when the log was written stay in it.

    Raises:
        InputError: where they span more than `LONGEST`.
    """
    known = [job for job in log.trace.jobs if job.name in log.begun]
    waits = np.cumsum([0.0, *(log.begun[job.name] - job.arrival for job in known)])
    count = min(MOST_JOBS, len(known))
    first = int(np.argmax(waits[count:] - waits[: len(waits) - count]))
    since = known[first].arrival
    jobs, trace = known[first : first + count], log.trace
    if first:
        jobs += [job for job in known[:first] if log.begun[job.name] + job.ends_after > since]
        found = {job.name: log.begun[job.name] for job in jobs if log.begun[job.name] < since}
        trace = replace(trace, opened=since, found=found)
    last = max(log.begun[job.name] for job in jobs)
    if last - min(job.arrival for job in jobs) > LONGEST or last > 10.0 * LONGEST:
        raise InputError(
            f"{log.trace.name}: between the first and the last start of the {len(jobs):,} jobs that"
            f" wait most lie more than {LONGEST / 86_400.0:,.0f} days. Leave out what is no part of"
            " them, or state the rules in [site] in place of infer."
        )
    jobs += [job for job in log.trace.jobs if job.end is End.PENDING and job.arrival <= last]
    return replace(log, trace=trace.only(jobs))


class StartPairs(NamedTuple):
    """Pairs of jobs of which one started while the other waited.

    Attributes:
        first: places of those that started. [pair]
        second: of those that waited. [pair]
        weight: of each, all pairs of a start together 1. [pair]
    """

    first: Places
    second: Places
    weight: Numbers


def start_pairs(
    jobs: Started, strict: Flags, kept: Sequence[KeptByLimit] = (), *, covers: Flags | None = None
) -> StartPairs:
    """Pairs that tell of priorities.

    Args:
        jobs: that started.
        strict: whether at its start all that wait in its partition come after it; otherwise only
            those that need no more devices for no longer. [job]
        kept: by limits: who is kept is not compared.
        covers: whether all nodes of a partition are in another one, whose jobs might then have
            started there; None where every partition has its own. [partition, other partition]
    """
    first, second, weight = [], [], []
    covers = np.eye(len(jobs.groups), dtype=bool) if covers is None else covers
    for place in np.argsort(jobs.begun, kind="stable"):
        when = jobs.begun[place]
        there = (jobs.arrival <= when) & (jobs.begun > when)
        waits = there & covers[jobs.group[place], jobs.group]
        for limit in kept:
            waits &= ~limit.barred(jobs, there, int(place))
        if not strict[place]:
            waits &= (jobs.devices <= jobs.devices[place]) & (jobs.limit <= jobs.limit[place])
        others = np.flatnonzero(waits)
        if len(others) > MOST_OTHERS:
            others = others[np.linspace(0, len(others) - 1, MOST_OTHERS).astype(int)]
        first += [place] * len(others)
        second += others.tolist()
        weight += [1.0 / len(others)] * len(others) if len(others) else []
    return StartPairs(np.array(first, int), np.array(second, int), np.array(weight))


class KeptByLimit(NamedTuple):
    """A limit of what parties hold, which keeps jobs from starting.

    Attributes:
        party: place of each job's party; below 0 for jobs that the limit says nothing of. [job]
        amounts: what each job holds of what is limited. [job]
        most: that a party may hold at once.
    """

    party: Places
    amounts: Numbers
    most: float

    @classmethod
    def by(cls, jobs: Started, limit: PartyLimit) -> KeptByLimit:
        """The same of a limit as rules have it.

        Args:
            jobs: that started.
            limit: of users, accounts or qualities.
        """
        party = parties(jobs, limit.each)
        if limit.of:
            mine, names = parties(jobs, limit.of), parties_named(jobs, limit.of)
            party = np.where(mine == names.index(limit.named), party, -1)
        devices = limit.devices < inf
        amounts = jobs.devices if devices else np.ones_like(jobs.devices)
        return cls(party, amounts, limit.devices if devices else limit.jobs)

    def barred(self, jobs: Started, waits: Flags, place: int) -> Flags:
        """Jobs that wait as another one starts, and may be kept by the limit.

        Args:
            jobs: that started.
            waits: whether each waits at the moment. [job]
            place: of the one that starts.

        Of jobs that start at one moment nobody tells which was first: what the others hold is
        held already.
        """
        bound, when = self.party >= 0, jobs.begun[place]
        runs = (jobs.begun <= when) & (jobs.ended > when) & bound
        runs[place] = False
        count = int(self.party.max()) + 1
        held = np.bincount(self.party[runs], self.amounts[runs], minlength=count)
        kept: Flags = waits & bound & (held[self.party] + self.amounts > self.most)
        return kept


def parties_named(jobs: Started, each: Party) -> tuple[str, ...]:
    """The names of parties, in the order of their places."""
    accounts = tuple(sorted({account for account, _ in jobs.users}))
    users = tuple(sorted({user for _, user in jobs.users}))
    named = {Party.USER: users, Party.ACCOUNT: accounts, Party.QOS: jobs.qualities}
    return named.get(each, ("",))


def parties(jobs: Started, each: Party) -> Places:
    """The place of each job's party. [job]"""
    names = parties_named(jobs, each)
    if each is Party.QOS:
        return jobs.qos
    if each is Party.EVERYBODY:
        return np.zeros_like(jobs.qos)
    mine = [names.index(key[each is Party.USER]) for key in jobs.users]
    return np.array(mine)[jobs.user]


def limits_kept(jobs: Started, devices: float) -> Iterator[PartyLimit]:
    """Limits that nobody exceeded, each as tight as it can be: some may be the site's.

    Args:
        jobs: that started.
        devices: of the site: what nobody could hold is no limit.
    """
    scopes = [(each, Party.EVERYBODY, "") for each in (Party.USER, Party.ACCOUNT)]
    if len(jobs.qualities) > 1:
        for each in (Party.USER, Party.EVERYBODY):
            scopes += [(each, Party.QOS, name) for name in jobs.qualities]
    accounts = parties_named(jobs, Party.ACCOUNT)
    scopes += [(Party.EVERYBODY, Party.ACCOUNT, name) for name in accounts if accounts[1:]]
    for each, of, named in scopes:
        anything = PartyLimit(each=each, of=of, named=named, devices=devices)
        held = KeptByLimit.by(jobs, anything).party
        mine = [held == place for place in range(int(held.max()) + 1)]
        most = max(most_held(jobs, each) for each in mine)
        if most < devices:
            yield replace(anything, devices=float(most))
        most = max(most_held(jobs, each, np.ones_like(jobs.devices)) for each in mine)
        yield PartyLimit(each=each, of=of, named=named, jobs=float(most))


class StartTicks(NamedTuple):
    """What starts jobs while nothing else happens.

    Attributes:
        interval: seconds between; None where none is seen.
        phase: seconds after a multiple of the longest interval at which it does.
        quiet: how many jobs started so.
        main: whether each job started as something happened, and not at a tick. [job]
    """

    interval: float | None
    phase: float
    quiet: int
    main: Flags


def ticks(jobs: Started, *, since: float = 0.0) -> StartTicks:
    """What starts jobs while nobody comes or ends.

    Args:
        jobs: that started.
        since: from when on all of them are told of: before, others may have ended.
    """
    events = np.unique(np.concatenate([jobs.arrival, jobs.ended]))
    quiet = ~np.isin(jobs.begun, events) & (jobs.begun >= since)
    count = int(quiet.sum())
    for interval in INTERVALS if count else ():
        phases, counts = np.unique(jobs.begun[quiet] % interval, return_counts=True)
        if counts.max() >= REGULAR * count:
            at = jobs.begun % interval == phases[counts.argmax()]
            # A tick that many share tells the phase of the priorities' period too.
            longest = max(PERIOD, interval)
            whole, often = np.unique(jobs.begun[quiet & at] % longest, return_counts=True)
            return StartTicks(interval, float(whole[often.argmax()]), count, ~quiet & ~at)
    return StartTicks(None, 0.0, count, ~quiet)


def most_held(jobs: Started, mine: Flags, amounts: Numbers | None = None) -> int:
    """The most devices that some jobs held at once.

    Args:
        jobs: that started.
        mine: whether each counts. [job]
        amounts: that are held; None for devices. [job]
    """
    held = (jobs.devices if amounts is None else amounts)[mine]
    moments = np.concatenate([jobs.ended[mine], jobs.begun[mine]])
    changes = np.concatenate([-held, held])
    order = np.lexsort((changes, moments))
    return int(np.cumsum(changes[order]).max(initial=0.0))
