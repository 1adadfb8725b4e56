"""Progress: how quickly a job goes on the devices that it holds, and how long it stays so."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import inf
from typing import NamedTuple, Protocol, TypeGuard

from foretrain.jobs.active import Active, Held
from foretrain.throughput import Curve


class Stretch(NamedTuple):
    """Work at one rate.

    Attributes:
        rate: units of work per second, above 0.
        until: units of work done at which the rate changes; infinity if it never does.
    """

    rate: float
    until: float


Progress = Callable[[Active, Held], Stretch]
"""What becomes of a job on devices. It may differ from the job's curve: a curve is what a scheduler
believes, progress is what happens."""


class Staged(Curve, Protocol):
    """A curve whose rate changes with what is done."""

    def until(self, done: float) -> float:
        """Units of work at which the rate changes next; infinity if it never does again."""
        ...


def believed(active: Active, held: Held) -> Stretch:
    """As the job's curve says."""
    curve, done = active.job.curve, active.done
    rate = curve.rate(held.devices, nodes=held.nodes, kind=held.kind, done=done)
    return Stretch(rate, curve.until(done) if _is_staged(curve) else inf)


def _is_staged(curve: Curve) -> TypeGuard[Staged]:
    return _changes(type(curve))


@cache
def _changes(kind: type[Curve]) -> bool:
    """Whether rates of a kind of curve change; asked once, as asking a protocol is slow."""
    return hasattr(kind, "until")
