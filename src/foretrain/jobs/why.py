"""Why a job waits: what kept it from starting, from its coming to its start, and what would help.

Once a policy has decided, whoever still waits does so for a reason: what it waits for has not
happened, a limit keeps it, there is no room, or the room there is belongs to others. The first that
holds, in the order in which Slurm looks, is noted whenever it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf, isnan
from typing import Final, NamedTuple

from foretrain.errors import InputError, nearest
from foretrain.jobs.active import Active
from foretrain.jobs.admission import Eligibility
from foretrain.jobs.asked import WaitPeriod, WaitReason, WaitRemedy, WhyWaited
from foretrain.jobs.backfill import BackfillDispatcher
from foretrain.jobs.conservative import ConservativeDispatcher
from foretrain.jobs.kueue import KueueDispatcher
from foretrain.jobs.mix import pace
from foretrain.jobs.nodes import NodePool
from foretrain.jobs.outcomes import Outcomes
from foretrain.jobs.simulation import Dispatcher, Simulation
from foretrain.jobs.slurm import SlurmDispatcher
from foretrain.measured.job import Job, Trace
from foretrain.measured.limit import Party, PartyLimit
from foretrain.measured.queue_study import Conditions
from foretrain.measured.site import SiteRules

NAMED: Final = 5
"""Jobs that are named of those that went before another."""

MOST_PERIODS: Final = 500
"""Of a job; where reasons change more often than that, the last is taken to last."""


class WhatKeeps(NamedTuple):
    """What keeps a job at a moment."""

    reason: str
    by: str = ""


class _Others(NamedTuple):
    """Jobs that wait, by rank; those that stand before another where the policy has a queue."""

    ranks: tuple[int, ...]
    queued: bool


class _Noted(NamedTuple):
    """A reason, from when it held until when, what was free, and who waited then."""

    kept: WhatKeeps
    start: float
    end: float
    free: float
    others: _Others


class WaitingNotes:
    """Notes why one job waits, under any dispatcher.

    Attributes:
        job: name of the job.
        noted: what kept it so far.
    """

    def __init__(self, job: str) -> None:
        self.job = job
        self.noted: list[_Noted] = []

    def over(
        self,
        dispatcher: Dispatcher,
        policy: Dispatcher,
        eligibility: Eligibility | None,
    ) -> Dispatcher:
        """The dispatcher, which is looked at after each decision.

        Args:
            dispatcher: all stages.
            policy: the stage that decides who starts.
            eligibility: the stage in which jobs wait for others; None where none does.
        """
        return _Looking(dispatcher, policy, self, eligibility)

    def note(self, kept: WhatKeeps | None, others: _Others, simulation: Simulation) -> None:
        """What keeps the job from now on; None where it does not wait."""
        last = self.noted[-1] if self.noted and self.noted[-1].end == inf else None
        full = len(self.noted) >= MOST_PERIODS
        if last and kept and (full or kept == last.kept):
            return
        if last:
            self.noted[-1] = last._replace(end=simulation.now)
        if kept:
            free = simulation.pool.free(())
            self.noted.append(_Noted(kept, simulation.now, inf, free, others))


@dataclass(slots=True)
class _Looking:
    """A dispatcher under which it is looked why a job waits."""

    _dispatcher: Dispatcher
    _policy: Dispatcher
    _notes: WaitingNotes
    _eligibility: Eligibility | None
    _there: dict[int, Active] = field(default_factory=dict)
    _mine: Active | None = None

    def arrive(self, active: Active, simulation: Simulation) -> None:
        """A job has come."""
        self._there[active.rank] = active
        if active.job.name == self._notes.job:
            self._mine = active
        self._dispatcher.arrive(active, simulation)

    def leave(self, active: Active, simulation: Simulation) -> None:
        """A job has ended, or lost its node."""
        del self._there[active.rank]
        if active is self._mine:
            self._mine = None
        self._dispatcher.leave(active, simulation)

    def decide(self, simulation: Simulation) -> None:
        """Let the dispatcher decide, and look who still waits."""
        self._dispatcher.decide(simulation)
        mine, others = self._mine, _Others((), queued=True)
        if mine is None or mine.held or mine.rank in simulation.outcomes.cancelled:
            self._notes.note(None, others, simulation)
            return
        others = self._before(mine, simulation)
        self._notes.note(next(self._kept(mine, simulation, others)), others, simulation)

    def _before(self, mine: Active, simulation: Simulation) -> _Others:
        """Who stands before a job: as the site sorts them, by arrival, or else all that wait."""
        if isinstance(self._policy, SlurmDispatcher):
            before = self._policy.before(mine, simulation.now)
            return _Others(tuple(each.rank for each in before), queued=True)
        there = self._there.items()
        waiting = (rank for rank, it in there if it.held is None and simulation.is_home(it.job))
        by_arrival = isinstance(self._policy, BackfillDispatcher | ConservativeDispatcher)
        ranks = (each for each in waiting if each < mine.rank or not by_arrival)
        return _Others(tuple(each for each in ranks if each != mine.rank), queued=by_arrival)

    def _kept(self, mine: Active, simulation: Simulation, others: _Others) -> Iterator[WhatKeeps]:
        """What keeps a job that the policy has not started, the decisive reason first."""
        now, job = simulation.now, mine.job
        if now < mine.eligible:
            yield WhatKeeps(WaitReason.BEGIN)
        if now < simulation.outcomes.trace.opened:
            yield WhatKeeps(WaitReason.BEGIN, "the log begins later")
        if mine.suspended:
            yield WhatKeeps(WaitReason.SUSPENDED)
        waits_for = self._eligibility.lacks(mine) if self._eligibility else ()
        if waits_for:
            yield WhatKeeps(WaitReason.DEPENDENCY, ", ".join(waits_for[:NAMED]))
        limit = simulation.limits.reached(mine, job.devices)
        if limit is not None:
            yield WhatKeeps(reason_of(limit), told(limit))
        if isinstance(self._policy, KueueDispatcher) and self._policy.exhausted(mine):
            yield WhatKeeps(WaitReason.QUOTA, job.group)
        if self._not_there(mine, simulation):
            yield WhatKeeps(WaitReason.NODES)
        first = others.ranks if others.queued else simulation.pool.has(job.devices, job.kinds)
        yield WhatKeeps(WaitReason.PRIORITY if first else WaitReason.RESOURCES)

    def _not_there(self, mine: Active, simulation: Simulation) -> bool:
        """Whether nodes that are down, or kept free, keep a job that would find room else."""
        job, pool = mine.job, simulation.pool
        if isinstance(self._policy, SlurmDispatcher) and isinstance(pool, NodePool):
            return self._policy.shut_out(mine, simulation)
        down = sum(count for kind, count in pool.down.items() if not job.kinds or kind in job.kinds)
        short = not pool.has(job.devices, job.kinds)
        return bool(down) and short and pool.free(job.kinds) + down >= job.devices


def reason_of(limit: PartyLimit) -> str:
    """The word of `squeue` for a limit.

    Args:
        limit: that keeps a job.
    """
    if limit.license:
        return "Licenses"
    if Party.ARRAY in {limit.each, limit.of}:
        return "JobArrayTaskLimit"
    what = "GRES" if limit.devices < inf else "Jobs"
    if limit.each in {Party.USER, Party.ACCOUNT}:
        whom = "User" if limit.each is Party.USER else "Account"
        return f"QOSMax{what}Per{whom}" + ("Limit" if what == "Jobs" else "")
    level = "Assoc" if Party.ACCOUNT in {limit.each, limit.of} else "QOS"
    return f"{level}Grp{what}" + ("Limit" if what == "Jobs" else "")


def told(limit: PartyLimit) -> str:
    """A limit in words.

    Args:
        limit: of devices, jobs, licences or several of them.
    """
    most = [f"{limit.devices:g} devices"] if limit.devices < inf else []
    most += [f"{limit.jobs:g} jobs"] if limit.jobs < inf else []
    most += [f"{limit.count:g} licences of {limit.license}"] if limit.count < inf else []
    of = f" of {limit.of} {limit.named}" if limit.of else ""
    return f"{' and '.join(most)} for {f'each {limit.each}' if limit.each else 'all'}{of}"


Simulates = Callable[[Trace, Conditions, WaitingNotes | None], Outcomes]
"""A run of a trace under conditions, under one policy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitQuestion:
    """Why a job waits.

    Attributes:
        job: its name.
        policy: under which.
        trace: with it.
        conditions: under which all jobs run.
    """

    job: str
    policy: str
    trace: Trace
    conditions: Conditions


