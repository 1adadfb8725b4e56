"""Habits of the simulator of Pollux' authors that are no part of a policy (from memory)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

from foretrain.cluster.fleet import Fleet
from foretrain.jobs.active import Active, Held
from foretrain.jobs.goodput import Goodput, packed
from foretrain.jobs.progress import Stretch
from foretrain.jobs.steps import MeasuredSteps
from foretrain.measured.profile import Placement
from foretrain.throughput import Curve


class MostFree:
    """Equal nodes; a job fills the one with most free devices, then the next such one."""

    def __init__(self, fleet: Fleet) -> None:
        (nodes,) = fleet.nodes
        self._kind = nodes.kind
        self._free = [nodes.devices] * nodes.count

    def free(self, kinds: tuple[str, ...]) -> float:
        """Free devices."""
        return sum(self._free)

    def fits(self, devices: float, kinds: tuple[str, ...], freed: Sequence[Held]) -> bool:
        """Whether there would be enough if some jobs gave theirs back."""
        return sum(self._free) + sum(held.devices for held in freed) >= devices

    def take(self, devices: float, kinds: tuple[str, ...]) -> Held | None:
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
        return Held(self._kind, devices, len(places), tuple(places))

    def give(self, held: Held) -> None:
        """Devices back."""
        for node, devices in held.places:
            self._free[node] += devices


@dataclass(frozen=True)
class Believed:
    """A job as Optimus is told of it: steps from this epoch's beginning to that of the last one.

    Attributes:
        true: the job.
    """

    true: Goodput

    @property
    def counts(self) -> tuple[int, ...]:
        """Numbers of devices on which it can run."""
        return self.true.counts

    def rate(self, devices: float, *, nodes: int, kind: str, done: float) -> float:
        """Units of work per second."""
        return self.true.rate(devices, nodes=nodes, kind=kind, done=done)

    def seconds(self, devices: float, *, nodes: int, kind: str, done: float, until: float) -> float:
        """To the last epoch; a step in it."""
        learning, batch = self.true.learning, self.true.batch
        placement = packed(int(devices), nodes, self.true.per_node)
        last = learning.begin(learning.epoch(learning.work))
        here = learning.begin(learning.epoch(done))
        left = learning.steps(batch, last) - learning.steps(batch, here)
        return max(left, 1.0) * self.true.step(placement, self.true.split(placement, 0))


@dataclass(frozen=True)
class WholeSeconds:
    """What is left of an epoch takes whole seconds, and steps take as long as they were measured.

    Attributes:
        measured: steps of an application, the group of a job.
    """

    measured: Callable[[str], MeasuredSteps]

    def __call__(self, active: Active, held: Held) -> Stretch:
        """The rate to the end of an epoch; those that round to no time are taken together."""
        curve, work = _true(active.job.curve), active.job.work
        steps = self.measured(active.job.group)
        placement = tuple(devices for _, devices in held.places)
        end, seconds = active.done, 0
        while not seconds and end < work:
            begin, end = end, min(curve.until(end), work)
            seconds = round((end - begin) / _rate(curve, steps, placement=placement, done=begin))
        return Stretch((end - active.done) / max(seconds, 1), end if end < work else inf)


def _rate(curve: Goodput, steps: MeasuredSteps, *, placement: Placement, done: float) -> float:
    """Work per second: the batch as the job chooses it, its steps as they were measured."""
    epoch = curve.learning.epoch(done)
    chosen = curve.split(placement, epoch)
    step, sync = steps.times(placement, chosen.batch)
    worth = curve.learning.gain(chosen.total(sum(placement)), epoch)
    return worth / (step + (chosen.passes - 1) * (step - sync))


def _true(curve: Curve) -> Goodput:
    """The job behind what is believed of it."""
    found = curve.true if isinstance(curve, Believed) else curve
    assert isinstance(found, Goodput), curve
    return found
