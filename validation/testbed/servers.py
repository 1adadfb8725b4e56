"""What is measured with parameter servers on emulated nodes: nouns, and the table of cases.

Everything here was decided before anything was measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from foretrain.distributions import Constant, Distribution, Exponential, LogNormal

SERVERS = 2
"""Nodes that can serve; the first ones of a lab."""
WORKERS = (1, 2, 4, 8)
SECONDS = 16.0
"""Of each run."""
WARM_UP = 2.0
"""Seconds of them, from the first on, that do not count."""
MEBI = 2**20
MEGABIT = 1e6 / 8

DISTRIBUTIONS: Mapping[str, type[Constant | Exponential | LogNormal]] = {
    "constant": Constant,
    "exponential": Exponential,
    "lognormal": LogNormal,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Links of a lab, as bytes per second on the wire.

    Attributes:
        workers: of each worker's, in each direction.
        servers: of each server's.
    """

    workers: float
    servers: float


SLOW = Network(workers=100 * MEGABIT, servers=100 * MEGABIT)
MIDDLE = Network(workers=200 * MEGABIT, servers=200 * MEGABIT)
FAST = Network(workers=500 * MEGABIT, servers=500 * MEGABIT)
FASTEST = Network(workers=1000 * MEGABIT, servers=1000 * MEGABIT)
WIDE = Network(workers=200 * MEGABIT, servers=600 * MEGABIT)
"""Servers that three workers fill."""
NETWORKS = {
    "100": SLOW,
    "200": MIDDLE,
    "500": FAST,
    "1000": FASTEST,
    "200 to 600": WIDE,
}
"""By what the table calls them: Mbit/s."""

SYNCHRONOUS, STALE, VERY_STALE, ASYNCHRONOUS = 0, 1, 3, None
"""Steps that a worker may be ahead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServersCase:
    """A training that is measured.

    Attributes:
        network: its name.
        servers: how many serve.
        workers: how many train.
        stale: steps that a worker may be ahead of the slowest; None for any number.
        size: bytes of all parameters, and of all gradients.
        compute: distribution of the seconds of a computation.
        update: seconds for which a server's core is kept by one worker's gradients, at least.
    """

    network: str
    servers: int
    workers: int
    stale: int | None
    size: int
    compute: Mapping[str, Any]
    update: float = 0.0


def distribution(told: Mapping[str, Any]) -> Distribution:
    """As a job tells it."""
    return DISTRIBUTIONS[told["kind"]](**{key: told[key] for key in told if key != "kind"})


def _exponential(mean: float) -> Mapping[str, Any]:
    return {"kind": "exponential", "mean": mean, "least": 0.6 * mean}


def _lognormal(mean: float) -> Mapping[str, Any]:
    return {"kind": "lognormal", "mean": mean, "deviation": 0.3 * mean}


def _cases() -> tuple[ServersCase, ...]:
    """A message of the whole model takes 35 to 45 ms each way on the link of a worker."""
    slow = ServersCase(
        network="100", servers=1, workers=1, stale=None, size=MEBI // 2, compute=_lognormal(0.15)
    )
    middle = replace(slow, network="200", size=MEBI, compute=_exponential(0.12))
    fast = replace(slow, network="500", size=2 * MEBI, compute=_lognormal(0.10))
    fastest = replace(slow, network="1000", size=4 * MEBI, compute=_exponential(0.20))
    wide = replace(slow, network="200 to 600", size=MEBI, compute=_lognormal(0.08))
    busy = replace(fast, size=MEBI, update=0.025)
    return (
        # one worker: whatever the kind of updates, it waits for nobody
        replace(slow, servers=1, workers=1, stale=ASYNCHRONOUS),
        replace(fastest, servers=2, workers=1, stale=SYNCHRONOUS),
        # two and four workers: below saturation and about it
        replace(middle, servers=1, workers=2, stale=SYNCHRONOUS),
        replace(fast, servers=1, workers=2, stale=STALE),
        replace(slow, servers=1, workers=2, stale=ASYNCHRONOUS),
        replace(slow, servers=2, workers=2, stale=SYNCHRONOUS),
        replace(middle, servers=2, workers=2, stale=VERY_STALE),
        replace(fast, servers=2, workers=2, stale=ASYNCHRONOUS),
        replace(slow, servers=1, workers=4, stale=SYNCHRONOUS),
        replace(middle, servers=1, workers=4, stale=VERY_STALE),
        replace(fast, servers=1, workers=4, stale=ASYNCHRONOUS),
        replace(fastest, servers=2, workers=4, stale=SYNCHRONOUS),
        replace(slow, servers=2, workers=4, stale=STALE),
        replace(middle, servers=2, workers=4, stale=ASYNCHRONOUS),
        # eight: servers are the bottleneck, or nearly
        replace(slow, servers=1, workers=8, stale=SYNCHRONOUS),
        replace(fastest, servers=1, workers=8, stale=SYNCHRONOUS),
        replace(middle, servers=1, workers=8, stale=STALE),
        replace(fast, servers=1, workers=8, stale=VERY_STALE),
        replace(slow, servers=1, workers=8, stale=ASYNCHRONOUS),
        replace(fastest, servers=1, workers=8, stale=ASYNCHRONOUS),
        replace(middle, servers=2, workers=8, stale=SYNCHRONOUS),
        replace(fast, servers=2, workers=8, stale=SYNCHRONOUS),
        replace(slow, servers=2, workers=8, stale=VERY_STALE),
        replace(fastest, servers=2, workers=8, stale=STALE),
        replace(middle, servers=2, workers=8, stale=ASYNCHRONOUS),
        replace(fast, servers=2, workers=8, stale=ASYNCHRONOUS),
        # links of servers that are faster than those of workers
        replace(wide, servers=1, workers=4, stale=SYNCHRONOUS),
        replace(wide, servers=1, workers=8, stale=ASYNCHRONOUS),
        replace(wide, servers=2, workers=8, stale=STALE),
        # the core of a server is the bottleneck
        replace(busy, servers=1, workers=4, stale=ASYNCHRONOUS),
        replace(busy, servers=1, workers=8, stale=SYNCHRONOUS),
        replace(busy, servers=2, workers=8, stale=ASYNCHRONOUS),
    )


CASES = _cases()
