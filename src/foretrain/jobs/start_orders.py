"""What a log shows of its site: who started before whom, what was held at once, what ticked.

Whoever starts while another waits that could have started in its place had the higher priority.
Which others could depends on how the site passes jobs: under the main loop all that wait in the
same partition, in a cycle of backfilling those that need no more devices for no longer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from foretrain.errors import InputError
from foretrain.jobs.fair_tree import decay_of
from foretrain.measured.job import Job, Log
from foretrain.measured.site import Association

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]
Flags = NDArray[np.bool_]

MOST_OTHERS: Final = 24
"""Jobs that wait with which a start is compared, spread over all of them."""

PERIOD: Final = 300.0
"""Seconds after which Slurm works priorities out again, where nobody says otherwise."""

INTERVALS: Final = (600.0, 300.0, 120.0, 60.0, 30.0, 15.0, 10.0)
"""Of what starts jobs while nothing happens that are looked for, the longest first."""

REGULAR: Final = 0.9
"""Share of the quiet starts that must come at an interval."""

SHARES: Final = (
    1 / 8, 1 / 5, 1 / 4, 1 / 3, 2 / 5, 1 / 2, 2 / 3, 3 / 4, 1.0,
    4 / 3, 3 / 2, 2.0, 5 / 2, 3.0, 4.0, 5.0, 8.0,
)  # fmt: skip
"""Shares that are tried, for only their ratios among siblings matter."""


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

    Who ran when the first of them came has come when it began; who waited comes with it.

    Raises:
        InputError: where they span more than `LONGEST`.
    """
    known = [job for job in log.trace.jobs if job.name in log.begun]
    waits = np.cumsum([0.0, *(log.begun[job.name] - job.arrival for job in known)])
    count = min(MOST_JOBS, len(known))
    first = int(np.argmax(waits[count:] - waits[: len(waits) - count]))
    since = known[first].arrival
    jobs = known[first : first + count]
    for job in known[:first]:
        begun = log.begun[job.name]
        if begun + job.ends_after > since:
            jobs.append(replace(job, arrival=min(begun, since)))
    last = max(log.begun[job.name] for job in jobs)
    if last - min(job.arrival for job in jobs) > LONGEST or last > 10.0 * LONGEST:
        raise InputError(
            f"{log.trace.name}: between the first and the last start of the {len(jobs):,} jobs that"
            f" wait most lie more than {LONGEST / 86_400.0:,.0f} days. Leave out what is no part of"
            " them, or state the rules in [site] in place of infer."
        )
    return replace(log, trace=replace(log.trace, jobs=tuple(jobs)))


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


def start_pairs(jobs: Started, strict: Flags, kept: KeptByLimit | None = None) -> StartPairs:
    """Pairs that tell of priorities.

    Args:
        jobs: that started.
        strict: whether at its start all that wait in its partition come after it; otherwise only
            those that need no more devices for no longer. [job]
        kept: by a limit: those of a party of which any is kept are not compared.
    """
    first, second, weight = [], [], []
    for place in np.argsort(jobs.begun, kind="stable"):
        when = jobs.begun[place]
        there = (jobs.arrival <= when) & (jobs.begun > when)
        waits = there & (jobs.group == jobs.group[place])
        if kept is not None:
            waits &= ~kept.barred(jobs, there, when)
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
    """A limit that keeps jobs of some parties from starting.

    Attributes:
        party: place of each job's party. [job]
        devices: that a party may hold at once.
    """

    party: Places
    devices: float

    def barred(self, jobs: Started, waits: Flags, when: float) -> Flags:
        """Jobs of parties of which one that waits is kept by the limit.

        Args:
            jobs: that started.
            waits: whether each waits at the moment. [job]
            when: seconds since the trace began.
        """
        runs = (jobs.begun < when) & (jobs.ended > when)
        held = np.bincount(self.party[runs], jobs.devices[runs], minlength=self.party.max() + 1)
        full = self.party[waits & (held[self.party] + jobs.devices > self.devices)]
        barred: Flags = np.isin(self.party, full)
        return barred


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


def ticks(jobs: Started) -> StartTicks:
    """What starts jobs while nobody comes or ends.

    Args:
        jobs: that started.
    """
    events = np.unique(np.concatenate([jobs.arrival, jobs.ended]))
    quiet = ~np.isin(jobs.begun, events)
    count = int(quiet.sum())
    for interval in INTERVALS if count else ():
        phases, counts = np.unique(jobs.begun[quiet] % interval, return_counts=True)
        if counts.max() >= REGULAR * count:
            at = jobs.begun % interval == phases[counts.argmax()]
            # A tick that many share tells the phase of the priorities' period too.
            whole, often = np.unique(jobs.begun[quiet & at] % PERIOD, return_counts=True)
            return StartTicks(interval, float(whole[often.argmax()]), count, ~quiet & ~at)
    return StartTicks(None, 0.0, count, ~quiet)


def most_held(jobs: Started, mine: Flags) -> int:
    """The most devices that some jobs held at once.

    Args:
        jobs: that started.
        mine: whether each counts. [job]
    """
    moments = np.concatenate([jobs.ended[mine], jobs.begun[mine]])
    changes = np.concatenate([-jobs.devices[mine], jobs.devices[mine]])
    order = np.lexsort((changes, moments))
    return int(np.cumsum(changes[order]).max(initial=0.0))