def why_waited(asked: WaitQuestion, simulates: Simulates) -> WhyWaited:
    """What kept a job from starting, and what would have let it start sooner.

    Args:
        asked: the question.
        simulates: does a run.

    Raises:
        InputError: no job of the trace has that name.
    """
    names = [job.name for job in asked.trace.jobs]
    if asked.job not in names:
        raise InputError(
            f"no job of {asked.trace.name} is called {asked.job}.{nearest(asked.job, names)} The "
            f"first is {names[0]}, the last {names[-1]}."
        )
    rank = names.index(asked.job)
    job, notes = asked.trace.jobs[rank], WaitingNotes(asked.job)
    outcomes = simulates(asked.trace, asked.conditions, notes)
    begun = outcomes.begun[rank]
    started = None if isnan(begun) else begun
    end = outcomes.ended[rank]
    periods = tuple(_period(each, asked.trace, outcomes, until=end) for each in notes.noted)
    waited = end - job.arrival - outcomes.held[rank]
    remedies = []
    for change, trace, conditions in _changes(asked, rank, {each.by for each in periods}):
        then = simulates(trace, conditions, None).begun[rank]
        if started is not None and then < started:
            remedies.append(
                WaitRemedy(change=change, waiting=then - job.arrival, sooner=started - then)
            )
    return WhyWaited(
        job=asked.job,
        policy=asked.policy,
        devices=job.devices,
        submitted=job.arrival,
        started=started,
        waited=waited,
        periods=tuple(each for each in periods if each.end > each.start),
        remedies=tuple(sorted(remedies, key=lambda each: -each.sooner)),
    )


