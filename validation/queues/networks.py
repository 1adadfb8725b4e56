"""Random closed networks: mean-value analysis, our event kernel, SimPy and Ciw.

Networks are drawn fresh. Whether a figure lies inside another's 99 % interval is a matter of chance
once in a hundred networks even if both are right, so over all networks the misses are counted:
there may be as many as chance makes in all but one of five hundred runs. A formula that is wrong by
a little everywhere stays inside single intervals; that is seen by the mean of all deviations, which
must lie inside its 99.9 % interval. And no interval may be so wide as to hide a few percent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import comb, sqrt
from random import Random
from statistics import fmean, stdev
from typing import NamedTuple

from validation.parts.claims import Claim
from validation.queues.engines import ENGINES, PlayedNetwork

from foretrain.distributions import Distribution, Exponential, LogNormal, Weibull
from foretrain.queueing.closed import mean_values
from foretrain.statistics import student_quantile

NETWORKS = 20
CYCLES = {"ours": 120_000, "SimPy": 120_000, "Ciw": 40_000}
"""Ends of cycles per run; Ciw takes ten times as long for each."""

BATCHES, WARM_UP = 20, 0.05
CONFIDENCE = 0.99
CHANCE = 0.002
"""Of more misses than are allowed, though all is right."""

COMMON = 3.3 * sqrt((BATCHES - 1) / (BATCHES - 3))
"""A normal value keeps 3.3 deviations with 99.9 %; Student's scores are spread a little wider."""

WIDEST = 0.03
"""Largest half-width of a 99 % interval, as a share of the mean."""


class Measured(NamedTuple):
    """A mean from batches of a run.

    Attributes:
        mean: cycles per second.
        error: its standard error.
    """

    mean: float
    error: float

    def score(self, theory: float) -> float:
        """How many standard errors it lies above a value."""
        return (self.mean - theory) / self.error

    def apart(self, other: Measured) -> float:
        """How many standard errors it lies above another mean."""
        return (self.mean - other.mean) / sqrt(self.error**2 + other.error**2)


def drawn(random: Random) -> PlayedNetwork:
    """A network: light to saturated, one to four stations, some of several servers."""
    count = random.randint(1, 4)
    services = tuple(random.uniform(0.02, 0.2) for _ in range(count))
    servers = tuple(random.choice([1, 1, 2, 3]) for _ in range(count))
    think = random.uniform(0.1, 2.0)
    laws: Sequence[Distribution] = (
        Exponential(mean=think, least=random.choice([0.0, 0.5 * think])),
        LogNormal(mean=think, deviation=think * random.uniform(0.2, 1.0)),
        Weibull(mean=think, shape=random.uniform(0.7, 3.0)),
    )
    network = PlayedNetwork(
        thinking=random.choice(laws), services=services, servers=servers, customers=1
    )
    most = max(2, min(64, round(2.0 * network.formula.knee)))
    return PlayedNetwork(
        thinking=network.thinking, services=services, servers=servers,
        customers=random.randint(1, most),
    )  # fmt: skip


def theory(network: PlayedNetwork) -> float:
    """Cycles per second by mean-value analysis."""
    return float(mean_values(network.formula, network.customers).throughput[-1])


def measured(ends: Sequence[float], *, until: float) -> Measured:
    """Cycles per second from their ends, by batches of equal time after the warm-up."""
    first = WARM_UP * until
    width = (until - first) / BATCHES
    counts = [0] * BATCHES
    for end in ends:
        if end > first:
            counts[min(BATCHES - 1, int((end - first) / width))] += 1
    rates = [count / width for count in counts]
    return Measured(fmean(rates), stdev(rates) / sqrt(BATCHES))


def played(network: PlayedNetwork, *, seed: int, share: float = 1.0) -> dict[str, Measured]:
    """The network on every engine, with a share of the cycles."""
    found = {}
    for place, (name, engine) in enumerate(ENGINES.items()):
        until = share * CYCLES[name] / theory(network)
        ends = engine(network, until=until, seed=seed + place)
        found[name] = measured(ends, until=until)
    return found


def allowed(networks: int) -> int:
    """Misses of 99 % intervals that chance does not exceed but with probability `CHANCE`."""
    miss, left, misses = 1.0 - CONFIDENCE, 1.0, 0
    while True:
        left -= comb(networks, misses) * miss**misses * CONFIDENCE ** (networks - misses)
        if left <= CHANCE:
            return misses
        misses += 1


def scores(
    theories: Sequence[float], runs: Sequence[Mapping[str, Measured]]
) -> dict[str, list[float]]:
    """Standard errors between each two figures that should agree, network by network."""
    found = {
        f"mean-value analysis and {name}": [
            run[name].score(each) for each, run in zip(theories, runs, strict=True)
        ]
        for name in ENGINES
    }
    for name in ("SimPy", "Ciw"):
        found[f"ours and {name}"] = [run["ours"].apart(run[name]) for run in runs]
    return found


def judged(theories: Sequence[float], runs: Sequence[Mapping[str, Measured]]) -> Iterator[Claim]:
    """A claim on misses and one on the common deviation, for each two that should agree."""
    bound = student_quantile(CONFIDENCE, freedom=BATCHES - 1)
    for pair, each in scores(theories, runs).items():
        yield Claim(
            name=f"{pair}: outside 99 % intervals, of {len(each)}",
            figure=float(sum(abs(score) > bound for score in each)),
            most=float(allowed(len(each))),
            write="{:.0f}".format,
            noisy=True,
        )
        yield Claim(
            name=f"{pair}: common deviation, in standard errors",
            figure=abs(fmean(each)) * sqrt(len(each)),
            most=COMMON,
            write="{:.2f}".format,
            noisy=True,
        )
    yield Claim(
        name="widest 99 % half-width",
        figure=max(bound * one.error / one.mean for run in runs for one in run.values()),
        most=WIDEST,
        write="{:.2%}".format,
        noisy=True,
    )
