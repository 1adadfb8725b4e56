"""Tiresias: its 60 jobs on its 128 devices, in the order of arrival and by attained service.

python -m validation.scheduling.tiresias
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from statistics import fmean

from foretrain.cluster.fleet import fleet
from foretrain.jobs.run import run
from foretrain.measured.job import Job, Trace
from foretrain.throughput import rigid

JOBS = Path(__file__).parents[1] / "tables" / "scheduling" / "tiresias" / "60_job.csv"
FLEET = fleet(128, per_node=4)
POLICIES = ("fifo", "las")
MEAN, MAKESPAN = 178.4, 3271.0
"""Seconds that its simulator prints for both policies."""


def jobs() -> Trace:
    """The jobs that its simulator is shipped with."""
    with JOBS.open(newline="") as file:
        rows = list(csv.DictReader(file))
    made = (
        Job(
            name=row["job_id"],
            arrival=float(row["submit_time"]),
            work=float(row["duration"]),
            curve=rigid(int(row["num_gpu"])),
            devices=int(row["num_gpu"]),
        )
        for row in rows
    )
    return Trace(name="Tiresias' 60 jobs", jobs=tuple(made))


def simulated(policy: str) -> tuple[float, float]:
    """Mean response time and makespan in seconds."""
    trace = jobs()
    ended = run(trace, FLEET, policy).ended
    responses = (end - job.arrival for end, job in zip(ended, trace.jobs, strict=True))
    return fmean(responses), max(ended)


def main() -> int:
    """Print a line per policy; the number of those that are not exact."""
    wrong = 0
    for policy in POLICIES:
        mean, makespan = simulated(policy)
        exact = round(mean, 1) == MEAN and makespan == MAKESPAN
        wrong += not exact
        print(f"{policy}: mean {mean:.3f} s, makespan {makespan:,.0f} s; exact: {exact}")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
