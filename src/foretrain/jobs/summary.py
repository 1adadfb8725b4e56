"""Summaries: what a run says about response times, waiting and who got what.

Confidence: how sure a mean of times is, of which none is below 0.

The logarithm of the mean is taken to be about normal, so that the interval ends above 0 and its
upper part, where a mean of few jobs is likelier to have gone wrong, is the longer one.

Parts of one run depend on those before them. That is told by the correlation of each with the
next, which says how many independent values would tell as much.

Comparison: one policy over all seeds, and two of them on the same jobs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import exp, floor, fsum, sqrt
from statistics import fmean, median, quantiles, stdev

from foretrain.cluster.mixed import Fleet
from foretrain.errors import InputError
from foretrain.jobs.outcomes import Outcomes
from foretrain.jobs.result import JobCounts, PartyResult, PolicyPair, PolicyResult
from foretrain.measured.job import OPEN_ENDS, End, Job
from foretrain.statistics import paired, student_quantile

ROUNDING = 1e-9
"""Share of a time below which differences are those of floats."""

MOST_PARTS = 20
"""Users or groups that are told apart, those with the most device time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """One run of one policy.

    Attributes:
        responses: seconds from coming to ending, of the jobs that count, in order of arrival:
            those after the warm-up that have ended.
        waiting: seconds of those without devices.
        finished: responses of the jobs that finished.
        makespan: seconds from the first arrival, or from when the trace opens, to the last end.
        utilisation: device-seconds held over those there were in that time.
        fragmentation: mean share of the devices that were free but of no use; None if not seen.
        interruptions: of all jobs.
        counts: jobs by what became of them.
        groups: by virtual cluster or queue.
        users: likewise.
        rented: of each kind, the share of that time's device-seconds that were there or on their
            way; None where nodes neither come nor leave.
    """

    responses: tuple[float, ...]
    waiting: tuple[float, ...]
    finished: tuple[float, ...]
    makespan: float
    utilisation: float
    fragmentation: float | None
    interruptions: int
    counts: JobCounts
    groups: tuple[PartyResult, ...]
    users: tuple[PartyResult, ...]
    rented: Mapping[str, float] | None = None

    @property
    def mean(self) -> float:
        """Mean response, seconds."""
        return fmean(self.responses)


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
    gone = outcomes.cancelled
    counted = [
        place
        for place in range(first, len(jobs))
        if jobs[place].end not in OPEN_ENDS
        and place not in gone
        and jobs[place].name not in outcomes.trace.found
    ]
    if not counted:
        raise InputError(
            f"{outcomes.trace.name}: no job is left to count: those after the warm-up ran when the"
            " log began, or had not ended when it was written. Take a smaller simulation.warm_up."
        )
    rows = _rows(outcomes, counted)
    makespan = max(outcomes.ended) - max(jobs[0].arrival, outcomes.trace.opened)
    return RunSummary(
        responses=tuple(row.response for row in rows),
        waiting=tuple(row.waiting for row in rows),
        finished=tuple(row.response for row in rows if row.end is End.FINISHED),
        makespan=makespan,
        utilisation=(fsum(outcomes.attained) - outcomes.before) / (makespan * fleet.devices),
        fragmentation=outcomes.fragmentation,
        rented=None if outcomes.rented is None else _rented(outcomes.rented, fleet, makespan),
        interruptions=sum(outcomes.stops),
        counts=_counts(outcomes),
        groups=_parts(rows, lambda job: job.group),
        users=_parts(rows, lambda job: job.user),
    )


def _rented(seconds: Mapping[str, float], fleet: Fleet, makespan: float) -> Mapping[str, float]:
    """Of each kind, the share of the time of its devices."""
    return {
        each.kind: seconds[each.kind] / (makespan * each.count * each.devices)
        for each in fleet.nodes
    }


def _rows(outcomes: Outcomes, counted: Sequence[int]) -> list[_Row]:
    """What counts, in the order of arrival: jobs, and sweeps, each as one from its first trial on.

    The response of a sweep is the time to its winner; it waits while none of its trials runs.
    """
    jobs = outcomes.trace.jobs
    rows = []
    sweeps: dict[str, list[int]] = {}
    for place in counted:
        rung = jobs[place].rung
        if rung is not None:
            sweeps.setdefault(rung.sweep.name, []).append(place)
        else:
            end = End.KILLED if place in outcomes.killed else jobs[place].end
            rows.append(_row(outcomes, [place], held=outcomes.held[place], end=end))
    for name, places in sweeps.items():
        rows.append(_row(outcomes, places, held=outcomes.sweeps[name], end=End.FINISHED))
    return sorted(rows, key=lambda row: row.job.arrival) if sweeps else rows


