"""Real parameter servers on emulated nodes: predicted throughput beside what was measured.

    python -m validation.servers_testbed            # recorded runs; needs neither root nor torch
    python -m validation.servers_testbed --measure  # runs anew, with root, and records: 12 minutes
    python -m validation.servers_testbed --shallow  # one case with queues that lose bytes

Predictions are simulated from a calibration on other runs, and are recorded before the cases run.
The exit status is 1 if the mean or the largest error is above what it must be.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from random import SystemRandom
from statistics import fmean, median
from typing import Any

from validation.parts.pages import put_between
from validation.parts.processors import this_machine
from validation.testbed.lab import QUEUE, missing
from validation.testbed.servers import CASES, NETWORKS, ServersCase, distribution
from validation.testbed.servers_campaign import calibrated, measured, rate

from foretrain.plan.servers import LinkPolicy, Servers, Training, Updates, Worker
from foretrain.queueing.servers.simulate import simulate

RECORDS = Path(__file__).parent / "tables" / "servers"
RECORD = RECORDS / "emulated.json"
EARLIER = {name: RECORDS / f"{name}.json" for name in ("first", "second", "third", "fourth")}
"""Three with queues of 4 MiB, which lose bytes, and one without; the first held links for fair."""
PAGE = Path(__file__).parents[1] / "docs" / "background" / "servers-testbed.md"
MARKS = ("<!-- python -m validation.servers_testbed --measure -->", "<!-- end of the table -->")
"""Around the table on the page."""
MUST_MEAN, MUST_WORST = 0.10, 0.20
"""Errors of the throughput that must not be exceeded."""
STEPS, SEED = 1000, 21
"""Of each simulation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServersRow:
    """A case beside its prediction, all in steps per second of all workers.

    Attributes:
        case: what was trained.
        predicted: before it ran.
        simulated: what the simulation of today says, from the same calibration.
        measured: after the warm-up.
        disturbed: why the run was not what it was meant to be; mostly nothing.
    """

    case: ServersCase
    predicted: float
    simulated: float
    measured: float
    disturbed: Sequence[str]

    @property
    def error(self) -> float:
        """Simulated over measured, less 1."""
        return self.simulated / self.measured - 1

    @property
    def blind_error(self) -> float:
        """The same of what was predicted before the run."""
        return self.predicted / self.measured - 1


def main(arguments: Sequence[str]) -> int:
    """Print the table; 1 if an error is above what it must be."""
    if {"--measure", "--shallow"} & {*arguments} and (reason := missing()):
        sys.exit(f"Nothing was measured: {reason}. The record stays as it was.")
    if "--shallow" in arguments:
        print("\n".join(_shallow()))
        return 0
    if "--measure" in arguments:
        _measure()
    found = rows(json.loads(RECORD.read_text("utf-8")))
    print("\n".join(table(found)))
    print(f"replayed today: {_summary([row.error for row in found])}")
    for name, path in EARLIER.items():
        errors = blind_errors(json.loads(path.read_text("utf-8")))
        print(f"{name} campaign, predicted before it ran: {_summary(errors)}")
    if "--measure" in arguments:
        PAGE.write_text(shown_in(PAGE.read_text("utf-8"), found), "utf-8")
    return int(not holds([row.error for row in found]))


def holds(errors: Sequence[float]) -> bool:
    """Whether the errors are within what they must be."""
    sizes = [abs(error) for error in errors]
    return fmean(sizes) <= MUST_MEAN and max(sizes) <= MUST_WORST


def predicted(
    case: ServersCase, calibration: Mapping[str, Any], *, policy: LinkPolicy = LinkPolicy.BUFFERED
) -> float:
    """Steps per second of all workers, simulated from what a calibration measured."""
    small = next(
        each
        for each in calibration["small"]
        if (each["servers"], each["workers"]) == (case.servers, case.workers)
    )
    applied = median(calibration["apply"]["seconds"]) / calibration["apply"]["size"] * case.size
    link = {who: calibration["size"] / median(times) for who, times in calibration["sent"].items()}
    training = Training(
        worker=Worker(
            compute=distribution(case.compute),
            samples=1.0,
            pulled=case.size,
            pushed=case.size,
            link=link["workers"],
        ),
        servers=Servers(
            count=case.servers,
            link=link["servers"],
            latency=(small["exchanged"] + small["late"]) / 2.0,
            update=max(applied, case.servers * case.update),
        ),
        updates=Updates(stale=case.stale),
    )
    return simulate(training, case.workers, steps=STEPS, seed=SEED, policy=policy).throughput


