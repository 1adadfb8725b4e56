"""Pollux' eight workloads: our simulator and policies against the results that its authors stored.

    export OPENBLAS_NUM_THREADS=1   # or threads wait for each other over matrices of 3 x 3
    python -m validation.scheduling.pollux           # all loads, five seeds: three minutes
    python -m validation.scheduling.pollux --brief   # load 1.0 and one seed

Everybody shares 16 nodes of 4 devices; policies decide every 60 s, and a start or restart costs
30 s. Steps and epochs are as the authors measured them. A load of l is the first 160 l jobs that
their generator draws; `pollux_draw` draws them. `validation/scheduling/README.md` says what was
known before and what was found by comparing.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean
from time import process_time

import numpy as np
from validation.parts.claims import Claim, table
from validation.scheduling.formats.pollux import read_profile, read_workload
from validation.scheduling.goodput import Goodput, limits
from validation.scheduling.learning import Learning
from validation.scheduling.pollux_jobs import MostFree, Truth
from validation.scheduling.profile import Profile, Submission
from validation.scheduling.steps import MeasuredSteps, Steps

from foretrain.cluster.mixed import fleet
from foretrain.jobs.policies.gittins import tiresias
from foretrain.jobs.policies.optimus import optimus
from foretrain.jobs.policies.pollux import Pollux
from foretrain.jobs.shared import Policy, SharedDispatcher
from foretrain.jobs.simulation import Simulation
from foretrain.measured.job import Job, Trace
from foretrain.queueing.step_fit import fit_steps
from foretrain.throughput import Curve

DATA = Path(__file__).parents[1] / "tables" / "scheduling" / "pollux"
DEVICES, PER_NODE = 64, 4
ROUND, RESTART = 60.0, 30.0
JOBS = 160
"""Of a workload at load 1."""

LOADS = (0.5, 1.0, 1.5, 2.0)
WORKLOADS = range(1, 9)
SEEDS = range(5)
SEEN = 0.5
"""Share of the measurements that a seed lets Pollux learn its models from."""


@dataclass(frozen=True, kw_only=True)
class System:
    """A policy, and what its jobs are to it.

    Attributes:
        policy: a fresh one.
        curve: of a job: what the policy believes of it.
    """

    policy: Callable[[], Policy]
    curve: Callable[[Submission], Curve]


@cache
def profile(application: str) -> Profile:
    """What was measured of a model."""
    return read_profile(DATA / application)


@cache
def measured(application: str) -> MeasuredSteps:
    """Its steps."""
    return MeasuredSteps(profile(application))


@cache
def learning(application: str) -> Learning:
    """Its epochs."""
    return Learning(profile(application))


@cache
def learnt(application: str, seed: int) -> Steps:
    """Its steps as a job of the seed models them, from a share of the measurements."""
    steps = profile(application).steps
    kept = np.random.default_rng(seed).random(len(steps)) < SEEN
    return fit_steps([step for step, keep in zip(steps, kept, strict=True) if keep]).model


@cache
def goodput(application: str, batch: int, seed: int | None) -> Goodput:
    """Of a model: with the measured steps, or as a seed has learnt them."""
    return Goodput(
        steps=measured(application) if seed is None else learnt(application, seed),
        learning=learning(application),
        limits=limits(profile(application)),
        batch=batch,
        per_node=PER_NODE,
        most=DEVICES,
    )


def fixed(job: Submission) -> Goodput:
    """A job with the batch that its user asked for."""
    return goodput(job.application, job.batch, None)


def adaptive(seed: int) -> Callable[[Submission], Curve]:
    """Jobs that adapt their batch by a model that they have learnt."""
    return lambda job: goodput(job.application, 0, seed)


SYSTEMS = {
    "tiresias": System(policy=tiresias, curve=fixed),
    "optimus": System(policy=lambda: optimus, curve=fixed),
    **{f"pollux {seed}": System(policy=Pollux, curve=adaptive(seed)) for seed in SEEDS},
}


@cache
def submissions() -> tuple[Submission, ...]:
    """Jobs of all workloads, each named by its workload and place in the draw."""
    return read_workload(DATA / "workloads.csv.gz")


def trace(workload: int, load: float, system: System) -> Trace:
    """The jobs of a workload at a load."""
    jobs = (
        Job(
            name=job.name,
            group=job.application,
            arrival=job.arrival,
            work=learning(job.application).work,
            curve=system.curve(job),
            devices=job.devices,
            start=RESTART,
            restart=RESTART,
        )
        for job in submissions()
        if job.name.startswith(f"{workload}-") and int(job.name[2:]) < load * JOBS
    )
    return Trace(name=f"workload {workload}, load {load}", jobs=tuple(jobs))


@cache
def response(name: str, workload: int, load: float) -> float:
    """Mean response time of a system in seconds."""
    system = SYSTEMS[name]
    shared, jobs = fleet(DEVICES, per_node=PER_NODE), trace(workload, load, system)
    dispatcher = SharedDispatcher(system.policy(), shared, period=ROUND)
    outcomes = Simulation(jobs, MostFree(shared), dispatcher, progress=Truth(measured)).run()
    return fmean(end - job.arrival for end, job in zip(outcomes.ended, jobs.jobs, strict=True))


@cache
def published() -> dict[tuple[str, int, float], float]:
    """Mean response times by policy, workload and load, in seconds."""
    with (DATA / "published_results.csv").open(encoding="utf-8") as file:
        return {
            (row["policy"], int(row["workload"][-1]), float(row["load"])): float(row["avg_jct_s"])
            for row in csv.DictReader(file)
        }


def off(name: str, workload: int, load: float) -> float:
    """Relative error of a cell."""
    return response(name, workload, load) / _said(name, workload, load) - 1.0


def off_mean(name: str, load: float) -> float:
    """Relative error of the mean over the workloads."""
    said = fmean(_said(name, workload, load) for workload in WORKLOADS)
    return fmean(response(name, workload, load) for workload in WORKLOADS) / said - 1.0


def _said(name: str, workload: int, load: float) -> float:
    """What the authors' simulator gave for a system, whatever its seed."""
    return published()[name.partition(" ")[0], workload, load]


