"""What runs in the simulator of Pollux' authors: nodes, and steps as they measured them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from validation.scheduling.goodput import Goodput
from validation.scheduling.steps import MeasuredSteps

from foretrain.cluster.mixed import Fleet
from foretrain.jobs.active import Active, HeldDevices
from foretrain.jobs.progress import RateStretch


class MostFree:
    """Equal nodes; a job fills the one with most free devices, then the next such one."""

    def __init__(self, fleet: Fleet) -> None:
        (nodes,) = fleet.nodes
        self._kind = nodes.kind
        self._free = [nodes.devices] * nodes.count
        self.down: Mapping[str, int] = {}

    def free(self, kinds: tuple[str, ...]) -> float:
        """Free devices."""
        return sum(self._free)

    def fits(self, devices: float, kinds: tuple[str, ...], freed: Sequence[HeldDevices]) -> bool:
        """Whether there would be enough if some jobs gave theirs back."""
        return sum(self._free) + sum(held.devices for held in freed) >= devices

    def take(self, devices: float, kinds: tuple[str, ...]) -> HeldDevices | None:
        """Devices for a job, or None if there are too few."""
        left = int(devices)
        if sum(self._free) < left:
            return None
        places = []
        while left:
            node = max(range(len(self._free)), key=self._free.__getitem__)
            here = min(self._free[node], left)
            self._free[node] -= here
            left -= here
            places.append((node, here))
        return HeldDevices(self._kind, devices, len(places), tuple(places))

    def again(self, held: HeldDevices) -> bool:
        """The very devices that were given back, if all of them are free."""
        if any(self._free[node] < devices for node, devices in held.places):
            return False
        for node, devices in held.places:
            self._free[node] -= devices
        return True

    def give(self, held: HeldDevices) -> None:
        """Devices back."""
        for node, devices in held.places:
            self._free[node] += devices


@dataclass(frozen=True)
class Truth:
    """Jobs choose their batch by what they believe; their steps take as long as was measured.

    Attributes:
        measured: steps of an application, the group of a job.
    """

    measured: Callable[[str], MeasuredSteps]

    def __call__(self, active: Active, held: HeldDevices) -> RateStretch:
        """The rate to the end of the epoch."""
        curve, placement = active.job.curve, tuple(devices for _, devices in held.places)
        assert isinstance(curve, Goodput), curve
        epoch = curve.learning.epoch(active.done)
        chosen = curve.split(placement, epoch)
        step, sync = self.measured(active.job.group).times(placement, chosen.batch)
        worth = curve.learning.gain(chosen.total(sum(placement)), epoch)
        rate = worth / (step + (chosen.passes - 1) * (step - sync))
        return RateStretch(rate, curve.until(active.done))
