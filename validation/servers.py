"""Throughput of 1 to 64 workers: formulas against the simulation, where their assumptions match.

    python -m validation.servers            # fails where a row differs by more than 2 %
    python -m validation.servers --tenth    # a random tenth of the rows

Synchronous and asynchronous training, with a server and without one. Each formula stands below with
what it assumes, and the simulation is given just that: it knows no formula.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from benchmarks.tenth import chooser
from numpy.typing import NDArray
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

POINTS = 400
"""Points at which a distribution is integrated."""

REACH = 20
"""Standard deviations above its mean to which it is."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Combination:
    """One way to train.

    Attributes:
        name: of it.
        training: by the number of workers.
        rate: steps per second of all workers together by a formula, by their number.
    """

    name: str
    training: Callable[[int], Training]
    rate: Callable[[int], float]


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
    found = simulate(combination.training(workers), workers, steps=steps, seed=workers)
    return Row(formula=combination.rate(workers), found=found)


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


def closed_network(workers: int, *, delay: float, demands: Sequence[float]) -> float:
    """Steps per second of workers that compute and queue at stations.

    Exact where links are shared equally, whatever the computation is distributed like.

    Source: reiser1980.
    """
    queues = [0.0] * len(demands)
    for count in range(1, workers + 1):
        times = [demand * (1.0 + queue) for demand, queue in zip(demands, queues, strict=True)]
        rate = count / (delay + sum(times))
        queues = [rate * time for time in times]
    return rate


def barrier(workers: int) -> float:
    """Steps per second with a server and a barrier.

    All pull at once: the link is busy for as long as all their bytes take. Gradients come as
    computations end; a link that is never idle while there is work is through with n equal pushes
    when max over j of (the j-th computation's end + (n - j + 1) pushes), in whichever order it
    serves them. Then the last update, for which a core is free.
    """
    pushed = expected(lambda seconds: all_pushed(seconds, workers), least=workers * PUSH)
    return workers / (2.0 * LATENCY + workers * PULL + pushed + UPDATE)


def all_pushed(seconds: Floats, workers: int) -> Floats:
    """Probability that all gradients have come so long after all began to compute. [time]

    That the j-th computation of n has ended n - j + 1 pushes before, for every j: computations that
    have ended are counted from one such moment to the next. Source: noe1972.
    """
    from scipy.special import comb

    counts = np.arange(workers + 1)
    gained = counts[None, :] - counts[:, None]
    left = workers - counts[:, None]
    ways = np.where(gained >= 0, comb(left, np.maximum(gained, 0)), 0.0)
    state = np.zeros((len(seconds), workers + 1))
    state[:, 0], before = 1.0, np.zeros(len(seconds))
    for number in range(1, workers + 1):
        now = COMPUTE.below(seconds - (workers - number + 1) * PUSH)
        rest = 1.0 - before
        chance = np.where(rest > 0, (now - before) / np.where(rest > 0, rest, 1.0), 0.0)
        chance = chance[:, None, None]
        moves = (
            ways
            * chance ** np.maximum(gained, 0)
            * (1.0 - chance) ** np.maximum(left - np.maximum(gained, 0), 0)
        )
        state = np.einsum("tm,tmk->tk", state, moves)
        state[:, :number] = 0.0
        before = now
    return state.sum(axis=1)


def ring(workers: int) -> float:
    """Steps per second with an all-reduce, which begins when the slowest has come.

    Sources: david2003, section 2.1 (the largest of n); patarasuk2009, equation 4.
    """
    slowest = expected(lambda seconds: COMPUTE.below(seconds) ** workers, least=0.0)
    hops = 2.0 * (workers - 1)
    return workers / (slowest + hops * LATENCY + hops / workers * PUSH)


def pairs(workers: int) -> float:
    """Steps per second of workers that average with one other at a time.

    An exchange of two takes both directions of their links. With p the chance that another worker
    exchanges just now, it meets that of its partner with p, and of each of the n - 2 others with
    2 p / (n - 1). Exchanges that meet halve each other's rate, so one takes
    D (1 + p (3 n - 5) / (n - 1)). Exact for two workers only as a closed network; to first order in
    p for more, while links are busy at most a fifth of the time and exchanges that meet hardly ever
    meet a third: at a third of the time it is up to 5 % too low, at a half up to 15 %. There is no
    closed form then: which exchanges meet is a random graph.
    """
    if workers == 1:
        return 1.0 / COMPUTE.mean
    delay = COMPUTE.mean + LATENCY
    if workers == 2:
        return closed_network(2, delay=delay, demands=[AVERAGING])
    met, seconds = (3.0 * workers - 5.0) / (workers - 1.0), AVERAGING
    for _ in range(100):
        seconds = AVERAGING * (1.0 + met * seconds / (delay + seconds))
    return workers / (delay + seconds)


def expected(below: Callable[[Floats], Floats], *, least: float) -> float:
    """Mean of a time, from the probability that it is at most some seconds.

    Args:
        below: the probability. [time]
        least: seconds below which it never is.
    """
    most = least + COMPUTE.mean + REACH * COMPUTE.deviation
    seconds = np.linspace(least, most, POINTS)
    return least + float(np.trapezoid(1.0 - below(seconds), seconds))


COMBINATIONS = (
    Combination(
        name="asynchronous, a server",
        training=lambda workers: served(ASYNCHRONOUS, cores=workers),
        rate=lambda workers: closed_network(
            workers, delay=COMPUTE.mean + UPDATE + 2.0 * LATENCY, demands=[PULL, PUSH]
        ),
    ),
    Combination(
        name="synchronous, a server",
        training=lambda workers: served(SYNCHRONOUS, cores=workers),
        rate=barrier,
    ),
    Combination(
        name="synchronous, a ring",
        training=lambda _: among_peers(Aggregation.ALL_REDUCE, SYNCHRONOUS),
        rate=ring,
    ),
    Combination(
        name="asynchronous, pairs",
        training=lambda _: among_peers(Aggregation.PAIRWISE, ASYNCHRONOUS),
        rate=pairs,
    ),
    Combination(
        name="asynchronous, a server with one core (its work is no product form)",
        training=lambda _: served(ASYNCHRONOUS, cores=1),
        rate=lambda workers: closed_network(
            workers, delay=COMPUTE.mean + 2.0 * LATENCY, demands=[PULL, PUSH, UPDATE]
        ),
    ),
)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
