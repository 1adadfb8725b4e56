"""Nodes that fail in a full cluster, under every policy: the books balance.

    python -m validation.failing             # 300 jobs at load 1.2
    python -m validation.failing --seed 3    # other jobs and failures

Nodes of eight devices fail every few hours and are repaired within one. After every decision each
node is looked at: its devices are free, held by the jobs that say so, or down. Summed over time
the three must be all that there were, what jobs held must be what the outcomes say, and every job
must end. The exit status is 1 where they do not.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import fsum, isclose

from numpy.random import default_rng
from validation.parts.claims import Claim, table

from foretrain.cluster.mixed import Fleet, NodeFailures, Nodes
from foretrain.jobs.active import Active
from foretrain.jobs.generator import generate
from foretrain.jobs.mix import JobSize, Length, Mix
from foretrain.jobs.nodes import NodePool, Place, packed, racks, spread
from foretrain.jobs.outages import Failures
from foretrain.jobs.outcomes import Outcomes
from foretrain.jobs.policies.policy import PolicyInputs
from foretrain.jobs.policies.table import POLICIES, named
from foretrain.jobs.simulation import Dispatcher, Simulation
from foretrain.measured.job import Trace

JOBS = 300
LOAD = 1.2
ONE = Fleet(nodes=(Nodes(count=8, devices=8, rack=4),))
TWO = Fleet(nodes=(Nodes(count=6, devices=8, kind="a"), Nodes(count=4, devices=4, kind="b")))
FAILING = NodeFailures(between=6 * 3600.0, repair=3600.0, checkpoint=900.0)
MIX = Mix(
    sizes=tuple(
        JobSize(devices=devices, share=share)
        for devices, share in ((1, 0.4), (2, 0.2), (4, 0.2), (8, 0.1), (16, 0.07), (32, 0.03))
    ),
    length=Length(median=3600.0, spread=1.0, tail=0.0, begins=1e4, index=2.0, longest=4e4),
)
PLACES = {"packed": packed, "spread": spread, "racks": racks}


@dataclass(slots=True)
class Auditor:
    """A dispatcher that looks at every node after each decision of another.

    Attributes:
        dispatcher: the other.
        fleet: its nodes.
        busy: device-seconds that jobs held.
        idle: that were free.
        down: of nodes that were being repaired.
        last: when it last looked.
    """

    dispatcher: Dispatcher
    fleet: Fleet
    busy: float = 0.0
    idle: float = 0.0
    down: float = 0.0
    last: float = 0.0
    _now: tuple[float, float, float] | None = None
    _there: dict[int, Active] = field(default_factory=dict)

    def arrive(self, active: Active, simulation: Simulation) -> None:
        """A job has come."""
        self._there[active.rank] = active
        self.dispatcher.arrive(active, simulation)

    def leave(self, active: Active, simulation: Simulation) -> None:
        """A job has ended, or lost its node."""
        del self._there[active.rank]
        self.dispatcher.leave(active, simulation)

    def decide(self, simulation: Simulation) -> None:
        """Let the other decide, and look."""
        self._sum(simulation.now)
        self.dispatcher.decide(simulation)
        pool = simulation.pool
        assert isinstance(pool, NodePool)
        self._now = self._look(pool)

    def _sum(self, now: float) -> None:
        passed, self.last = now - self.last, now
        state = self._now or (0.0, self.fleet.devices, 0.0)
        busy, idle, down = (passed * devices for devices in state)
        self.busy, self.idle, self.down = self.busy + busy, self.idle + idle, self.down + down

    def _look(self, pool: NodePool) -> tuple[float, float, float]:
        """Devices that are held, free and down."""
        held: Counter[int] = Counter()
        for active in self._there.values():
            for node, devices in active.held.places if active.held else ():
                held[node] += devices
        free = {node: left for room in pool.rooms for node, left in room.free.items()}
        for room in pool.rooms:
            for node in room.free:
                assert held[node] + free[node] == room.group.devices, f"node {node}"
        assert held.keys() <= free.keys(), "a job holds devices of a node that is down"
        busy, idle = sum(held.values()), sum(free.values())
        return busy, idle, self.fleet.devices - busy - idle


def audited(
    trace: Trace, fleet: Fleet, policy: str, *, failing: NodeFailures, place: Place, seed: int
) -> tuple[Outcomes, Auditor]:
    """A run under failures, and what was seen in it.

    Raises:
        AssertionError: the books do not balance.
    """
    pool = NodePool(fleet, place)
    made = named(policy).make(PolicyInputs(fleet=fleet, past=trace, period=0.0))
    auditor = Auditor(made, fleet)
    failures = Failures(auditor, pool, failing=failing, random=default_rng(seed))
    outcomes = Simulation(trace, pool, failures).run()
    total = fleet.devices * auditor.last
    assert isclose(auditor.busy + auditor.idle + auditor.down, total, rel_tol=1e-9)
    assert isclose(auditor.busy, fsum(outcomes.attained), rel_tol=1e-9)
    assert all(end >= job.arrival for job, end in zip(trace.jobs, outcomes.ended, strict=True))
    return outcomes, auditor


def main(arguments: Sequence[str]) -> int:
    """A line per policy; 1 where one does not end, or its books do not balance."""
    parser = argparse.ArgumentParser(prog="python -m validation.failing")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=JOBS)
    asked = parser.parse_args(arguments)
    print(f"{asked.jobs} jobs at load {LOAD}")
    found = list(claims(asked.jobs, asked.seed))
    print("\n".join(table(found)))
    return int(any(claim.kept is False for claim in found))


def claims(jobs: int, seed: int) -> Iterator[Claim]:
    """Runs of each policy whose books do not balance."""
    for policy, about in POLICIES.items():
        if about.fluid:
            continue  # devices in parts lie on no node, and such a study is refused
        wrong = []
        for fleet in (ONE,) if about.one_kind else (ONE, TWO):
            trace = drawn(fleet, jobs, seed)
            for name, place in PLACES.items():
                try:
                    audited(trace, fleet, policy, failing=FAILING, place=place, seed=seed)
                except Exception as error:  # told, whatever it is
                    wrong.append(f"{name}: {type(error).__name__}: {error}")
        for each in wrong:
            print(f"{policy}, {each}")
        yield Claim(
            name=f"{policy}: runs that do not balance",
            figure=float(len(wrong)),
            most=0.0,
            write="{:.0f}".format,
        )


def drawn(fleet: Fleet, jobs: int, seed: int) -> Trace:
    """Jobs for a fleet, none larger than one of its kinds, that must pay for a restart."""
    most = max(each.count * each.devices for each in fleet.nodes)
    load = LOAD * fleet.devices / most
    return generate(MIX, default_rng(seed), count=jobs, load=load, devices=most, restart=60.0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
