"""Random logs, read and simulated, beside schedulers of ten lines: job by job.

    python -m validation.logs                  # 1,000 logs
    python -m validation.logs --tenth          # 100 of them; prints its seed
    python -m validation.logs --tenth 4711     # the same again

The logs have jobs of several devices, many of one second, idle halves, jobs that were requeued or
still ran, and entries that are no jobs. Each is written as a file and read; FIFO, SJF and LAS must
begin and end every job when the scheduler of ten lines does. The exit status is 1 if one does not.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from statistics import fmean

from benchmarks.tenth import chooser
from validation.logs.by_hand import SCHEDULERS, Course
from validation.logs.drawn import COLUMNS, Drawn, drawn
from validation.parts.claims import Claim, table

from foretrain.cluster.mixed import fleet
from foretrain.jobs.limits import that_fit
from foretrain.jobs.run import run
from foretrain.jobs.simulate import simulate
from foretrain.study.queue_study import read_queue_study
from foretrain.study.traces.read import read_log

LOGS = 1_000
SEED = 18
SHOWN = 3
"""Logs that are told of each kind of difference."""

ANSWER = "answer"
"""What is left out, runs on and is replayed, of any policy."""

ROUNDING = 1e-6
"""Seconds by which sums of floats may miss a whole second."""


def main(arguments: Sequence[str]) -> int:
    """Print the table; 1 if a log is simulated otherwise than by ten lines."""
    chosen = chooser(arguments)
    found = list(claims([place for place in range(LOGS) if chosen()]))
    print("\n".join(table(found)))
    return 1 if any(claim.kept is False for claim in found) else 0


def claims(places: Sequence[int]) -> Iterator[Claim]:
    """What is claimed of some logs."""
    wrong: dict[str, dict[int, str]] = {}
    jobs = 0
    with tempfile.TemporaryDirectory() as folder:
        for place in places:
            log = drawn(Random(SEED * LOGS + place))
            jobs += len(log.tasks)
            for what, text in differences(log, Path(folder)):
                wrong.setdefault(what, {}).setdefault(place, text)
    for what, found in wrong.items():
        for place in sorted(found)[:SHOWN]:
            print(f"log {place}, {what}: {found[place]}")
    for what in (*SCHEDULERS, ANSWER):
        yield Claim(
            name=f"logs of {len(places):,}, with {jobs:,} jobs, whose {what} is otherwise",
            figure=float(len(wrong.get(what, ()))),
            most=0.0,
            write="{:.0f}".format,
        )


def differences(
    log: Drawn, folder: Path, *, policies: Sequence[str] = tuple(SCHEDULERS)
) -> Iterator[tuple[str, str]]:
    """Each policy that is otherwise, in a job or in the mean, and what else the answer says so."""
    path = folder / f"log.{log.form}"
    path.write_text(log.text, "utf-8")
    expected = {name: SCHEDULERS[name](log.tasks, log.devices) for name in policies}
    columns = COLUMNS if log.form == "csv" else {}
    read = that_fit(read_log(path, columns=columns), fleet(log.devices))
    shift = log.tasks[0].arrival - read.trace.jobs[0].arrival
    for name, course in expected.items():
        outcomes = run(read.trace, fleet(log.devices), name)
        times = zip(outcomes.begun, outcomes.ended, strict=True)
        found = {
            job.sequence: (begun + shift, ended + shift)
            for job, (begun, ended) in zip(read.trace.jobs, times, strict=True)
        }
        theirs = dict(zip(log.lines, zip(*course, strict=True), strict=True))
        if text := _apart(found, theirs):
            yield name, text
    yield from _answered(log, path, expected)


Times = dict[int, tuple[float, float]] | dict[int, tuple[int, int]]


def _apart(ours: Times, theirs: Times) -> str:
    """The first job, by its line, that is otherwise; empty where none is."""
    if ours.keys() != theirs.keys():
        return f"jobs of other lines: {sorted(ours.keys() ^ theirs.keys())}"
    for line, times in theirs.items():
        if any(abs(a - b) > ROUNDING for a, b in zip(times, ours[line], strict=True)):
            return f"line {line} begins and ends at {ours[line]} instead of {times}"
    return ""


STUDY = """
[fleet]
nodes = 1
devices = {devices}
[jobs]
trace = "{name}"
{columns}
[simulation]
policies = {policies}
"""


def _answered(log: Drawn, path: Path, expected: dict[str, Course]) -> Iterator[tuple[str, str]]:
    """What `simulate` says otherwise than the schedulers."""
    study = path.with_suffix(".toml")
    pairs = ", ".join(f'{key} = "{value}"' for key, value in COLUMNS.items())
    study.write_text(
        STUDY.format(
            devices=log.devices,
            name=path.name,
            columns=f"columns = {{ {pairs} }}" if log.form == "csv" else "",
            policies=str(sorted(expected)).replace("'", '"'),
        )
    )
    answer = simulate(read_queue_study(study))
    if sum(each.count for each in answer.left_out) != log.odd:
        yield ANSWER, f"{answer.left_out} are left out instead of {log.odd}"
    for name, (_, ended) in expected.items():
        mean = fmean(ended[place] - log.tasks[place].arrival for place in log.counted)
        found = answer.policies[name]
        if abs(found.mean_response - mean) > ROUNDING * mean:
            yield name, f"a mean of {found.mean_response} instead of {mean}"
        if found.jobs.running != len(log.tasks) - len(log.counted):
            yield ANSWER, f"{found.jobs.running} jobs are said to run on"
    if text := _replayed(log, {each.policy: each.gap for each in answer.replays}):
        yield ANSWER, text


def _replayed(log: Drawn, gaps: dict[str, float | None]) -> str:
    """The log was written as first come first served had it, so a replay must wait as it did."""
    if log.form == "tiresias":
        return "replayed though it tells no begin" if gaps else ""
    gap = gaps.get("fifo")
    return "" if gap is not None and gap < ROUNDING else f"fifo replays {gap} off"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
