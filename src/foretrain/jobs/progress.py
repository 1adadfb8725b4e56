"""Pace: how quickly a job would go on some devices, packed on as few nodes as can be.

Progress: how quickly a job goes on the devices that it holds, and how long it stays so.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from functools import cache
from math import ceil, inf
from typing import NamedTuple, Protocol, TypeGuard

from foretrain.cluster.mixed import Fleet
from foretrain.jobs.active import Active, HeldDevices
from foretrain.throughput import Curve


def pace(active: Active, devices: float, *, fleet: Fleet) -> float:
    """Units of work per second on devices of the first kind that the job can use.

    Args:
        active: the job.
        devices: one of its curve's counts.
        fleet: where it runs.
    """
    kinds = active.job.kinds
    home = next(each for each in fleet.nodes if not kinds or each.kind in kinds)
    nodes = ceil(devices / home.devices)
    return active.job.curve.rate(devices, nodes=nodes, kind=home.kind, done=active.done)


def efficient(active: Active, threshold: float, *, fleet: Fleet) -> int:
    """The most devices on which each still does a share of what a device does on the fewest.

    Args:
        active: the job.
        threshold: the share, from 0 (as many devices as the job can use) to 1.
        fleet: where it runs; no job is given more devices than it has.
    """
    counts = [count for count in active.job.curve.counts if count <= fleet.devices]
    alone = pace(active, counts[0], fleet=fleet) / counts[0]
    return next(
        count
        for count in reversed(counts)
        if count == counts[0] or pace(active, count, fleet=fleet) >= threshold * alone * count
    )


def largest(active: Active, devices: int) -> int:
    """The largest number that the job can use of some devices; 0 if they are too few."""
    counts = active.job.curve.counts
    return counts[place - 1] if (place := bisect_right(counts, devices)) else 0


class RateStretch(NamedTuple):
    """Work at one rate.

    Attributes:
        rate: units of work per second, above 0.
        until: units of work done at which the rate changes; infinity if it never does.
    """

    rate: float
    until: float


Progress = Callable[[Active, HeldDevices], RateStretch]
"""What becomes of a job on devices. It may differ from the job's curve: a curve is what a scheduler
believes, progress is what happens."""


class StagedCurve(Curve, Protocol):
    """A curve whose rate changes with what is done."""

    def until(self, done: float) -> float:
        """Units of work at which the rate changes next; infinity if it never does again."""
        ...


def believed(active: Active, held: HeldDevices) -> RateStretch:
    """As the job's curve says."""
    curve, done = active.job.curve, active.done
    rate = curve.rate(held.devices, nodes=held.nodes, kind=held.kind, done=done)
    return RateStretch(rate, curve.until(done) if _is_staged(curve) else inf)


def _is_staged(curve: Curve) -> TypeGuard[StagedCurve]:
    return offers(type(curve), "until")


@cache
def offers(kind: type[Curve], method: str) -> bool:
    """Whether a kind of curve has a method; asked once, as asking a protocol is slow.

    Args:
        kind: of the curve.
        method: that not all curves have.
    """
    return hasattr(kind, method)
