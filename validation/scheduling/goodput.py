"""Batches: how a total batch is split over devices and passes, within what a model allows.

Goodput: how quickly a job learns on some devices, its batch as its user wants or as is best.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil
from typing import NamedTuple

from validation.scheduling.learning import Learning
from validation.scheduling.profile import Profile
from validation.scheduling.steps import Steps

from foretrain.errors import InputError
from foretrain.queueing.step_fit import Placement

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Goodput:
    """A curve in steps of the smallest batch: throughput times what a larger batch is worth.

    It changes from epoch to epoch. Jobs that train the same model may share a curve.

    Attributes:
        steps: how long a step takes.
        learning: what a step is worth.
        limits: of the batch.
        batch: total batch that the user asks for; 0 to take the best at every epoch.
        per_node: devices of a node that jobs fill before they use the next.
        most: the largest number of devices.

    Source: qiao2021, section 3: goodput is throughput times efficiency.
    """

    steps: Steps
    learning: Learning
    limits: Limits
    batch: int = 0
    per_node: int
    most: int
    _rates: dict[tuple[float, int, int], float] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _splits: dict[tuple[Placement, int], Split] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if self.batch and not self.limits.smallest <= self.batch <= self.limits.largest:
            raise InputError(
                f"Goodput.batch must lie from {self.limits.smallest} to {self.limits.largest},"
                f" or be 0 to take the best, got {self.batch}."
            )
        if not (self.per_node >= 1 and self.most >= 1):
            raise InputError(f"Goodput.per_node and most must be at least 1, got {self.per_node}.")

    @property
    def counts(self) -> tuple[int, ...]:
        """As many devices as get a batch that was measured."""
        largest = (self.batch or self.limits.largest) // self.limits.least
        return tuple(range(1, min(self.most, largest) + 1))

    def rate(self, devices: float, *, nodes: int, kind: str, done: float) -> float:
        """Steps of the smallest batch per second, which a step of another one is worth."""
        nodes = nodes or ceil(devices / self.per_node)
        place = (devices, nodes, self.learning.epoch(done))
        found = self._rates.get(place)
        if found is None:
            placement = packed(int(devices), nodes, self.per_node)
            chosen = self.split(placement, place[2])
            found = self._rates[place] = self._goodput(placement, place[2], chosen)
        return found

    def until(self, done: float) -> float:
        """Work at which the rate changes next."""
        return self.learning.until(done)

    def seconds(self, devices: float, *, nodes: int, kind: str, done: float, until: float) -> float:
        """From some work done to more, on devices held all the time."""
        if self.batch:
            placement = packed(int(devices), nodes, self.per_node)
            left = self.learning.steps(self.batch, until) - self.learning.steps(self.batch, done)
            return left * self.step(placement, self.split(placement, 0))
        total = 0.0
        while done < until:
            end = min(self.until(done), until)
            total += (end - done) / self.rate(devices, nodes=nodes, kind=kind, done=done)
            done = end
        return total

    def split(self, placement: Placement, epoch: int) -> Split:
        """How the batch is split on a placement in an epoch."""
        key = (placement, epoch if not self.batch else 0)
        found = self._splits.get(key)
        if found is None:
            found = self._splits[key] = self._chosen(placement, epoch)
        return found

    def step(self, placement: Placement, chosen: Split) -> float:
        """Seconds of a step in some passes; gradients are exchanged in the last one."""
        step, sync = self.steps.times(placement, chosen.batch)
        return step + (chosen.passes - 1) * (step - sync)

    def _chosen(self, placement: Placement, epoch: int) -> Split:
        devices = sum(placement)
        if self.batch:
            return split(self.batch, devices, self.limits)
        tried = candidates(devices, self.limits)
        if not tried:
            raise InputError(f"no batch from {self.limits} can be split over {devices} devices.")
        return max(tried, key=lambda each: self._goodput(placement, epoch, each))

    def _goodput(self, placement: Placement, epoch: int, chosen: Split) -> float:
        worth = self.learning.gain(chosen.total(sum(placement)), epoch)
        return worth / self.step(placement, chosen)


def limits(profile: Profile) -> Limits:
    """Batches that were measured."""
    return Limits(
        smallest=profile.smallest,
        largest=profile.largest,
        least=profile.least,
        most=profile.most,
    )


def packed(devices: int, nodes: int, per_node: int) -> Placement:
    """Devices on some nodes, each filled before the next is."""
    if not nodes <= devices <= nodes * per_node:
        raise InputError(f"{devices} devices do not lie on {nodes} nodes of {per_node}.")
    placement = []
    for after in reversed(range(nodes)):
        here = min(per_node, devices - after)
        placement.append(here)
        devices -= here
    return tuple(placement)
