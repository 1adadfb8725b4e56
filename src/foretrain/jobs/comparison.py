"""Comparison: one policy over all seeds, and two of them on the same jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import fsum
from statistics import fmean, median, quantiles

from foretrain.cluster.fleet import Fleet
from foretrain.jobs.confidence import Interval, of_one_run, of_runs
from foretrain.results.case import RunSummary
from foretrain.results.simulate import JobCounts, Pair, Part, PolicyResult
from foretrain.statistics import paired


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
