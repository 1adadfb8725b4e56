"""Theory: the simulator of a cluster against queueing formulas, with ten fixed seeds.

    python -m validation.scheduling.theory

A case passes if the 95 % interval of the mean response time over the seeds is no wider than 1 % to
either side, and the formula lies inside the 99.9 % interval. No seed is ever replaced.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.random import Generator
from validation.parts.claims import Claim, table
from validation.scheduling.sized import (
    Exponentials,
    exponential,
    hyperexponential,
    las_levels_response,
    las_response,
    srtf_response,
)

from foretrain.cluster.mixed import fleet
from foretrain.jobs.ordered import OrderedDispatcher
from foretrain.jobs.policies.equal import processor_sharing
from foretrain.jobs.policies.fifo import fifo, srtf
from foretrain.jobs.policies.gittins import las
from foretrain.jobs.pool import CountedPool
from foretrain.jobs.shared import SharedDispatcher
from foretrain.jobs.simulation import Dispatcher, Simulation
from foretrain.measured.job import Job, Trace
from foretrain.queueing.fifo import exponential_response, general_response, shared_response
from foretrain.statistics import batch_means, student_interval
from foretrain.throughput import PowerLaw

SEEDS = range(10)
WARM_UP = 0.05
HALF_WIDTH = 0.01
MEAN = 100.0
SHORT = exponential(MEAN)
MILD, LONG = (hyperexponential(MEAN, variation=each) for each in (2.0, 4.0))
CURVE = PowerLaw(exponent=1.0, most=1)
COARSE = (50.0, 200.0)
FINE = tuple(10.0 * 1.3**place for place in range(20))


@dataclass(frozen=True, kw_only=True)
class Case:
    """A policy, the jobs that it gets and what theory says of their mean response time.

    Attributes:
        name: of the oracle.
        theory: mean response time at a number of arrivals per second, in seconds.
        dispatcher: a fresh one.
        jobs: of each run.
        load: share of the servers' time that the jobs ask for.
        servers: devices; each job asks for one.
        service: law of service times; None where all are equal.
    """

    name: str
    theory: Callable[[float], float]
    dispatcher: Callable[[], Dispatcher]
    jobs: int
    load: float
    servers: int = 1
    service: Exponentials | None = SHORT

    @property
    def arrivals(self) -> float:
        """Jobs per second."""
        return self.load * self.servers / MEAN


def _las(levels: Sequence[float]) -> Callable[[], Dispatcher]:
    return lambda: OrderedDispatcher(las(levels))


def _fifo() -> Dispatcher:
    return OrderedDispatcher(fifo())


CASES = (
    Case(
        name="M/M/1, first come first served",
        theory=lambda rate: exponential_response(rate, mean=MEAN, servers=1),
        dispatcher=_fifo, jobs=120_000, load=0.6,
    ),
    Case(
        name="M/M/8, first come first served",
        theory=lambda rate: exponential_response(rate, mean=MEAN, servers=8),
        dispatcher=_fifo, jobs=120_000, load=0.7, servers=8,
    ),
    Case(
        name="M/D/1, first come first served",
        theory=lambda rate: general_response(rate, mean=MEAN, square=MEAN**2),
        dispatcher=_fifo, jobs=60_000, load=0.7, service=None,
    ),
    Case(
        name="M/G/1, first come first served",
        theory=lambda rate: general_response(rate, mean=MEAN, square=LONG.square),
        dispatcher=_fifo, jobs=400_000, load=0.4, service=LONG,
    ),
    Case(
        name="M/M/1, shortest remaining time",
        theory=lambda rate: srtf_response(rate, service=SHORT),
        dispatcher=lambda: OrderedDispatcher(srtf()), jobs=70_000, load=0.7,
    ),
    Case(
        name="M/G/1, shortest remaining time",
        theory=lambda rate: srtf_response(rate, service=LONG),
        dispatcher=lambda: OrderedDispatcher(srtf()), jobs=150_000, load=0.7, service=LONG,
    ),
    Case(
        name="M/G/1, three levels of attained service",
        theory=lambda rate: las_levels_response(rate, service=LONG, levels=COARSE),
        dispatcher=_las(COARSE), jobs=200_000, load=0.6, service=LONG,
    ),
    Case(
        name="M/G/1, foreground-background",
        theory=lambda rate: las_response(rate, service=MILD),
        dispatcher=_las(FINE), jobs=100_000, load=0.5, service=MILD,
    ),
    Case(
        name="M/G/1, processor sharing",
        theory=lambda rate: shared_response(rate, mean=MEAN),
        dispatcher=lambda: SharedDispatcher(processor_sharing, fleet(1)),
        jobs=100_000, load=0.5, service=MILD,
    ),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a case gave.

    Attributes:
        theory: mean response time, in seconds.
        means: of the simulation, one per seed.
    """

    theory: float
    means: tuple[float, ...]

    @property
    def half_width(self) -> float:
        """Of the 95 % interval, as a share of its middle."""
        low, high = student_interval(self.means)
        return (high - low) / (high + low)

    @property
    def inside(self) -> bool:
        """Whether theory lies in the 99.9 % interval."""
        low, high = student_interval(self.means, confidence=0.999)
        return low <= self.theory <= high


