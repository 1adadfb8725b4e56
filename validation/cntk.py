"""Start-up and one server on Blue Waters: consistent with the published findings on CNTK?

    python -m validation.cntk

Findings of arXiv 1612.00521, of which only the abstract is public: start-up dominates, more than
about 4 nodes do not help, one server is a bottleneck after 16. Inputs are published facts and two
assumed values, each with how it is known, in `tables/cntk.toml`. Every finding must survive 20 % on
each assumed value and go where the input is mended (a part for each node, over all targets of the
file system), and twice the servers must serve twice the nodes. The exit status is 1 if one does
not. What 20 % on each published value would do is printed and decides nothing. Launching processes
is not counted: it would only add to start-up.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from validation.parts.claims import Claim, table

from foretrain.cluster.cluster import Storage
from foretrain.distributions import Constant
from foretrain.plan.servers import (
    ASYNCHRONOUS,
    Access,
    Servers,
    StartUp,
    Training,
    WholeJob,
    Worker,
)
from foretrain.queueing.scaling_findings import (
    DOMINATES,
    scaling_findings,
    what_if_findings,
)
from foretrain.queueing.served import (
    best_count,
    own_seconds,
    served_time,
    server_knee,
)
from foretrain.queueing.servers.simulate import simulate
from foretrain.units import BYTES, BYTES_PER_SECOND, SECONDS
from foretrain.workload.library.entries import build
from foretrain.workload.workload import Data

INPUTS = Path(__file__).parent / "tables" / "cntk.toml"

QUANTITIES = {
    "data": BYTES,
    "nic": BYTES_PER_SECOND,
    "file_system": BYTES_PER_SECOND,
    "host_memory": BYTES_PER_SECOND,
    "latency": SECONDS,
    "opening": SECONDS,
}
"""What those inputs measure that are no plain numbers."""

SINGLE = 4.0
"""Bytes of a parameter or gradient."""

MOST = 64
"""Nodes that are asked for."""

FEW, KNEE, TWICE = (3, 6), (12.0, 20.0), (1.8, 2.2)
"""Best counts, knees, and ratios of knees that are consistent with the findings."""

PATIENT = 100
"""Steps of each worker that are simulated."""

Values = Mapping[str, float]


class Case(NamedTuple):
    """A whole job and what its nodes do."""

    job: WholeJob
    training: Training


def inputs(kind: str) -> dict[str, float]:
    """The facts, or the assumed values, by name, in the units used inside."""
    rows = tomllib.loads(INPUTS.read_text("utf-8"))[kind]
    return {row["name"]: _number(row["name"], row["value"]) for row in rows}


def _number(name: str, value: str) -> float:
    return QUANTITIES[name].read(value) if name in QUANTITIES else float(value)


def case_of(values: Values) -> Case:
    """The case, as found: all nodes read one file that lies on few targets."""
    network = tomllib.loads(INPUTS.read_text("utf-8"))["training"]["network"]
    moved = SINGLE * build(network, image=224).parameters
    target = values["file_system"] / values["targets"] * values["stripes"]
    worker = Worker(
        compute=Constant(values["batch"] / values["samples_per_second"]),
        samples=values["batch"],
        pulled=moved,
        pushed=moved,
        link=values["nic"],
    )
    servers = Servers(
        link=values["nic"],
        latency=values["latency"],
        update=values["passes_of_an_update"] * moved / values["host_memory"],
    )
    job = WholeJob(
        start=StartUp(
            storage=Storage(read=values["nic"], write=values["nic"], total_read=target),
            files=values["samples"],
            opening=values["opening"],
            latency=values["latency"],
        ),
        data=Data(samples=values["samples"], sample_bytes=values["data"] / values["samples"]),
        epochs=values["epochs"],
    )
    return Case(job, Training(worker=worker, servers=servers, updates=ASYNCHRONOUS))


def mended(case: Case, values: Values) -> Case:
    """The same with the input mended: a part for each node, over all targets."""
    start = case.job.start
    storage = replace(start.storage, total_read=values["file_system"])
    start = replace(start, access=Access.SHARDED, storage=storage)
    return case._replace(job=replace(case.job, start=start))


def doubled(training: Training) -> Training:
    """The same with twice the servers."""
    assert training.servers
    return replace(training, servers=replace(training.servers, count=2 * training.servers.count))


def share(case: Case) -> float:
    """Of the time on the best number of nodes, what start-up takes."""
    time = served_time(*case, nodes=float(best_count(*case, most=MOST)))
    return float(time.start.total) / float(time.total)


def nodes(value: float) -> str:
    """A number of nodes in words."""
    return f"{value:.3g}"


def findings(name: str, case: Case) -> Iterator[Claim]:
    """The three findings in one case."""
    best, knee = float(best_count(*case, most=MOST)), server_knee(case.training)
    yield Claim(name=f"{name}: start-up of the time", figure=share(case), least=DOMINATES)
    yield Claim(name=f"{name}: best count", figure=best, least=FEW[0], most=FEW[1], write=nodes)
    yield Claim(name=f"{name}: server knee", figure=knee, least=KNEE[0], most=KNEE[1], write=nodes)


def claims() -> Iterator[Claim]:
    """Everything that must hold."""
    values = {**inputs("fact"), **inputs("assumed")}
    case = case_of(values)
    yield from findings("as stated", case)
    for name in inputs("assumed"):
        for factor in (0.8, 1.2):
            moved = case_of({**values, name: factor * values[name]})
            yield from findings(f"{name} x {factor}", moved)
    sound = mended(case, values)
    yield Claim(name="input mended: start-up of the time", figure=share(sound), most=DOMINATES)
    yield Claim(
        name="input mended: best count",
        figure=float(best_count(*sound, most=MOST)),
        least=KNEE[0],
        write=nodes,
    )
    ratio = server_knee(doubled(case.training)) / server_knee(case.training)
    yield Claim(
        name="twice the servers: knee over knee",
        figure=ratio,
        least=TWICE[0],
        most=TWICE[1],
        write=lambda value: f"{value:.3f}",
    )
    one, two = simulated_knees(case.training)
    yield Claim(name="server knee, simulated", figure=one, least=KNEE[0], most=KNEE[1], write=nodes)
    yield Claim(
        name="twice the servers, simulated: knee over knee",
        figure=two / one,
        least=TWICE[0],
        most=TWICE[1],
        write=lambda value: f"{value:.3f}",
    )


def simulated_knees(training: Training) -> tuple[float, float]:
    """What all servers do together over what one worker does, simulated; and with twice as many.

    Far beyond the knee all servers are busy; one worker alone waits for nobody.
    """
    knees = []
    for each in (training, doubled(training)):
        one, many = (
            simulate(each, workers, steps=PATIENT, seed=0).throughput
            for workers in (1, 4 * round(server_knee(each)))
        )
        knees.append(many / one)
    return knees[0], knees[1]


def reported() -> Iterator[str]:
    """What 20 % on each published value would do, and a server that does one thing at a time."""
    values = {**inputs("fact"), **inputs("assumed")}
    for name in inputs("fact"):
        for factor in (0.8, 1.2):
            moved = case_of({**values, name: factor * values[name]})
            yield _line(f"{name} x {factor}", moved, server_knee(moved.training))
    case = case_of(values)
    yield _line("receives, adds up and sends in turn", case, knee_in_turn(case.training))


def _line(name: str, case: Case, knee: float) -> str:
    best = best_count(*case, most=MOST)
    return f"{name:<36} start-up {share(case):.0%}, best count {best}, server knee {knee:.1f}"


def knee_in_turn(training: Training) -> float:
    """The knee of a server that does not send while it receives, nor add up while it does either.

    Links of the network carry both ways at once, so we take a server for one that uses them.
    """
    servers, worker = training.servers, training.worker
    assert servers
    moved = (worker.pulled + worker.pushed) / (servers.count * training.server_link)
    return own_seconds(training) / (moved + servers.update / servers.count)


def main() -> bool:
    """Print the inputs, the findings, the claims; whether all claims are kept."""
    for kind in ("fact", "assumed"):
        for row in tomllib.loads(INPUTS.read_text("utf-8"))[kind]:
            print(f"{row['name']:<22}{row['value']:>10}  {row['known']}")
    values = {**inputs("fact"), **inputs("assumed")}
    case = case_of(values)
    print()
    for finding in (*scaling_findings(*case, most=MOST), *what_if_findings(*case, most=MOST)):
        print(finding.sentence)
    every = [*claims()]
    print("\nConsistent with the published findings?")
    print(*table(every), sep="\n")
    print("\nIf a published value were another (decides nothing)")
    print(*reported(), sep="\n")
    return all(claim.kept for claim in every)


if __name__ == "__main__":
    sys.exit(not main())
