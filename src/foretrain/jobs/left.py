"""Time left: how long a job would still take, also where its rate will change."""

from __future__ import annotations

from functools import cache
from math import ceil
from typing import Protocol, TypeGuard

from foretrain.jobs.active import Active
from foretrain.jobs.shared import State
from foretrain.throughput import Curve


class Timed(Curve, Protocol):
    """A curve that knows how long work takes although its rate will change."""

    def seconds(self, devices: float, *, nodes: int, kind: str, done: float, until: float) -> float:
        """From some work done to more, on devices held all the time."""
        ...


def left_on(active: Active, devices: float, state: State) -> float:
    """Seconds that a job would still take on some devices, packed on as few nodes as can be.

    Args:
        active: the job.
        devices: one of its curve's counts.
        state: when, and where it runs.
    """
    job, done = active.job, active.done_at(state.now)
    home = next(each for each in state.fleet.nodes if not job.kinds or each.kind in job.kinds)
    nodes = ceil(devices / home.devices)
    if _is_timed(job.curve):
        return job.curve.seconds(devices, nodes=nodes, kind=home.kind, done=done, until=job.work)
    return (job.work - done) / job.curve.rate(devices, nodes=nodes, kind=home.kind, done=done)


def _is_timed(curve: Curve) -> TypeGuard[Timed]:
    return _has_seconds(type(curve))


@cache
def _has_seconds(kind: type[Curve]) -> bool:
    """Whether a kind of curve is timed; asked once, as asking a protocol is slow."""
    return hasattr(kind, "seconds")