def _row(outcomes: Outcomes, places: Sequence[int], *, held: float, end: End) -> _Row:
    first = outcomes.trace.jobs[places[0]]
    response = max(outcomes.ended[place] for place in places) - first.arrival
    # What a response is longer than a hold; 0 where that is the rounding of floats.
    waiting = response - held if response > held * (1.0 + ROUNDING) else 0.0
    return _Row(first, end, response, waiting, fsum(outcomes.attained[place] for place in places))


def _counts(outcomes: Outcomes) -> JobCounts:
    """Jobs by what became of them; who was ended early or given up was killed.

    A sweep is one of them, and finishes, whatever becomes of its trials.
    """
    early = outcomes.killed | outcomes.cancelled
    ends = Counter(
        End.KILLED if place in early else job.end
        for place, job in enumerate(outcomes.trace.jobs)
        if job.rung is None
    )
    ends[End.FINISHED] += len(outcomes.sweeps)
    return JobCounts(
        submitted=ends.total(),
        finished=ends[End.FINISHED],
        stopped=ends[End.STOPPED],
        failed=ends[End.FAILED],
        killed=ends[End.KILLED],
        waiting=ends[End.PENDING],
        running=ends[End.RUNNING],
    )


@dataclass(frozen=True, slots=True)
class _Row:
    """One job of a run."""

    job: Job
    end: End
    response: float
    waiting: float
    device_time: float


def _parts(rows: Sequence[_Row], name: Callable[[Job], str]) -> tuple[PartyResult, ...]:
    """The jobs by user or group; none where all have the same."""
    mine: dict[str, list[_Row]] = {}
    for row in rows:
        mine.setdefault(name(row.job), []).append(row)
    if len(mine) < 2:
        return ()
    parts = [
        PartyResult(
            name=of or "not named",
            jobs=len(some),
            mean_response=fmean(row.response for row in some),
            mean_waiting=fmean(row.waiting for row in some),
            device_time=fsum(row.device_time for row in some),
        )
        for of, some in mine.items()
    ]
    return tuple(sorted(parts, key=lambda part: (-part.device_time, part.name))[:MOST_PARTS])


Interval = tuple[float, float]

CONFIDENCE = 0.95

PARTS = 20
"""Consecutive parts of one run, whose means tell how sure its mean is. Source: law2015, 9.5.3."""

LEAST = 3.0
"""Independent values from which on a mean is said to be known with an interval."""


def of_runs(means: Sequence[float]) -> Interval | None:
    """The interval that holds the mean, from runs that do not depend on each other.

    Args:
        means: of each run, above 0.

    Returns:
        Two values above 0; None for fewer than three runs, of which two tell next to nothing.

    Source: oehlert1992: the delta method; student1908.
    """
    count = len(means)
    return _around(fmean(means), means, like=float(count)) if count >= LEAST else None


