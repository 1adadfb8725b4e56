"""Jobs that end early: does it change which policy is best, and does it help to know?

    python -m validation.scheduling.early_termination [seeds]

Jobs like those of Philly, elastic by Amdahl's law, come to 64 devices at load 0.9, and take 30 s to
start again when they are interrupted. The same jobs are then run to completion, their arrivals
stretched so that the load is 0.9 again. Two policies stand in another order where both differences
are sure by a paired t test. The exit status is 1 if a figure is missed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from statistics import fmean

import numpy as np
from validation.parts.claims import Claim, in_percent, table

from foretrain.cluster.mixed import Fleet, fleet
from foretrain.jobs.active import CountedPool
from foretrain.jobs.generator import generate
from foretrain.jobs.mix import PHILLY, Hazard, Mix, Survival, learned
from foretrain.jobs.ordered import OrderedDispatcher, Ordering
from foretrain.jobs.outcomes import Outcomes
from foretrain.jobs.policies.elastic import (
    Hazards,
    aware,
    aware_efficient,
    equal_share,
    fifo_efficient,
    srtf_efficient,
)
from foretrain.jobs.policies.orders import gittins, las, srtf
from foretrain.jobs.shared import Policy, SharedDispatcher
from foretrain.jobs.simulation import Dispatcher, Simulation
from foretrain.measured.job import End, Trace
from foretrain.statistics import paired
from foretrain.throughput import elastic

DEVICES = 64
LOAD = 0.9
SEEDS = 10
JOBS = 10_000
PAST = 20_000
PAST_SEED = 1_000_003

SERIAL = 0.05
"""Share of a job that does not get quicker: assumed."""

THRESHOLD = 0.9
"""Of efficiency, under FIFO: with less, wide jobs ask for more than there is at this load."""

WIDE = 0.6
"""Of efficiency, where the best jobs come first: the best of 0.5, 0.6, 0.7 on other seeds."""

RESTART = 30.0
"""Seconds that a job which is interrupted, or gets other devices, takes to go on: qiao2021."""

LEVELS = (1e3, 1e4, 1e5, 1e6)
"""Device-seconds of the levels of LAS, so many that it is close to least attained service."""

SURE = 0.01
MUST_GAIN = 0.10

RANKED = ("SRTF", "LAS", "FIFO, efficient")
UNAWARE = ("LAS", "FIFO, efficient", "Gittins", "equal share")
"""Policies that neither know how long a job is meant to run nor why it may end."""

PAIRS = tuple(permutations(RANKED, 2))

AWARE = "aware, efficient"

TITLES = ("early ends, all jobs", "early ends, successful jobs", "run to completion")
"""What `means_of` answers."""

Means = Mapping[str, Sequence[float]]
"""Mean responses in seconds of a policy, one for each seed."""


def main(arguments: Sequence[str]) -> int:
    """Prints the table; 1 if a figure is missed."""
    shown = means_of(range(int(arguments[0]) if arguments else SEEDS))
    for title, means in zip(TITLES, shown, strict=True):
        print(f"mean response in seconds, {title}")
        print("\n".join(f"  {name:24}{fmean(each):12,.0f}" for name, each in means.items()))
        for pair in PAIRS:
            if _sure(means, pair) < 1.0:
                print(f"  {pair[0]} before {pair[1]}: p = {_sure(means, pair):.2g}")
    found = list(claims(*shown))
    print("\n".join(table(found)))
    return 1 if any(claim.kept is False for claim in found) else 0


def claimed() -> Iterator[Claim]:
    """Everything that is claimed, over all seeds."""
    yield from claims(*means_of(range(SEEDS)))


def means_of(seeds: range) -> tuple[Means, Means, Means]:
    """Mean responses of all jobs, of successful ones, and of all where they run to completion."""
    space = fleet(DEVICES)
    past = _jobs(PHILLY, PAST_SEED, count=PAST)
    makers = dispatchers(space, past)
    early = [_run(PHILLY, makers, space=space, seed=seed) for seed in seeds]
    whole = replace(PHILLY, failing=None, killing=None)
    ranked = {name: makers[name] for name in RANKED}
    complete = [_run(whole, ranked, space=space, seed=seed) for seed in seeds]
    return (
        _means(early, successful=False),
        _means(early, successful=True),
        _means(complete, successful=False),
    )


def dispatchers(space: Fleet, past: Trace) -> Mapping[str, Callable[[], Dispatcher]]:
    """The policies; those that learn have seen other jobs of the same kind."""
    hazards: Hazards = learned(past)

    def ordered(order: Callable[[], Ordering]) -> Callable[[], Dispatcher]:
        return lambda: OrderedDispatcher(order())

    def shared(policy: Callable[[], Policy]) -> Callable[[], Dispatcher]:
        return lambda: SharedDispatcher(policy(), space)

    return {
        "SRTF": ordered(srtf),
        "LAS": ordered(lambda: las(LEVELS)),
        "FIFO, efficient": shared(lambda: fifo_efficient(THRESHOLD)),
        "Gittins": ordered(lambda: gittins(past)),
        "equal share": shared(lambda: equal_share),
        "SRTF, efficient": shared(lambda: srtf_efficient(WIDE)),
        "aware": ordered(lambda: aware(hazards)),
        "least work, efficient": shared(lambda: aware_efficient(_safe, threshold=WIDE)),
        AWARE: shared(lambda: aware_efficient(hazards, threshold=WIDE)),
    }


def claims(every: Means, successful: Means, complete: Means) -> Iterator[Claim]:
    """What must be shown."""
    pairs = {pair: max(_sure(every, pair), _sure(complete, pair[::-1])) for pair in PAIRS}
    surest = min(pairs, key=lambda pair: pairs[pair])
    yield Claim(
        name=f"chance that {surest[0]} beats {surest[1]} no less on jobs run to completion",
        figure=pairs[surest],
        most=SURE,
        write="{:.2g}".format,
    )
    best = min(UNAWARE, key=lambda name: fmean(successful[name]))
    gain = 1.0 - fmean(successful[AWARE]) / fmean(successful[best])
    yield Claim(
        name=f"successful jobs respond sooner than under the best unaware policy ({best})",
        figure=gain,
        least=MUST_GAIN,
        write=in_percent,
    )


def _safe(devices: int) -> Hazard:
    """A hazard that no job runs: what is left of the aware policy if it learns nothing."""
    return Hazard(failing=Survival())


def _sure(means: Means, pair: tuple[str, str]) -> float:
    """Chance of the data if the first were not better; 1 where it is not even so on average."""
    better, worse = (means[name] for name in pair)
    return paired(better, worse).chance if fmean(better) < fmean(worse) else 1.0


def _jobs(mix: Mix, seed: int, *, count: int) -> Trace:
    """Elastic jobs that pay for being interrupted."""
    trace = generate(
        mix,
        np.random.default_rng(seed),
        count=count,
        load=LOAD,
        devices=DEVICES,
        curve=elastic(SERIAL),
    )
    jobs = tuple(replace(job, restart=RESTART) for job in trace.jobs)
    return Trace(name=trace.name, jobs=jobs)


def _run(
    mix: Mix, makers: Mapping[str, Callable[[], Dispatcher]], *, space: Fleet, seed: int
) -> Mapping[str, Outcomes]:
    """What becomes of the jobs of one seed under each policy."""
    trace = _jobs(mix, seed, count=JOBS)
    return {
        name: Simulation(trace, CountedPool(space), make()).run() for name, make in makers.items()
    }


def _means(runs: Sequence[Mapping[str, Outcomes]], *, successful: bool) -> Means:
    return {name: [_mean(run[name], successful) for run in runs] for name in runs[0]}


def _mean(outcomes: Outcomes, successful: bool) -> float:
    """Mean response of all jobs, or of those that finish."""
    return fmean(
        end - job.arrival
        for end, job in zip(outcomes.ended, outcomes.trace.jobs, strict=True)
        if not successful or job.end is End.FINISHED
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