def _period(noted: _Noted, trace: Trace, outcomes: Outcomes, *, until: float) -> WaitPeriod:
    """A reason, and who of those that waited then went first.

    Where a policy has no queue, those went first that waited and began before the reason was gone.
    """
    end, (ranks, queued) = min(noted.end, until), noted.others
    queues = noted.kept.reason not in {WaitReason.BEGIN, WaitReason.DEPENDENCY}
    before = [rank for rank in ranks if queues and (queued or outcomes.begun[rank] < end)]
    passed = noted.kept.reason == WaitReason.RESOURCES and before
    return WaitPeriod(
        start=noted.start,
        end=end,
        reason=str(WaitReason.PRIORITY if passed else noted.kept.reason),
        by=noted.kept.by,
        free=noted.free,
        ahead=tuple(trace.jobs[rank].name for rank in before[:NAMED]),
        count=len(before),
    )


def _changes(
    asked: WaitQuestion, rank: int, kept_by: set[str]
) -> Iterator[tuple[str, Trace, Conditions]]:
    """What might have been otherwise: the job's limit, its quality, a limit that kept it."""
    job, conditions = asked.trace.jobs[rank], asked.conditions
    other = partial(_with, asked.trace, rank)
    runs = job.ends_after / pace(job)
    if job.estimate is not None and runs < job.estimate:
        yield "a time limit of what it ran", other(replace(job, estimate=runs)), conditions
    best = max(conditions.site.qualities, key=lambda each: each.priority, default=None)
    if best is not None and best.name != job.qos:
        yield f"quality of service {best.name}", other(replace(job, qos=best.name)), conditions
    for limit in (*conditions.limits, *conditions.site.limits):
        if told(limit) in kept_by:
            yield f"no limit of {told(limit)}", asked.trace, _without(conditions, limit)


def _with(trace: Trace, rank: int, job: Job) -> Trace:
    jobs = list(trace.jobs)
    jobs[rank] = job
    return replace(trace, jobs=tuple(jobs))


def _without(conditions: Conditions, limit: PartyLimit) -> Conditions:
    site: SiteRules = conditions.site
    left = tuple(each for each in site.limits if each != limit)
    others = tuple(each for each in conditions.limits if each != limit)
    return replace(conditions, limits=others, site=replace(site, limits=left))
