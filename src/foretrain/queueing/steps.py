"""Steps of synchronous training: how long one takes on some devices of some nodes.

A step computes and exchanges gradients, which hide one another in part. What is measured of it is
a `TimedStep`; what is said of one that was not measured comes from a `StepModel`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from foretrain.errors import InputError
from foretrain.statistics import harmonic

Number = float | NDArray[np.float64]

Placement = tuple[int, ...]
"""Devices on each node that a job uses."""

Times = tuple[float, float]
"""Seconds of a step, and those of it in which gradients are exchanged and nothing is computed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedStep:
    """One measured step, of one pass over a batch.

    Attributes:
        nodes: how many take part.
        devices: of all nodes.
        batch: samples of each device.
        step: seconds of the whole step.
        sync: seconds of it in which gradients are exchanged and nothing is computed.
        placement: devices on each node; empty where the source does not tell.
    """

    nodes: int
    devices: int
    batch: int
    step: float
    sync: float
    placement: Placement = ()

    def __post_init__(self) -> None:
        if not 1 <= self.nodes <= self.devices:
            raise InputError(
                f"TimedStep.nodes must lie from 1 to {self.devices}, got {self.nodes}."
            )
        if not self.batch >= 1:
            raise InputError(f"TimedStep.batch must be at least 1, got {self.batch}.")
        if not 0 <= self.sync < self.step < inf:
            raise InputError(f"TimedStep.sync must lie from 0 to {self.step}, got {self.sync}.")
        if self.placement and (len(self.placement), sum(self.placement)) != (
            self.nodes,
            self.devices,
        ):
            raise InputError(
                f"TimedStep.placement must be {self.devices} devices on {self.nodes} nodes, got"
                f" {self.placement}."
            )

    @property
    def busiest(self) -> int:
        """Devices on the node that has most of them; as even as can be where nothing is told."""
        return max(self.placement, default=-(-self.devices // self.nodes))


@dataclass(frozen=True, slots=True, kw_only=True)
class StepModel:
    """Steps of one job, from the batches that it was seen with and six numbers.

    Attributes:
        batches: samples of a device for which `seconds` says how long they compute, ascending.
        seconds: of each, alone on a node.
        crowding: share of computing that every further device on the node adds: they share what
            feeds them.
        near: seconds in which a ring within a node passes on all gradients once.
        far: the same where a ring crosses nodes.
        pair: factor of `far` with two nodes; they have a single connection between them.
        jitter: share of an exchange that differs from device to device, exponentially; all wait for
            the slowest.
        overlap: 1 if computing and exchanging wait for each other; the larger, the more they hide
            one another.

    Sources: patarasuk2009 (the ring); qiao2021, section 3.2 (overlap as a power).
    """

    batches: tuple[int, ...]
    seconds: tuple[float, ...]
    crowding: float
    near: float
    far: float
    pair: float
    jitter: float
    overlap: float

    def __post_init__(self) -> None:
        if not self.batches or list(self.batches) != sorted(set(self.batches)):
            raise InputError(f"StepModel.batches must ascend, at least one, got {self.batches}.")
        if len(self.seconds) != len(self.batches) or not all(each > 0 for each in self.seconds):
            raise InputError(
                f"StepModel.seconds must be above 0 s for each of {len(self.batches)} batches, got"
                f" {self.seconds}."
            )
        for name in ("crowding", "near", "far", "jitter"):
            if not 0 <= getattr(self, name) < inf:
                raise InputError(f"StepModel.{name} must be at least 0, got {getattr(self, name)}.")
        if not 0 < self.pair < inf:
            raise InputError(f"StepModel.pair must be above 0, got {self.pair}.")
        if not 1 <= self.overlap < inf:
            raise InputError(f"StepModel.overlap must be at least 1, got {self.overlap}.")

    def times(self, placement: Placement, batch: int) -> Times:
        """Of one pass over a batch per device, on so many devices of each node."""
        computing = float(crowded(self._alone(batch), self.crowding, max(placement)))
        links = ExchangeLinks(self.near, self.far, self.pair, self.jitter)
        exchanging = exchange(links, len(placement), sum(placement))
        step = float(hidden(computing, exchanging, self.overlap))
        return step, step - computing

    def _alone(self, batch: int) -> float:
        """Seconds of computing a batch, on the line through the nearest two that are known.

        Of a single batch, half is taken to be fixed. Nowhere does a smaller batch make a sample
        cheaper than the smallest that is known.
        """
        if len(self.batches) == 1:
            return self.seconds[0] * (1.0 + batch / self.batches[0]) / 2.0
        right = min(max(int(np.searchsorted(self.batches, batch)), 1), len(self.batches) - 1)
        (low, high), (first, last) = (
            each[right - 1 : right + 1] for each in (self.batches, self.seconds)
        )
        line = first + (last - first) * (batch - low) / (high - low)
        return max(line, self.seconds[0] * min(batch / self.batches[0], 1.0))


@dataclass(frozen=True, slots=True)
class ExchangeLinks:
    """What an exchange depends on but its place, as `StepModel` says."""

    near: float
    far: float
    pair: float
    jitter: float


def crowded(computing: Number, crowding: float, busiest: Number) -> Number:
    """Seconds of computing where devices share the node that feeds them. [step]"""
    return computing * (1.0 + crowding * (busiest - 1.0))


def exchange(links: ExchangeLinks, nodes: Number, devices: Number) -> Number:
    """Seconds of exchanging gradients in a ring; 0 for a single device. [step]

    Of n devices each passes on 2 (n - 1) / n of all gradients. An exponential share of that is as
    long as the longest of n: its harmonic number times as long.

    Sources: patarasuk2009; david2003 (the largest of exponential values).
    """
    far = np.where(nodes == 2, links.far * links.pair, links.far)
    once: Number = np.where(nodes > 1, far, links.near)
    slowest = 1.0 + links.jitter * (harmonic(devices) - 1.0)
    return once * (2.0 * (devices - 1.0) / devices) * slowest


def hidden(computing: Number, exchanging: Number, overlap: float) -> Number:
    """Seconds of both where they hide one another in part: the norm of that power. [step]

    Source: qiao2021, section 3.2.
    """
    longer: Number = np.maximum(computing, exchanging)
    shorter: Number = np.minimum(computing, exchanging)
    return longer * (1.0 + (shorter / longer) ** overlap) ** (1.0 / overlap)