def tried(case: Case, *, jobs: int) -> Result:
    """Simulate a case once per seed, with a number of jobs each."""
    means = tuple(_mean_response(case, np.random.default_rng(seed), jobs) for seed in SEEDS)
    return Result(theory=case.theory(case.arrivals), means=means)


def _mean_response(case: Case, random: Generator, jobs: int) -> float:
    """Mean response time of one run in seconds, the warm-up removed."""
    trace = _trace(case, random, jobs)
    outcomes = Simulation(trace, CountedPool(fleet(case.servers)), case.dispatcher()).run()
    ends = zip(outcomes.ended, trace.jobs, strict=True)
    return batch_means([end - job.arrival for end, job in ends], batches=1, skip=WARM_UP)[0]


def _trace(case: Case, random: Generator, jobs: int) -> Trace:
    """Poisson arrivals with independent service times."""
    arrivals = np.cumsum(random.exponential(1.0 / case.arrivals, jobs)).tolist()
    made = (
        Job(name=f"{place:07}", arrival=arrival, work=work, curve=CURVE, devices=1)
        for place, (arrival, work) in enumerate(
            zip(arrivals, _works(case.service, random, jobs), strict=True)
        )
    )
    return Trace(name=case.name, jobs=tuple(made))


def _works(service: Exponentials | None, random: Generator, jobs: int) -> list[float]:
    if service is None:
        return [MEAN] * jobs
    kinds = random.choice(len(service.means), size=jobs, p=service.shares)
    works: list[float] = (np.array(service.means)[kinds] * random.exponential(1.0, jobs)).tolist()
    return works


def judged(name: str, result: Result) -> Iterator[Claim]:
    """How sure a mean is, and whether theory lies where it should."""
    yield Claim(
        name=f"{name}: half-width",
        figure=result.half_width,
        most=HALF_WIDTH,
        write="{:.2%}".format,
    )
    yield Claim(
        name=f"{name}: simulated over theory",
        figure=fmean(result.means) / result.theory - 1.0,
        write="{:+.2%}".format,
    )
    yield Claim(name=f"{name}: inside 99.9 %", figure=float(result.inside), least=1.0)


def claims() -> Iterator[Claim]:
    """Those of every case."""
    for case in CASES:
        yield from judged(f"{case.name}, load {case.load:g}", tried(case, jobs=case.jobs))


def main() -> int:
    """Print a line per claim; 1 if one is missed."""
    missed = False
    for claim in claims():
        print("\n".join(table([claim])), flush=True)
        missed |= claim.kept is False
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
