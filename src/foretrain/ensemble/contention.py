"""Cores in demand: how much slower a member trains while the same cores prepare samples."""

from __future__ import annotations

from math import inf

from foretrain.queueing.fifo import waits

HALVINGS = 60
"""Bisections: as many as the bits of a rate are worth."""


def trained(demand: float, *, own: float, others: float, cores: int) -> float:
    """Samples per second that a member trains while its node does other work per sample.

    Args:
        demand: samples per second with the cores for itself.
        own: core-seconds of the member's own work per sample; what of a sample's time is not
            the cores' is the device's.
        others: core-seconds of other work that every sample brings with it.
        cores: of the node.

    A sample takes 1/demand seconds, of which the member needs a core for `own`. Whenever it does,
    it waits behind the other work as a job waits in M/M/c at the load that this work makes. That
    load grows with the rate itself, so the rate is where the two agree. With one core and no
    device the times add up; many cores give the smaller of the two rates, rounded off where
    they meet.

    Source: kleinrock1975, section 3.5, for the waiting.
    """
    needed = min(own, 1.0 / demand)
    work = own + others
    low, high = 0.0, min(demand, cores / work) if work else demand
    for _ in range(HALVINGS):
        rate = 0.5 * (low + high)
        on_device = 1.0 / demand - needed
        took = on_device + needed * _stretch(rate * others, cores=cores)
        low, high = (rate, high) if rate * took < 1.0 else (low, rate)
    return high


def _stretch(offered: float, *, cores: int) -> float:
    """Response time of a unit of work beside others that keep so many cores busy."""
    if offered >= cores:
        return inf
    return 1.0 + waits(offered, servers=cores) / (cores - offered)