def claims(*, loads: Sequence[float] = LOADS, seeds: Sequence[int] = SEEDS) -> Iterator[Claim]:
    """Every figure beside its bar."""
    for name in ("tiresias", "optimus"):
        for load in loads:
            mean, cells = f"{name}, load {load}: mean response", f"{name}, load {load}: worst cell"
            yield Claim(name=mean, figure=abs(off_mean(name, load)), most=0.03)
            worst = max(abs(off(name, workload, load)) for workload in WORKLOADS)
            yield Claim(name=cells, figure=worst, most=0.10)
    for load in loads:
        figure = max(abs(off_mean(f"pollux {seed}", load)) for seed in seeds)
        name = f"pollux, load {load}: mean response, worst of {len(seeds)} seeds"
        yield Claim(name=name, figure=figure, most=0.10)
    yield Claim(
        name="pollux, load 1.0: jobs per CPU second",
        figure=speed(),
        least=100.0,
        write="{:.0f}".format,
        noisy=True,
    )


def speed() -> float:
    """Jobs per CPU second of the goodput policy, models known, nothing else remembered."""
    name = f"pollux {SEEDS[0]}"
    traces = [trace(workload, 1.0, SYSTEMS[name]) for workload in WORKLOADS]
    for forget in (goodput, measured, response):
        forget.cache_clear()
    began = process_time()
    for workload in WORKLOADS:
        response(name, workload, 1.0)
    return sum(len(each.jobs) for each in traces) / (process_time() - began)


def main(arguments: Sequence[str]) -> int:
    """Prints the table; 1 if a bar is missed."""
    brief = "--brief" in arguments
    found = list(claims(loads=LOADS[1:2], seeds=SEEDS[:1])) if brief else list(claims())
    print("\n".join(table(found)))
    return int(any(claim.kept is False for claim in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
