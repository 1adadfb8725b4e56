"""Batches: how a total batch is split over devices and passes, within what a model allows."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

from foretrain.errors import InputError

CANDIDATES = 50
"""Total batches that are tried, in geometric steps. Source: adaptdl, its goodput (from memory)."""

ROUNDING = 1e-8
"""Samples by which a quotient may exceed a whole number and still count as it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Batches that a model can be trained with.

    Attributes:
        smallest: total batch that training begins with.
        largest: total batch that still learns.
        least: batch of a device below which nothing was measured.
        most: batch of a device that its memory holds.
    """

    smallest: int
    largest: int
    least: int
    most: int

    def __post_init__(self) -> None:
        if not 1 <= self.smallest <= self.largest:
            raise InputError(
                f"Limits.smallest must lie from 1 to {self.largest}, got {self.smallest}."
            )
        if not 1 <= self.least <= self.most:
            raise InputError(f"Limits.least must lie from 1 to {self.most}, got {self.least}.")


class Split(NamedTuple):
    """How a step is made.

    Attributes:
        batch: samples of a device and pass.
        passes: over a batch before gradients are exchanged.
    """

    batch: int
    passes: int

    def total(self, devices: int) -> int:
        """Samples of all devices in a step."""
        return self.batch * self.passes * devices


def split(batch: float, devices: int, limits: Limits) -> Split:
    """How devices make a total batch: in as few passes as their memory allows.

    A single device makes at least two passes once the batch exceeds the smallest: the noise of
    gradients is seen by comparing them.

    Source: qiao2021, section 4.1.
    """
    share = batch / devices
    passes = ceil(share / limits.most - ROUNDING)
    if devices == 1 and batch > limits.smallest + ROUNDING:
        passes = max(2, passes)
    each = ceil(share / passes - ROUNDING)
    return Split(min(each, limits.largest // (devices * passes)), passes)


def candidates(devices: int, limits: Limits) -> tuple[Split, ...]:
    """Splits worth trying on some devices, from the smallest total batch to the largest.

    Source: qiao2021, section 4.1.
    """
    first = max(limits.smallest, limits.least * devices)
    if first > limits.largest:
        return ()
    ratio = limits.largest / first
    tried = (
        split(first * ratio ** (place / (CANDIDATES - 1)), devices, limits)
        for place in range(CANDIDATES)
    )
    fitting = (each for each in tried if limits.least <= each.batch <= limits.most)
    return tuple(dict.fromkeys(fitting))
