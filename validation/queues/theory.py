"""Theory: queues on the event kernel against their formulas, with ten fixed seeds.

A case passes if the 95 % interval of its mean over the seeds is no wider than 1 % to either side,
and the formula lies inside the 99.9 % interval. No seed is ever replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from validation.parts.claims import Claim
from validation.queues.played import (
    Away,
    Draw,
    Forked,
    InTurn,
    Place,
    Shared,
    cycles,
    responses,
)
from validation.scheduling.theory import SEEDS, WARM_UP, Result, judged

from foretrain.distributions import Constant, Distribution, LogNormal, Weibull
from foretrain.events import Events
from foretrain.queueing.birth_death import machine_repair, repair_throughput
from foretrain.queueing.closed import ClosedNetwork, mean_values
from foretrain.queueing.fork_join import (
    exponential_response,
    fork_join_response,
    general_response,
    shared_response,
)
from foretrain.statistics import batch_means

Make = Callable[[Events, Random], Place]
UNEVEN: Distribution = LogNormal(mean=1.0, deviation=1.2)
EVEN: Distribution = Constant(1.0)
LONG: Distribution = Weibull(mean=1.0, shape=0.7)
SQUARE = UNEVEN.variance + UNEVEN.mean**2
THREE = ClosedNetwork(think=2.0, demands={"down": 0.5, "up": 0.5, "update": 0.1})


def exponential(mean: float) -> Draw:
    """Exponential times of a mean in seconds."""
    return lambda random: random.expovariate(1.0 / mean)


@dataclass(frozen=True, kw_only=True)
class QueueCase:
    """A queue and what theory says of it.

    Attributes:
        name: of the formula.
        theory: what it says.
        amount: jobs, or seconds, of one run.
        play: the same figure of one run of some jobs or seconds.
    """

    name: str
    theory: float
    amount: int
    play: Callable[[Random, int], float]


def _open(name: str, theory: float, make: Make, *, load: float, jobs: int) -> QueueCase:
    """Poisson arrivals; the figure is the mean response time in seconds."""

    def play(random: Random, jobs: int) -> float:
        events = Events()
        spent = responses(events, make(events, random), arrivals=load, jobs=jobs, random=random)
        return batch_means(spent, batches=1, skip=WARM_UP)[0]

    return QueueCase(name=f"{name}, {load:g} arrivals per s", theory=theory, amount=jobs, play=play)


def _closed(
    name: str, theory: float, makes: list[Make], *, customers: int, seconds: int
) -> QueueCase:
    """Customers who go round; the figure is their cycles per second."""

    def play(random: Random, seconds: int) -> float:
        events = Events()
        places = [make(events, random) for make in makes]
        ends = cycles(events, places, customers=customers, until=seconds)
        warm = WARM_UP * seconds
        return sum(end > warm for end in ends) / (seconds - warm)

    return QueueCase(
        name=f"{name}, {customers} customers", theory=theory, amount=seconds, play=play
    )


def _turn(draw: Draw, servers: int = 1) -> Make:
    return lambda events, random: InTurn(events, draw, random, servers=servers)


def _away(draw: Draw) -> Make:
    return lambda events, random: Away(events, draw, random)


def _shared(draw: Draw) -> Make:
    return lambda events, random: Shared(events, draw, random)


def _two_forked(events: Events, random: Random) -> Place:
    return Forked([InTurn(events, exponential(1.0), random) for _ in range(2)])


CASES = (
    _open(
        "M/M/1", exponential_response(0.6, mean=1.0, servers=1),
        _turn(exponential(1.0)), load=0.6, jobs=120_000,
    ),
    _open(
        "M/M/4", exponential_response(3.0, mean=1.0, servers=4),
        _turn(exponential(1.0), 4), load=3.0, jobs=120_000,
    ),
    _open(
        "M/D/1", general_response(0.7, mean=1.0, square=1.0),
        _turn(EVEN.draw), load=0.7, jobs=80_000,
    ),
    _open(
        "M/G/1, lognormal", general_response(0.5, mean=1.0, square=SQUARE),
        _turn(UNEVEN.draw), load=0.5, jobs=150_000,
    ),
    _open(
        "M/G/1, processor sharing, Weibull", shared_response(0.5, mean=1.0),
        _shared(LONG.draw), load=0.5, jobs=150_000,
    ),
    _open(
        "two servers, forked and joined", fork_join_response(0.5, mean=1.0, servers=2),
        _two_forked, load=0.5, jobs=80_000,
    ),
    _closed(
        "machine repair, three repairers",
        machine_repair(20, running=10.0, repair=2.0, repairers=3).throughput,
        [_away(exponential(10.0)), _turn(exponential(2.0), 3)], customers=20, seconds=40_000,
    ),
    _closed(
        "machine repair, equal repairs",
        repair_throughput(10, think=10.0, service=1.0, variation=0.0),
        [_away(exponential(10.0)), _turn(EVEN.draw)], customers=10, seconds=40_000,
    ),
    _closed(
        "closed, three stations, lognormal thinking", float(mean_values(THREE, 8).throughput[-1]),
        [_away(lambda random: 2.0 * UNEVEN.draw(random)), _turn(exponential(0.5)),
         _shared(lambda random: 0.5 * LONG.draw(random)), _turn(exponential(0.1))],
        customers=8, seconds=25_000,
    ),
)  # fmt: skip


def tried(case: QueueCase, *, amount: int) -> Result:
    """Play a case once per seed."""
    return Result(
        theory=case.theory, means=tuple(case.play(Random(seed), amount) for seed in SEEDS)
    )


def claims() -> Iterator[Claim]:
    """How sure each mean is, and whether theory lies where it should."""
    for case in CASES:
        yield from judged(case.name, tried(case, amount=case.amount))
