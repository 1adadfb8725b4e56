"""Logs of clusters whose policy and size are hidden, and what a replay makes of them.

    python -m validation.scheduling.replay

Jobs are drawn and simulated; the log says when each came, began and ended, in whole seconds, and
nothing of the policy or the devices. The exit status is 1 if a figure is missed.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from validation.parts.claims import Claim, in_percent, table

from foretrain.cluster.mixed import fleet
from foretrain.jobs.generator import generate
from foretrain.jobs.mix import DAY, PHILLY
from foretrain.jobs.outcomes import Outcomes
from foretrain.jobs.replay import replay
from foretrain.jobs.run import run
from foretrain.measured.job import Log
from foretrain.study.traces.read import read_log

JOBS = 3_000
LOAD = 1.0
"""High, so that most jobs wait: a median of 0 s would say nothing."""

DAYS = 4.0
"""That no job exceeds, so that the first half of a log is like the second."""

MUST_ERROR = 0.10

HIDDEN = (("fifo", 40, 1), ("fifo", 96, 2), ("easy", 64, 3), ("easy", 128, 4))
"""Policy, devices and seed of each log: policies that do not interrupt, as those of most logs."""

PER_NODE = 8
COLUMNS = ("name", "arrival", "begun", "duration", "devices", "end", "estimate")


def main() -> int:
    """Prints the table; 1 if a figure is missed."""
    found = list(claims())
    print("\n".join(table(found)))
    return 1 if any(claim.kept is False for claim in found) else 0


def claims() -> Iterator[Claim]:
    """Everything that is claimed."""
    for policy, devices, seed in HIDDEN:
        best = replay(hidden(policy, devices, seed=seed), per_node=PER_NODE)[0]
        yield Claim(
            name=(
                f"median waiting, {policy} on {devices} devices"
                f" (found: {best.policy} on {best.devices}; {best.logged:,.0f} s)"
            ),
            figure=best.error,
            most=MUST_ERROR,
            write=in_percent,
        )


def hidden(policy: str, devices: int, *, seed: int) -> Log:
    """The log of a cluster."""
    mix = replace(PHILLY, length=replace(PHILLY.length, longest=DAYS * DAY))
    trace = generate(mix, np.random.default_rng(seed), count=JOBS, load=LOAD, devices=devices)
    outcomes = run(trace, fleet(devices, per_node=PER_NODE), policy)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([COLUMNS, *_lines(outcomes)])
        return read_log(path, columns={name: name for name in COLUMNS})


def _lines(outcomes: Outcomes) -> Iterator[tuple[object, ...]]:
    for job, begun in zip(outcomes.trace.jobs, outcomes.begun, strict=True):
        arrival = round(job.arrival)
        yield (
            job.name, arrival, max(arrival, round(begun)), max(1, round(job.ends_after)),
            job.devices, job.end, round(job.estimate or 0),
        )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
