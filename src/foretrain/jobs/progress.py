"""Progress: how quickly a job goes on the devices that it holds, and how long it stays so."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import NamedTuple

from foretrain.jobs.active import Active, Held


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


def steady(active: Active, held: Held) -> Stretch:
    """As the job's curve says, to its end."""
    rate = active.job.curve.rate(held.devices, nodes=held.nodes, kind=held.kind, done=active.done)
    return Stretch(rate, inf)
