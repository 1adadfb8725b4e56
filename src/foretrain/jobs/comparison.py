"""Confidence: how sure a mean of times is, of which none is below 0.

The logarithm of the mean is taken to be about normal, so that the interval ends above 0 and its
upper part, where a mean of few jobs is likelier to have gone wrong, is the longer one.

Parts of one run depend on those before them. That is told by the correlation of each with the
next, which says how many independent values would tell as much.

Comparison: one policy over all seeds, and two of them on the same jobs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import exp, floor, fsum, sqrt
from statistics import fmean, median, quantiles, stdev

from foretrain.cluster.fleet import Fleet
from foretrain.jobs.result import JobCounts, Pair, Part, PolicyResult, RunSummary
from foretrain.statistics import paired, student_quantile

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
        Two values above 0; None for fewer than two runs.

    Source: oehlert1992: the delta method; student1908.
    """
    count = len(means)
    return _around(fmean(means), means, like=float(count)) if count >= 2 else None


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
    """The interval of a mean, by values that tell as much of it as some independent ones."""
    error = stdev(values) / sqrt(like) / middle
    reach = exp(student_quantile(CONFIDENCE, freedom=max(1, floor(like) - 1)) * error)
    return middle / reach, middle * reach


def policy_result(fleet: Fleet, runs: Sequence[RunSummary]) -> PolicyResult:
    """One policy over all seeds."""
    responses = [response for run in runs for response in run.responses]
    waiting = [seconds for run in runs for seconds in run.waiting]
    finished = [response for run in runs for response in run.finished]
    low, high = _interval(runs) or (None, None)
    cuts = _cuts(responses)
    makespan = fmean(run.makespan for run in runs)
    seen = [run.fragmentation for run in runs if run.fragmentation is not None]
    jobs = _together([run.counts for run in runs])
    return PolicyResult(
        mean_response=fmean(run.mean for run in runs),
        low=low,
        high=high,
        p50=cuts[50],
        p95=cuts[95],
        p99=cuts[99],
        quantiles=cuts,
        mean_waiting=fmean(waiting),
        median_waiting=median(waiting),
        mean_response_finished=fmean(finished) if finished else None,
        makespan=makespan,
        utilisation=fmean(run.utilisation for run in runs),
        fragmentation=fmean(seen) if seen else None,
        interruptions=sum(run.interruptions for run in runs) / jobs.submitted,
        cost=makespan * fleet.price if fleet.price else None,
        jobs=jobs,
        groups=_parts([run.groups for run in runs]),
        users=_parts([run.users for run in runs]),
    )


def _cuts(responses: Sequence[float]) -> tuple[float, ...]:
    """What 0, 1, 2 ... 100 % of the responses stay below or reach."""
    if len(responses) == 1:
        return (responses[0],) * 101
    between = quantiles(responses, n=100, method="inclusive")
    return (min(responses), *between, max(responses))


def _interval(runs: Sequence[RunSummary]) -> Interval | None:
    """The 95 % interval of the mean: over seeds, or over parts of the only run."""
    if len(runs) > 1:
        return of_runs([run.mean for run in runs])
    return of_one_run(runs[0].responses)


def pair(first: str, second: str, runs: Mapping[str, Sequence[RunSummary]]) -> Pair:
    """Two policies on the same jobs, the better one first."""
    better = [run.mean for run in runs[first]]
    worse = [run.mean for run in runs[second]]
    found = paired(better, worse) if len(better) > 1 else None
    return Pair(
        first=first,
        second=second,
        difference=fmean(worse) - fmean(better),
        low=found.low if found else None,
        high=found.high if found else None,
        p=found.chance if found else None,
    )


def _together(counts: Sequence[JobCounts]) -> JobCounts:
    """The jobs of all runs."""
    names = ("submitted", "finished", "stopped", "failed", "killed", "waiting", "running")
    return JobCounts(**{name: sum(getattr(each, name) for each in counts) for name in names})


def _parts(runs: Sequence[Sequence[Part]]) -> tuple[Part, ...]:
    """Users or groups over all runs."""
    mine: dict[str, list[Part]] = {}
    for part in (part for parts in runs for part in parts):
        mine.setdefault(part.name, []).append(part)
    found = [_part(name, parts) for name, parts in mine.items()]
    return tuple(sorted(found, key=lambda part: (-part.device_time, part.name)))


def _part(name: str, parts: Sequence[Part]) -> Part:
    jobs = sum(part.jobs for part in parts)
    return replace(
        parts[0],
        name=name,
        jobs=jobs,
        mean_response=fsum(part.jobs * part.mean_response for part in parts) / jobs,
        mean_waiting=fsum(part.jobs * part.mean_waiting for part in parts) / jobs,
        device_time=fsum(part.device_time for part in parts),
    )
