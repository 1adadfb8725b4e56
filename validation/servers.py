"""Throughput of 1 to 64 workers: formulas against the simulation, where their assumptions match.

    python -m validation.servers            # fails where a row differs by more than 2 %
    python -m validation.servers --tenth    # a random tenth of the rows

Synchronous and asynchronous training, with a server and without one. The formulas are those that
`foretrain scale` answers with; the simulation is given what they assume, and knows none of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.tenth import chooser
from validation.parts.claims import Claim, table

from foretrain.distributions import LogNormal
from foretrain.plan.servers import (
    ASYNCHRONOUS,
    SYNCHRONOUS,
    Aggregation,
    Servers,
    Training,
    Updates,
    Worker,
)
from foretrain.queueing.closed_form import by_formula
from foretrain.queueing.servers.simulate import simulate
from foretrain.queueing.servers.tally import SimulatedTraining

COUNTS = (1, 2, 4, 8, 16, 32, 64)
MOST = 0.02
STEPS = 60_000
"""Of all workers together."""

FEWEST = 2_000
"""Of each worker, for all but a fresh start to count."""

COMPUTE = LogNormal(mean=0.2, deviation=0.1)
PULL, PUSH, UPDATE = 0.05, 0.05, 0.01
"""Seconds of a step on a server's links and cores if nobody else is there."""

LATENCY = 0.001
AVERAGING = 0.02
"""Seconds in which a worker's link carries its parameters."""


@dataclass(frozen=True, kw_only=True)
class Combination:
    """One way to train.

    Attributes:
        name: of it.
        training: by the number of workers.
    """

    name: str
    training: Callable[[int], Training]


def main(arguments: Sequence[str]) -> int:
    """Prints formula beside simulation; 1 if a row differs by more than the bar."""
    chosen = chooser(arguments)
    claims = []
    print("workers, steps/s by formula, by simulation, its 95 % interval, difference")
    for each in COMBINATIONS:
        rows = [compared(each, workers) for workers in COUNTS if chosen()]
        print("\n".join([each.name, *map(str, rows)]), flush=True)
        worst = max((abs(row.difference) for row in rows), default=None)
        claims.append(Claim(name=f"{each.name}: largest difference", figure=worst, most=MOST))
    print("\n".join(table(claims)))
    return 1 if any(claim.kept is False for claim in claims) else 0


@dataclass(frozen=True, kw_only=True)
class Row:
    """A number of workers.

    Attributes:
        formula: steps per second.
        found: what the simulation says.
    """

    formula: float
    found: SimulatedTraining

    @property
    def difference(self) -> float:
        """By how much the simulation's throughput is above the formula's."""
        return self.found.throughput / self.formula - 1.0

    def __str__(self) -> str:
        """A line."""
        it = self.found
        return (
            f"  {it.workers:3} {self.formula:9.3f} {it.throughput:9.3f}"
            f" {it.low:9.3f} to {it.high:9.3f} {self.difference:+7.2%}"
        )


def compared(combination: Combination, workers: int) -> Row:
    """Formula and simulation of a number of workers."""
    steps = max(STEPS // workers, FEWEST)
    training = combination.training(workers)
    formula = by_formula(training, workers).throughput
    assert formula is not None, "a combination without a formula"
    return Row(formula=formula, found=simulate(training, workers, steps=steps, seed=workers))


def served(updates: Updates, *, cores: int) -> Training:
    """Training with one server, whose link carries a byte per second."""
    worker = Worker(compute=COMPUTE, samples=1.0, pulled=PULL, pushed=PUSH, link=10.0)
    servers = Servers(link=1.0, latency=LATENCY, update=UPDATE, cores=cores)
    return Training(worker=worker, servers=servers, updates=updates)


def among_peers(aggregation: Aggregation, updates: Updates) -> Training:
    """Training without servers."""
    size = AVERAGING if aggregation is Aggregation.PAIRWISE else PUSH
    worker = Worker(compute=COMPUTE, samples=1.0, pulled=size, pushed=size, link=1.0)
    return Training(worker=worker, aggregation=aggregation, updates=updates, latency=LATENCY)


COMBINATIONS = (
    Combination(
        name="asynchronous, a server",
        training=lambda workers: served(ASYNCHRONOUS, cores=workers),
    ),
    Combination(
        name="synchronous, a server",
        training=lambda workers: served(SYNCHRONOUS, cores=workers),
    ),
    Combination(
        name="synchronous, a ring",
        training=lambda _: among_peers(Aggregation.ALL_REDUCE, SYNCHRONOUS),
    ),
    Combination(
        name="asynchronous, pairs",
        training=lambda _: among_peers(Aggregation.PAIRWISE, ASYNCHRONOUS),
    ),
    Combination(
        name="asynchronous, a server with one core (its work is no product form)",
        training=lambda _: served(ASYNCHRONOUS, cores=1),
    ),
)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
