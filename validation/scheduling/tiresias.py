"""Tiresias: its 60 jobs on its 128 devices, in the order of arrival and by attained service.

python -m validation.scheduling.tiresias
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

from validation.parts.claims import Claim, table

from foretrain.cluster.mixed import fleet
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


def claims() -> Iterator[Claim]:
    """Differences from the published figures, which are exact to their last digit."""
    for policy in POLICIES:
        mean, makespan = simulated(policy)
        for what, off in (
            ("mean response", round(mean, 1) - MEAN),
            ("makespan", makespan - MAKESPAN),
        ):
            yield Claim(
                name=f"60 jobs, {policy}: {what} off by",
                figure=abs(off),
                most=0.0,
                write="{:.1f} s".format,
            )


def main() -> int:
    """Print a line per claim; 1 if one is missed."""
    found = list(claims())
    print("\n".join(table(found)))
    return int(any(claim.kept is False for claim in found))


if __name__ == "__main__":
    sys.exit(main())