def shared_most(jobs: Started, party: Places) -> int | None:
    """The most devices that a party held at once, if several held as many: else None.

    Args:
        jobs: that started.
        party: place of each job's party. [job]
    """
    held = [most_held(jobs, party == place) for place in range(int(party.max()) + 1)]
    most = max(held)
    return most if held.count(most) > 1 else None


class SharePoint(NamedTuple):
    """What is not linear in a priority.

    Attributes:
        accounts: shares of each account, by its place in `SHARES`.
        users: of each user, likewise.
        half_life: seconds in which usage is halved.
        longest: seconds after which a job grows no older.
    """

    accounts: tuple[int, ...]
    users: tuple[int, ...]
    half_life: float
    longest: float

    def associations(self, jobs: Started) -> Iterator[Association]:
        """Accounts and users with their shares, of siblings the smallest 1.

        Args:
            jobs: whose users they are.
        """
        accounts = sorted({account for account, _ in jobs.users})
        least = min(SHARES[place] for place in self.accounts)
        for name, place in zip(accounts, self.accounts, strict=True):
            if name:
                yield Association(name=name, shares=SHARES[place] / least)
        for (account, user), place in zip(jobs.users, self.users, strict=True):
            siblings = zip(jobs.users, self.users, strict=True)
            least = min(SHARES[each] for (other, _), each in siblings if other == account)
            share = SHARES[place] / least
            yield Association(name=user, parent=account, shares=share, is_user=True)


class UserRanks:
    """Fair-share factors of a log's users at some moments, for any shares."""

    def __init__(self, jobs: Started, period: float, when: Numbers) -> None:
        """Device time of each user in each period, up to the last that is asked for.

        Args:
            jobs: that started.
            period: seconds after which usage is worked out again.
            when: moments at which factors are wanted. [moment]
        """
        self._period = period
        accounts = sorted({account for account, _ in jobs.users})
        self._account = np.array([accounts.index(account) for account, _ in jobs.users])
        self._member = np.equal.outer(self._account, np.arange(len(accounts))).astype(float)
        epochs = np.floor(when / period).astype(int)
        self._epochs, self._row = np.unique(epochs, return_inverse=True)
        edges = np.arange(int(self._epochs.max(initial=0)) + 1, dtype=np.float64) * period
        users = range(len(jobs.users))
        held = [_held_until(edges, jobs, jobs.user == user) for user in users]
        self._held = np.diff(np.column_stack(held), axis=0)
        self._known: dict[float, Numbers] = {}

    def of(self, users: Sequence[Places], point: SharePoint) -> list[Numbers]:
        """The factors of some users at each moment.

        Args:
            users: of each moment, one after the other. [moment]
            point: shares and half-life.
        """
        factors = self._factors(point)
        return [factors[self._row, user] for user in users]

    def _usage(self, half_life: float) -> Numbers:
        """Decayed usage of each user. [epoch, user]"""
        if half_life not in self._known:
            kept = decay_of(half_life) ** self._period
            so_far = np.zeros_like(self._held, shape=(len(self._held) + 1, self._held.shape[1]))
            for epoch, held in enumerate(self._held):
                so_far[epoch + 1] = (so_far[epoch] + held) * kept
            self._known[half_life] = so_far[self._epochs]
        return self._known[half_life]

    def _factors(self, point: SharePoint) -> Numbers:
        """A user's rank in a fair tree of two levels, over the number of users. [epoch, user]"""
        used = self._usage(point.half_life)
        by_account = used @ self._member
        shares, own = (np.array(SHARES)[list(each)] for each in (point.accounts, point.users))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            top = shares / shares.sum() / (by_account / by_account.sum(axis=1, keepdims=True))
            below = own / (own @ self._member)[self._account]
            below = below / (used / by_account[:, self._account])
        # Who has used nothing is never behind.
        top = np.where(by_account > 0, top, np.inf)[:, self._account]
        below = np.where(used > 0, below, np.inf)
        order = np.lexsort((-below, -top), axis=1)
        ordered = [np.take_along_axis(each, order, axis=1) for each in (top, below)]
        count = used.shape[1]
        ahead = np.tile(np.arange(count), (len(used), 1))
        for each in range(1, count):
            same = [level[:, each] == level[:, each - 1] for level in ordered]
            equal = np.logical_and(*same)
            ahead[equal, each] = ahead[equal, each - 1]
        ranks = np.empty_like(ahead)
        np.put_along_axis(ranks, order, ahead, axis=1)
        found: Numbers = (count - ranks) / count
        return found


def _held_until(edges: Numbers, jobs: Started, mine: Flags) -> Numbers:
    """Device time that some jobs have held until some moments."""

    def passed(since: Numbers) -> Numbers:
        order = np.argsort(since)
        ascending, weights = since[order], jobs.devices[mine][order]
        place = np.searchsorted(ascending, edges, side="right")
        held = np.concatenate([[0.0], np.cumsum(weights)])[place]
        moments = np.concatenate([[0.0], np.cumsum(weights * ascending)])[place]
        found: Numbers = held * edges - moments
        return found

    return passed(jobs.begun[mine]) - passed(jobs.ended[mine])