def rows(record: Mapping[str, Any]) -> list[ServersRow]:
    """All recorded cases."""
    calibrations = {each["network"]: each for each in record["calibrations"]}
    names = [field.name for field in fields(ServersCase)]
    found = []
    for run, before in zip(record["runs"], record["predictions"]["rates"], strict=True):
        case = ServersCase(**{name: run[name] for name in names})
        found.append(
            ServersRow(
                case=case,
                predicted=before,
                simulated=predicted(case, calibrations[case.network]),
                measured=rate(run),
                disturbed=run["disturbed"],
            )
        )
    return found


def blind_errors(record: Mapping[str, Any]) -> list[float]:
    """Of what a record says was predicted before anything ran, case by case."""
    pairs = zip(record["predictions"]["rates"], record["runs"], strict=True)
    return [before / rate(run) - 1 for before, run in pairs]


def table(found: Sequence[ServersRow]) -> Iterator[str]:
    """The rows and what they come to, in words, as predicted before the runs."""
    yield f"{'training':82}{'measured':>10}{'predicted':>11}{'error':>8}"
    for row in found:
        yield (
            f"{_name(row.case):82}{row.measured:8.2f}/s{row.predicted:9.2f}/s"
            f"{row.blind_error:+8.1%}"
            f"{'  disturbed: ' + '; '.join(row.disturbed) if row.disturbed else ''}"
        )
    summary = _summary([row.blind_error for row in found])
    yield f"{len(found)} cases, predicted before they ran: {summary}"


def _summary(errors: Sequence[float]) -> str:
    sizes = [abs(error) for error in errors]
    return f"mean error {fmean(sizes):.1%}, median {median(sizes):.1%}, worst {max(sizes):.1%}"


def _name(case: ServersCase) -> str:
    several = "workers" if case.workers > 1 else "worker"
    updates = {0: "synchronous", None: "asynchronous"}.get(case.stale, f"{case.stale} stale")
    compute = f"{case.compute['kind']} {1e3 * case.compute['mean']:.0f} ms"
    kept = f", {1e3 * case.update:.0f} ms an update" if case.update else ""
    return (
        f"{case.servers} x {case.workers} {several}, {updates}, {case.size / 2**20:g} MiB"
        f" at {case.network} Mbit/s, {compute}{kept}"
    )


def shown_in(page: str, found: Sequence[ServersRow]) -> str:
    """The page with this table between its marks."""
    return put_between(page, MARKS, "\n".join(["```", *table(found), "```"]))


def _measure() -> None:
    """Calibrate, predict and record that, and only then run the cases and record them."""
    calibrations = {network: calibrated(network) for network in NETWORKS}
    record = {
        "about": this_machine(),
        "calibrations": list(calibrations.values()),
        "predictions": {
            "rates": [predicted(case, calibrations[case.network]) for case in CASES],
            "written": _now(),
        },
    }
    _write(record)
    seed = str(SystemRandom().randrange(10**9))
    began = _now()
    by_network: dict[str, dict[str, ServersCase]] = {network: {} for network in NETWORKS}
    for at, case in enumerate(CASES):
        by_network[case.network][f"{seed} {at}"] = case
    done = {network: iter(measured(network, cases)) for network, cases in by_network.items()}
    runs = [next(done[case.network]) for case in CASES]
    _write({**record, "seed": seed, "began": began, "ended": _now(), "runs": runs})


def _shallow() -> Iterator[str]:
    """Cases whose messages overflow queues of an ordinary size."""
    record = json.loads(RECORD.read_text("utf-8"))
    (calibration,) = (each for each in record["calibrations"] if each["network"] == "500")
    cases = {
        f"shallow {at}": case
        for at, case in enumerate(CASES)
        if case.network == "500" and case.workers * case.size > 2 * QUEUE * case.servers
    }
    runs = measured("500", cases, queue=QUEUE)
    for case, run in zip(cases.values(), runs, strict=True):
        yield f"{_name(case):82}{rate(run):8.2f}/s{predicted(case, calibration):9.2f}/s"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _write(record: Mapping[str, Any]) -> None:
    """One line for each list of numbers."""
    text = json.dumps(record, indent=1)
    text = re.sub(r"\[[^\[\]{}]+\]", lambda numbers: " ".join(numbers[0].split()), text)
    RECORD.parent.mkdir(parents=True, exist_ok=True)
    RECORD.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
