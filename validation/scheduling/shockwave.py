"""Shockwave's 120 jobs on 32 V100s: our rounds and policies against its simulator and its cluster.

    python -m validation.scheduling.shockwave

One set of rules: rounds last 120 s, divisions 1,000 s at least, and a start costs 20 s, as in their
simulator, against the real cluster too. docs/decisions/032 says what its code tells and what was
found by comparing.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from math import inf
from pathlib import Path
from statistics import fmean

from validation.parts.claims import Claim, table
from validation.scheduling.formats.gavel import read_throughputs
from validation.scheduling.formats.shockwave import read_shockwave

from foretrain.cluster.mixed import Fleet, Nodes
from foretrain.jobs.active import Active, CountedPool, HeldDevices, RateStretch, believed
from foretrain.jobs.outcomes import Outcomes
from foretrain.jobs.policies.elastic import gandiva_fair
from foretrain.jobs.policies.max_min import AlloX, FinishTimeFairness, max_min, max_sum
from foretrain.jobs.rounds import Division, RoundsDispatcher, Rules
from foretrain.jobs.simulation import Simulation
from foretrain.measured.job import Trace

DATA = Path(__file__).parents[1] / "tables" / "scheduling" / "shockwave"
FLEET = Fleet(nodes=(Nodes(count=8, devices=4, kind="v100"),))
RULES = Rules(period=120.0, renewal=1000.0, spare=False, waived=5.0)
SIMULATED, REAL = ("tacc_32gpus", "simulation"), ("tacc_32gpus_comparison", "physical")
RESTART = 20.0
"""Seconds of a start. Source: shockwave, scheduler/scheduler.py.

None is charged in round 1, nor for a run that ends 5 s or more before its round.
"""

RESTART_ELSEWHERE = 30.0
"""Seconds of a start that Pollux' simulator takes. Source: qiao2021, section 5.3."""

A_FIFTH = 0.2
"""Share of the waiting jobs that AlloX matches in the published runs: seen, not told.

The authors' code has 1.0 for it and sets no other. With a fifth the published mean, makespan and
99th percentile come out at once, and the real cluster's mean to 3 %; with all of them the first is
14 % less, the last two a third and 11 % off.
"""

POLICIES: Mapping[str, Callable[[], Division]] = {
    "max_min_fairness": lambda: max_min,
    "max_sum_throughput_perf": lambda: max_sum,
    "gandiva_fair": lambda: gandiva_fair,
    "allox": AlloX,
    "finish_time_fairness": FinishTimeFairness,
}
AS_SEEN = "allox, a fifth of the waiting jobs matched"
TOLD: Mapping[str, Callable[[], Division]] = {
    **POLICIES,
    AS_SEEN: lambda: AlloX(oldest=A_FIFTH),
}
MEASURED = ("allox", "finish_time_fairness", "max_min_fairness", "max_sum_throughput_perf")


@cache
def trace(restart: float) -> Trace:
    """The jobs, where each start costs some seconds."""
    rates = read_throughputs(DATA / "throughputs.json.gz")
    read = read_shockwave(DATA / "120_jobs.trace.gz", rates)
    jobs = tuple(replace(job, start=restart, restart=restart) for job in read.jobs)
    return Trace(name=read.name, jobs=jobs)


@cache
def outcomes(policy: str, *, restart: float = RESTART) -> Outcomes:
    """What becomes of the jobs."""
    dispatcher = RoundsDispatcher(TOLD[policy](), FLEET, rules=RULES, progress=booked)
    return Simulation(trace(restart), CountedPool(FLEET), dispatcher, progress=booked).run()


def booked(active: Active, held: HeldDevices) -> RateStretch:
    """A job keeps the batch with which a round began until that round is over.

    A new batch costs no start. Source: shockwave, scheduler/scheduler.py.
    """
    return RateStretch(believed(active, held).rate, inf)


def response(found: Outcomes) -> float:
    """Mean response in seconds."""
    return fmean(end - job.arrival for end, job in zip(found.ended, found.trace.jobs, strict=True))


def makespan(found: Outcomes) -> float:
    """Seconds from the first arrival to the last end."""
    return max(found.ended) - found.trace.jobs[0].arrival


@cache
def published() -> dict[tuple[str, str, str], tuple[float, float]]:
    """Mean response and makespan in seconds by set, kind of run and policy."""
    with (DATA / "published_results.csv").open(encoding="utf-8") as file:
        return {
            (row["set"], row["kind"], row["policy"]): (
                float(row["avg_jct_s"]),
                float(row["makespan_s"]),
            )
            for row in csv.DictReader(file)
        }


def off_simulated(policy: str) -> tuple[float, float]:
    """Relative errors of mean response and makespan."""
    said, found = published()[(*SIMULATED, policy.partition(",")[0])], outcomes(policy)
    return abs(response(found) / said[0] - 1.0), abs(makespan(found) / said[1] - 1.0)


def off_real(policy: str, restart: float) -> float:
    """Relative error of the mean response against the real cluster."""
    found = outcomes(policy, restart=restart)
    return abs(response(found) / published()[(*REAL, policy.partition(",")[0])][0] - 1.0)


def claims() -> Iterator[Claim]:
    """Every figure beside its bar."""
    for policy in TOLD:
        for name, figure in zip(("mean response", "makespan"), off_simulated(policy), strict=True):
            # What was chosen after looking at what was to be met is not judged.
            most = None if policy == AS_SEEN else 0.02
            yield Claim(name=f"{policy}: {name}", figure=figure, most=most, write="{:.2%}".format)
    for told, restart, policies, mean, worst in (
        ("", RESTART, MEASURED, 0.04, 0.09),
        (f", {AS_SEEN}", RESTART, (AS_SEEN, *MEASURED[1:]), None, None),
        ("", RESTART_ELSEWHERE, MEASURED, None, None),
    ):
        errors = [off_real(policy, restart) for policy in policies]
        name = f"real cluster, {restart:.0f} s a start{told}"
        yield Claim(name=f"{name}: mean error of mean response", figure=fmean(errors), most=mean)
        yield Claim(name=f"{name}: worst error", figure=max(errors), most=worst)


def main() -> int:
    """Prints the table; 1 if a bar is missed."""
    found = list(claims())
    print("\n".join(table(found)))
    return int(any(claim.kept is False for claim in found))


if __name__ == "__main__":
    sys.exit(main())
