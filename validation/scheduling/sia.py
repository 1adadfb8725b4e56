"""Sia: how quickly it decides, that its choices are the integer program's, and against its rivals.

    export OPENBLAS_NUM_THREADS=1   # or threads wait for each other over small matrices
    python -m validation.scheduling.sia

Jobs are those of Pollux' eight workloads, 160 each over eight hours, on its 64 devices of one kind
and on 64 of three kinds that lie as in Sia's cluster. Sia's own workloads carry no licence, and
what jobs do on its kinds was published with them: on three kinds a job is as much quicker as the
kind's peak is higher, which is enough to say how long decisions take and nothing of responses.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from statistics import fmean
from time import process_time

import numpy as np
from validation.parts.claims import Claim, table
from validation.scheduling.goodput import Goodput
from validation.scheduling.pollux import (
    DEVICES,
    PER_NODE,
    ROUND,
    SYSTEMS,
    WORKLOADS,
    System,
    adaptive,
    goodput,
    measured,
    response,
    trace,
)
from validation.scheduling.pollux_jobs import MostFree, Truth
from validation.scheduling.profile import Submission

from foretrain.cluster.mixed import Fleet, Nodes, fleet
from foretrain.jobs.active import CountedPool
from foretrain.jobs.policies.choice import Gain, most_gained, solved
from foretrain.jobs.policies.gain import Sia
from foretrain.jobs.shared import SharedDispatcher
from foretrain.jobs.simulation import Simulation
from foretrain.measured.job import Trace
from foretrain.throughput import Curve

SEED = 0
SYSTEM = System(policy=Sia, curve=adaptive(SEED))
RIVALS = (f"pollux {SEED}", "tiresias", "optimus")

MIXED = Fleet(
    nodes=(
        Nodes(count=6, devices=4, kind="t4"),
        Nodes(count=3, devices=8, kind="rtx-2080-ti"),
        Nodes(count=2, devices=8, kind="a100"),
    )
)
"""Sia's cluster of 64 devices, from memory. Source: jayaram2023, section 4."""

PEAK = {"t4": 8.1, "rtx-2080-ti": 13.4, "a100": 19.5}
"""TFLOP/s in 32 bits. Source: NVIDIA's data sheets."""

DRAWN = 200
"""Rounds whose choice is compared with the general solver's."""


@dataclass(frozen=True, kw_only=True)
class OnKinds:
    """A job of Pollux' on several kinds: as quick as the peak of its kind is high.

    Attributes:
        by_kind: its goodput with as many devices in a node as the kind has.
    """

    by_kind: Mapping[str, Goodput]

    @property
    def counts(self) -> tuple[int, ...]:
        """Devices that it can use."""
        return next(iter(self.by_kind.values())).counts

    def rate(self, devices: float, *, nodes: int, kind: str, done: float) -> float:
        """Steps of the smallest batch per second."""
        quick = PEAK[kind] / PEAK["t4"]
        return quick * self.by_kind[kind].rate(devices, nodes=nodes, kind=kind, done=done)

    def until(self, done: float) -> float:
        """Work at which the rate changes next."""
        return next(iter(self.by_kind.values())).until(done)


@cache
def on_kinds(application: str) -> Curve:
    """A model on the kinds of Sia's cluster."""
    alone = goodput(application, 0, SEED)
    return OnKinds(
        by_kind={nodes.kind: replace(alone, per_node=nodes.devices) for nodes in MIXED.nodes}
    )


def _on_kinds(job: Submission) -> Curve:
    return on_kinds(job.application)


def mean(jobs: Trace, simulation: Simulation) -> float:
    """Mean response in seconds."""
    ended = simulation.run().ended
    return fmean(end - job.arrival for end, job in zip(ended, jobs.jobs, strict=True))


def on_one_kind(workload: int) -> float:
    """Mean response of a workload under Sia, as Pollux' workloads are simulated."""
    shared, jobs = fleet(DEVICES, per_node=PER_NODE), trace(workload, 1.0, SYSTEM)
    dispatcher = SharedDispatcher(SYSTEM.policy(), shared, period=ROUND)
    return mean(jobs, Simulation(jobs, MostFree(shared), dispatcher, progress=Truth(measured)))


def on_three_kinds(workload: int) -> float:
    """The same on three kinds, where jobs do what is believed of them."""
    jobs = trace(workload, 1.0, replace(SYSTEM, curve=_on_kinds))
    dispatcher = SharedDispatcher(SYSTEM.policy(), MIXED, period=ROUND)
    return mean(jobs, Simulation(jobs, CountedPool(MIXED), dispatcher))


def rounds(count: int) -> Iterator[tuple[list[list[Gain]], list[int]]]:
    """Rounds at random: jobs that go by a power of their devices on up to three kinds."""
    draw = np.random.default_rng(SEED)
    for _ in range(count):
        rooms = [int(room) for room in draw.choice([4, 8, 16, 24, 64], draw.integers(1, 4))]
        yield (
            [
                [
                    Gain(kind, wide, 1.1 - float(speed * wide**power) ** -0.5)
                    for kind, (speed, power) in enumerate(draw.uniform(0.4, 1.0, (len(rooms), 2)))
                    for wide in (1, 2, 4, 8, 16)
                    if wide <= rooms[kind]
                ]
                for _ in range(draw.integers(1, 40))
            ],
            rooms,
        )


def short() -> float:
    """By how much the sum of gains falls short of the solver's at most, in parts of it."""
    worst = 0.0
    for jobs, rooms in rounds(DRAWN):
        ours, theirs = (
            sum(own[pick].gain for own, pick in zip(jobs, picks, strict=True) if pick is not None)
            for picks in (most_gained(jobs, rooms)[0], solved(jobs, rooms))
        )
        worst = max(worst, 1.0 - ours / theirs)
    return worst


def claims() -> Iterator[Claim]:
    """Every figure beside its bar."""
    yield Claim(
        name=f"{DRAWN} rounds: gains below the integer program's",
        figure=short(),
        most=1e-9,
        write="{:.7%}".format,
    )
    own = {}
    for name, simulated in (("one kind", on_one_kind), ("three kinds", on_three_kinds)):
        for workload in WORKLOADS:  # what jobs learn is remembered by all policies
            simulated(workload)
        began = process_time()
        own[name] = [simulated(workload) for workload in WORKLOADS]
        yield Claim(
            name=f"64 devices of {name}: jobs per CPU second",
            figure=len(trace(1, 1.0, SYSTEM).jobs) * len(WORKLOADS) / (process_time() - began),
            least=100.0,
            write="{:.0f}".format,
            noisy=True,
        )
    for rival in RIVALS:
        assert rival in SYSTEMS, rival
        theirs = fmean(response(rival, workload, 1.0) for workload in WORKLOADS)
        yield Claim(
            name=f"one kind: mean response over that of {rival.partition(' ')[0]}",
            figure=fmean(own["one kind"]) / theirs,
            write="{:.2f}".format,
        )


def main() -> int:
    """Prints the table; 1 if a bar is missed."""
    found = list(claims())
    print("\n".join(table(found)))
    return int(any(claim.kept is False for claim in found))


if __name__ == "__main__":
    sys.exit(main())