def of_one_run(values: Sequence[float]) -> Interval | None:
    """The interval that holds the mean, from the values of one run, which depend on each other.

    Args:
        values: above 0, in the order of time. Means of consecutive `PARTS` of them, as equally
            long as can be, hardly depend on each other any more.

    Returns:
        Two values above 0; None where there are fewer than two values to a part, or parts depend
        so much on each other that the run is too short to tell.

    Source: law2015, section 9.5.3: batch means; bayley1946: how many independent values tell as
    much; kendall1954: by how much a short series shows too little correlation.
    """
    if len(values) < 2 * PARTS:
        return None
    ends = [place * len(values) // PARTS for place in range(PARTS + 1)]
    means = [fmean(values[start:end]) for start, end in pairwise(ends)]
    like = independent(means)
    return _around(fmean(values), means, like=like) if like >= LEAST else None


def independent(values: Sequence[float]) -> float:
    """How many independent values tell as much of a mean as these do, in the order of time.

    Each value is taken to depend on the one before it alone; at most as many as there are.
    """
    count, middle = len(values), fmean(values)
    gaps = [value - middle for value in values]
    spread = fsum(gap * gap for gap in gaps)
    if count <= 3 or not spread:
        return float(count)
    shown = fsum(before * after for before, after in pairwise(gaps)) / spread
    likely = min(max((count * shown + 1.0) / (count - 3.0), 0.0), 1.0)
    return count * (1.0 - likely) / (1.0 + likely)


def _around(middle: float, values: Sequence[float], *, like: float) -> Interval:
    """The interval of a mean, by values that tell as much of it as some independent ones.

    A mean of 0 is that of values that are all 0, and nothing tells of others.
    """
    if not middle:
        return 0.0, 0.0
    error = stdev(values) / sqrt(like) / middle
    reach = exp(student_quantile(CONFIDENCE, freedom=max(1, floor(like) - 1)) * error)
    return middle / reach, middle * reach


def percentiles(values: Sequence[float]) -> tuple[float, ...]:
    """What 0, 1, 2 ... 100 % of some values, of which there is one, stay below or reach.

    Args:
        values: in any order.
    """
    if len(values) < 2:
        return (values[0],) * 101
    return (min(values), *quantiles(values, n=100, method="inclusive"), max(values))


def policy_result(fleet: Fleet, runs: Sequence[RunSummary]) -> PolicyResult:
    """One policy over all seeds."""
    responses = [response for run in runs for response in run.responses]
    waiting = [seconds for run in runs for seconds in run.waiting]
    finished = [response for run in runs for response in run.finished]
    # Over seeds, or over parts of the only run.
    means = [run.mean for run in runs]
    low, high = (of_runs(means) if len(runs) > 1 else of_one_run(responses)) or (None, None)
    cuts = percentiles(responses)
    makespan = fmean(run.makespan for run in runs)
    seen = [run.fragmentation for run in runs if run.fragmentation is not None]
    names = ("submitted", "finished", "stopped", "failed", "killed", "waiting", "running")
    jobs = JobCounts(**{name: sum(getattr(run.counts, name) for run in runs) for name in names})
    rented = _rented_share(fleet, runs)
    return PolicyResult(
        mean_response=fmean(means),
        low=low,
        high=high,
        p50=cuts[50],
        p95=cuts[95],
        p99=cuts[99],
        quantiles=cuts,
        mean_waiting=fmean(waiting),
        median_waiting=median(waiting),
        p95_waiting=percentiles(waiting)[95],
        mean_response_finished=fmean(finished) if finished else None,
        makespan=makespan,
        utilisation=fmean(run.utilisation for run in runs),
        fragmentation=fmean(seen) if seen else None,
        rented=rented[0] if rented else None,
        interruptions=sum(run.interruptions for run in runs) / jobs.submitted,
        cost=makespan * fleet.price * (rented[1] if rented else 1.0) if fleet.price else None,
        jobs=jobs,
        groups=_parts_of_runs([run.groups for run in runs]),
        users=_parts_of_runs([run.users for run in runs]),
    )


def _rented_share(fleet: Fleet, runs: Sequence[RunSummary]) -> tuple[float, float] | None:
    """Share of the device time of a fleet that was rented, and of its price."""
    if runs[0].rented is None:
        return None
    shares = {
        each.kind: fmean(run.rented[each.kind] for run in runs if run.rented)
        for each in fleet.nodes
    }
    devices = {each.kind: float(each.count * each.devices) for each in fleet.nodes}
    prices = {each.kind: devices[each.kind] * each.price for each in fleet.nodes}
    time, price = (
        fsum(shares[kind] * weight for kind, weight in weights.items())
        / (fsum(weights.values()) or 1.0)
        for weights in (devices, prices)
    )
    return time, price


def pair(first: str, second: str, runs: Mapping[str, Sequence[RunSummary]]) -> PolicyPair:
    """Two policies on the same jobs, the better one first."""
    better = [run.mean for run in runs[first]]
    worse = [run.mean for run in runs[second]]
    found = paired(better, worse) if len(better) > 1 else None
    return PolicyPair(
        first=first,
        second=second,
        difference=fmean(worse) - fmean(better),
        low=found.low if found else None,
        high=found.high if found else None,
        p=found.chance if found else None,
    )


def _parts_of_runs(runs: Sequence[Sequence[PartyResult]]) -> tuple[PartyResult, ...]:
    """Users or groups over all runs."""
    mine: dict[str, list[PartyResult]] = {}
    for part in (part for parts in runs for part in parts):
        mine.setdefault(part.name, []).append(part)
    found = []
    for name, parts in mine.items():
        jobs = sum(part.jobs for part in parts)
        found.append(
            replace(
                parts[0],
                name=name,
                jobs=jobs,
                mean_response=fsum(part.jobs * part.mean_response for part in parts) / jobs,
                mean_waiting=fsum(part.jobs * part.mean_waiting for part in parts) / jobs,
                device_time=fsum(part.device_time for part in parts),
            )
        )
    return tuple(sorted(found, key=lambda part: (-part.device_time, part.name)))
