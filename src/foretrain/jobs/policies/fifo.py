"""FIFO: who came first runs first, and nobody passes."""

from __future__ import annotations

from foretrain.jobs.active import Active
from foretrain.jobs.ordered import Order


def fifo() -> Order:
    """First in, first out: a job that does not fit holds up all after it."""
    return Order(key=_arrival)


def _arrival(active: Active, now: float) -> float:
    return active.job.arrival
