"""Summaries: what a run says about response times, waiting and who got what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import fsum
from statistics import fmean

from foretrain.cluster.fleet import Fleet
from foretrain.errors import InputError
from foretrain.jobs.outcomes import Outcomes
from foretrain.jobs.result import JobCounts, Part, RunSummary
from foretrain.measured.job import End, Job

ROUNDING = 1e-9
"""Share of a time below which differences are those of floats."""

MOST_PARTS = 20
"""Users or groups that are told apart, those with the most device time."""


def summary(outcomes: Outcomes, fleet: Fleet, *, warm_up: float = 0.0) -> RunSummary:
    """What a run says.

    Args:
        outcomes: of the run.
        fleet: what the jobs shared.
        warm_up: share of the jobs, the first to come, that is not counted.

    Raises:
        InputError: where no job counts.
    """
    jobs = outcomes.trace.jobs
    first = int(warm_up * len(jobs))
    counted = [place for place in range(first, len(jobs)) if jobs[place].end is not End.RUNNING]
    if not counted:
        raise InputError(
            f"{outcomes.trace.name}: no job is left to count: those after the warm-up still ran"
            " when the log was written. Take a smaller simulation.warm_up."
        )
    rows = [_row(outcomes, place) for place in counted]
    makespan = max(outcomes.ended) - jobs[0].arrival
    return RunSummary(
        responses=tuple(row.response for row in rows),
        waiting=tuple(row.waiting for row in rows),
        finished=tuple(row.response for row in rows if row.job.end is End.FINISHED),
        makespan=makespan,
        utilisation=fsum(outcomes.attained) / (makespan * fleet.devices),
        fragmentation=outcomes.fragmentation,
        interruptions=sum(outcomes.stops),
        counts=_counts(jobs),
        groups=_parts(rows, lambda job: job.group),
        users=_parts(rows, lambda job: job.user),
    )


@dataclass(frozen=True, slots=True)
class _Row:
    """One job of a run."""

    job: Job
    response: float
    waiting: float
    device_time: float


def _row(outcomes: Outcomes, place: int) -> _Row:
    job = outcomes.trace.jobs[place]
    response = outcomes.ended[place] - job.arrival
    return _Row(
        job=job,
        response=response,
        waiting=_above(response, outcomes.held[place]),
        device_time=outcomes.attained[place],
    )


def _above(response: float, held: float) -> float:
    """What a response is longer than a hold; 0 where that is the rounding of floats."""
    return response - held if response > held * (1.0 + ROUNDING) else 0.0


def _counts(jobs: Sequence[Job]) -> JobCounts:
    ends = Counter(job.end for job in jobs)
    return JobCounts(
        submitted=len(jobs),
        finished=ends[End.FINISHED],
        stopped=ends[End.STOPPED],
        failed=ends[End.FAILED],
        killed=ends[End.KILLED],
        waiting=0,
        running=ends[End.RUNNING],
    )


def _parts(rows: Sequence[_Row], name: Callable[[Job], str]) -> tuple[Part, ...]:
    """The jobs by user or group; none where all have the same."""
    mine: dict[str, list[_Row]] = {}
    for row in rows:
        mine.setdefault(name(row.job), []).append(row)
    if len(mine) < 2:
        return ()
    parts = [
        Part(
            name=of or "not named",
            jobs=len(some),
            mean_response=fmean(row.response for row in some),
            mean_waiting=fmean(row.waiting for row in some),
            device_time=fsum(row.device_time for row in some),
        )
        for of, some in mine.items()
    ]
    return tuple(sorted(parts, key=lambda part: (-part.device_time, part.name))[:MOST_PARTS])
