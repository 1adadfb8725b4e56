"""Schedulers written from their rules with none of our code, in whole seconds, to compare with.

FIFO, SJF and LAS are in `validation/logs/by_hand.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import NamedTuple


class Request(NamedTuple):
    """A rigid job.

    Attributes:
        arrival: when it is submitted.
        devices: that it holds.
        limit: seconds that its user allows.
        seconds: that it runs, at most the limit.
        user: who submits it.
        qos: of its quality of service, the priority.
    """

    arrival: int
    devices: int
    limit: int
    seconds: int
    user: str = ""
    qos: int = 0


NOBODY: Mapping[int, int] = {}
"""Jobs without a plan."""

Course = tuple[list[int], list[int]]
"""When each job began first, and when each ended."""


def srtf(jobs: Sequence[Request], devices: int, restart: int) -> Course:
    """Shortest remaining time first: at every event devices are dealt out afresh.

    Of one that waits and has run, a restart is left too; of equal ones those that run come first,
    then the first to come. Who does not fit is passed.
    """
    now, left = 0, [job.seconds for job in jobs]
    pays = [0] * len(jobs)
    runs, begun, ended = set[int](), dict[int, int](), dict[int, int]()
    while len(ended) < len(jobs):
        there = [i for i, job in enumerate(jobs) if job.arrival <= now and i not in ended]
        due = {i: left[i] + (pays[i] if i in runs else restart * (i in begun)) for i in there}
        free, chosen = devices, set[int]()
        for i in sorted(there, key=lambda i: (due[i], i not in runs, i)):
            if jobs[i].devices <= free:
                free -= jobs[i].devices
                chosen.add(i)
        for i in chosen - runs:
            pays[i] = restart if i in begun else 0
            begun.setdefault(i, now)
        runs = chosen
        steps = [job.arrival - now for job in jobs if job.arrival > now]
        step = min(steps + [pays[i] + left[i] for i in runs])
        for i in tuple(runs):
            paid = min(pays[i], step)
            pays[i], left[i] = pays[i] - paid, left[i] - (step - paid)
            if not left[i]:
                ended[i] = now + step
                runs.remove(i)
        now += step
    return [begun[i] for i in range(len(jobs))], [ended[i] for i in range(len(jobs))]


def easy(jobs: Sequence[Request], devices: int) -> Course:
    """EASY: the first that waits has a shadow time, and what is extra then others may run on in."""
    begun = dict[int, int]()
    for now in _events(jobs, begun):
        waiting = [i for i, job in enumerate(jobs) if job.arrival <= now and i not in begun]
        runs = [i for i, at in begun.items() if at + jobs[i].seconds > now]
        free = devices - sum(jobs[i].devices for i in runs)
        while waiting and jobs[waiting[0]].devices <= free:
            head = waiting.pop(0)
            begun[head] = now
            runs.append(head)
            free -= jobs[head].devices
        if not waiting:
            continue
        head, shadow, there = waiting.pop(0), inf, free
        for end, i in sorted((max(now, begun[i] + jobs[i].limit), i) for i in runs):
            there += jobs[i].devices
            if there >= jobs[head].devices:
                shadow = end
                break
        extra = there - jobs[head].devices
        for i in waiting:
            soon = now + jobs[i].limit <= shadow
            if jobs[i].devices <= free and (soon or jobs[i].devices <= extra):
                begun[i] = now
                free -= jobs[i].devices
                extra -= 0 if soon else jobs[i].devices
    return _course(jobs, begun)


def conservative(jobs: Sequence[Request], devices: int) -> Course:  # noqa: C901 - as one walk
    """Conservative backfilling: all have a place, that moves forward when somebody ends early."""
    begun, plans = dict[int, int](), dict[int, int]()

    def free(at: int, but: int) -> int:
        held = [i for i, start in begun.items() if i not in gone and at < start + jobs[i].limit]
        held += [i for i, s in plans.items() if i != but and s <= at < s + jobs[i].limit]
        return devices - sum(jobs[i].devices for i in held)

    def first(i: int, now: int) -> int:
        ends = [start + jobs[j].limit for j, start in (*begun.items(), *plans.items())]
        starts = [start for j, start in plans.items() if j != i]
        for start in sorted({now, *(end for end in ends if end > now)}):
            looks = {start, *(s for s in (*starts, *ends) if start <= s < start + jobs[i].limit)}
            if all(free(at, i) >= jobs[i].devices for at in looks):
                return start
        raise AssertionError("after all others there is room")

    gone = set[int]()
    for now in _events(jobs, begun, plans=plans):
        over = {i for i, at in begun.items() if at + jobs[i].seconds <= now} - gone
        gone |= over
        if any(jobs[i].seconds < jobs[i].limit for i in over):
            for i in sorted(plans):
                plans[i] = first(i, now)
        for i, job in enumerate(jobs):
            if job.arrival == now:
                plans[i] = first(i, now)
        for i in [i for i, start in plans.items() if start <= now]:
            begun[i] = plans.pop(i)
    return _course(jobs, begun)


class Shares(NamedTuple):
    """A fair tree of two levels: accounts with shares, and users with an account and shares.

    Users whose account is empty stand beside the accounts.
    """

    accounts: Mapping[str, int]
    users: Mapping[str, tuple[str, int]]


def fair_tree(shares: Shares, usage: Mapping[str, float]) -> Mapping[str, float]:
    """Rank over number of each user: accounts by share over usage, in them users likewise.

    A user beside accounts that is equal to some of them shares the rank of their best user.
    """
    by_account = {
        name: sum(usage[user] for user, (mine, _) in shares.users.items() if mine == name)
        for name in shares.accounts
    }

    def level(part: float, used: float, of: float) -> float:
        return 0.0 if not part else inf if not used else part / (used / of)

    alone = {user: s for user, (where, s) in shares.users.items() if not where}
    total = sum(shares.accounts.values()) + sum(alone.values())
    of = sum(by_account.values()) + sum(usage[user] for user in alone)
    beside: dict[float, list[str]] = {}
    for user, share in alone.items():
        beside.setdefault(level(share / (total or 1), usage[user], of), []).append(user)
    merged: dict[float, list[str]] = {}
    for name, share in shares.accounts.items():
        merged.setdefault(level(share / (total or 1), by_account[name], of), []).append(name)
    line: list[list[str]] = []
    for due in sorted({*merged, *beside}, reverse=True):
        ties: dict[float, list[str]] = {}
        for name in merged.get(due, ()):
            mine = [(user, s) for user, (where, s) in shares.users.items() if where == name]
            whole = sum(s for _, s in mine)
            for user, s in mine:
                key = level(s / (whole or 1), usage[user], by_account[name])
                ties.setdefault(key, []).append(user)
        inner = [ties[key] for key in sorted(ties, reverse=True)] or [[]]
        inner[0] = inner[0] + beside.get(due, [])
        line += filter(None, inner)
    found, rank = dict[str, float](), len(shares.users)
    for users in line:
        found.update(dict.fromkeys(users, rank / len(shares.users)))
        rank -= len(users)
    return found


class Weights(NamedTuple):
    """Of a multifactor priority, in seconds where they are times."""

    age: int
    fairshare: int
    size: int
    qos: int
    longest: int
    half_life: int
    period: int


def multifactor(
    jobs: Sequence[Request], devices: int, weights: Weights, *, shares: Shares
) -> Course:
    """The main loop of Slurm alone: by priority, and whoever does not fit blocks all behind it.

    Priorities are those of the beginning of the period, or of a job's submission in it.
    """
    begun, usage = dict[int, int](), dict.fromkeys(shares.users, 0.0)
    period, done, ranks = weights.period, 0, fair_tree(shares, usage)
    keep = (1.0 - 0.693 / weights.half_life) ** period
    most = max(job.qos for job in jobs) or 1
    for now in _events(jobs, begun, every=period):
        while (done + 1) * period <= now:
            end = (done + 1) * period
            for i, at in begun.items():
                inside = min(end, at + jobs[i].seconds) - max(end - period, at)
                usage[jobs[i].user] += max(0, inside) * jobs[i].devices
            usage = {user: used * keep for user, used in usage.items()}
            done, ranks = done + 1, fair_tree(shares, usage)

        def priority(i: int, at: int = now, ranks: Mapping[str, float] = ranks) -> int:
            job = jobs[i]
            age = (max(job.arrival, at // period * period) - job.arrival) / weights.longest
            parts = (
                weights.age * min(1.0, age), weights.fairshare * ranks[job.user],
                weights.size * (job.devices / devices + job.devices / devices) / 2.0,
                weights.qos * job.qos / most,
            )  # fmt: skip
            return int(max(1.0, sum(parts)))

        waiting = [i for i, job in enumerate(jobs) if job.arrival <= now and i not in begun]
        runs = [i for i, at in begun.items() if at + jobs[i].seconds > now]
        free = devices - sum(jobs[i].devices for i in runs)
        for i in sorted(waiting, key=lambda i: (-priority(i), jobs[i].arrival, i)):
            if jobs[i].devices > free:
                break
            begun[i] = now
            free -= jobs[i].devices
    return _course(jobs, begun)


def _events(
    jobs: Sequence[Request],
    begun: Mapping[int, int],
    *,
    plans: Mapping[int, int] = NOBODY,
    every: int = 0,
) -> Iterator[int]:
    """Moments at which something happens: arrivals, ends, planned starts and periods."""
    now = min(job.arrival for job in jobs)
    while True:
        yield now
        moments = [job.arrival for job in jobs]
        moments += [at + jobs[i].seconds for i, at in begun.items()]
        moments += plans.values()
        if every and len(begun) < len(jobs):
            moments.append((now // every + 1) * every)
        later = [moment for moment in moments if moment > now]
        if not later:
            return
        now = min(later)


def _course(jobs: Sequence[Request], begun: Mapping[int, int]) -> Course:
    starts = [begun[i] for i in range(len(jobs))]
    return starts, [start + job.seconds for start, job in zip(starts, jobs, strict=True)]
