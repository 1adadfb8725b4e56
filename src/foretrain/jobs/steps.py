"""Steps: how long one takes on a placement, read off measurements or from a model of seven numbers.

The model takes no account of what the devices are. It is what a scheduler can learn of a job that
it has seen on a few placements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from foretrain.errors import InputError
from foretrain.measured.profile import Placement, Profile, TimedStep

Times = tuple[float, float]
"""Seconds of a step, and those of it in which gradients are exchanged and nothing is computed."""


class Steps(Protocol):
    """Who knows how long a step takes."""

    def times(self, placement: Placement, batch: int) -> Times:
        """Of one pass over a batch per device, on so many devices of each node."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StepModel:
    """A step in seven numbers: computing and exchanging, which overlap in part.

    Attributes:
        compute: seconds of a pass, whatever its batch.
        sample: seconds for each sample.
        near: seconds of an exchange between devices of one node.
        near_more: seconds for each device there beyond two.
        far: seconds of an exchange between nodes.
        far_more: seconds for each device beyond two.
        overlap: 1 if computing and exchanging wait for each other; the larger, the more they hide
            one another.

    Source: qiao2021, section 3.2 (from memory).
    """

    compute: float
    sample: float
    near: float
    near_more: float
    far: float
    far_more: float
    overlap: float

    def __post_init__(self) -> None:
        seconds = (
            self.compute, self.sample, self.near, self.near_more, self.far, self.far_more,
        )  # fmt: skip
        if not (all(each >= 0 for each in seconds) and self.compute + self.sample > 0):
            raise InputError(f"the times of a StepModel must be at least 0 s, got {self}.")
        if not self.overlap >= 1:
            raise InputError(f"StepModel.overlap must be at least 1, got {self.overlap}.")

    def times(self, placement: Placement, batch: int) -> Times:
        """Of one pass over a batch per device, on so many devices of each node."""
        computing = self.compute + self.sample * batch
        exchange = self._exchange(len(placement), sum(placement))
        step = (computing**self.overlap + exchange**self.overlap) ** (1.0 / self.overlap)
        return step, step - computing

    def _exchange(self, nodes: int, devices: int) -> float:
        if devices == 1:
            return 0.0
        first, more = (self.far, self.far_more) if nodes > 1 else (self.near, self.near_more)
        return first + more * (devices - 2)


@dataclass(frozen=True, slots=True)
class MeasuredSteps:
    """Steps as they were measured, on the straight line between measurements.

    A placement that was measured is read off its own rows. Any other one lies among all numbers of
    nodes, devices and samples, placements of equal numbers taken together.

    Attributes:
        profile: the measurements.
    """

    profile: Profile
    _known: dict[tuple[Placement, int], Times] = field(default_factory=dict, init=False, repr=False)
    _lines: dict[Placement, tuple[TimedStep, ...]] = field(init=False, repr=False)
    _space: list[Callable[[Sequence[Sequence[float]]], Sequence[Sequence[float]]]] = field(
        default_factory=list, init=False, repr=False
    )

    def __post_init__(self) -> None:
        lines: dict[Placement, list[TimedStep]] = {}
        for timed in sorted(self.profile.steps, key=lambda timed: timed.batch):
            lines.setdefault(turned(timed.placement), []).append(timed)
        lines.pop((), None)
        object.__setattr__(self, "_lines", {key: tuple(rows) for key, rows in lines.items()})

    def times(self, placement: Placement, batch: int) -> Times:
        """Of one pass over a batch per device, on so many devices of each node.

        Raises:
            InputError: outside of what was measured.
        """
        key = (turned(placement), batch)
        found = self._known.get(key)
        if found is None:
            rows = self._lines.get(key[0])
            found = _between(rows, batch) if rows else self._among(placement, batch)
            if not found[0] > 0:
                raise InputError(
                    f"{self.profile.name} was not measured around {batch} samples for each of"
                    f" {sum(placement)} devices on {len(placement)} nodes."
                )
            self._known[key] = found
        return found

    def _among(self, placement: Placement, batch: int) -> Times:
        if not self._space:
            self._space.append(_space(self.profile.steps))
        ((step, sync),) = self._space[0]([[len(placement), sum(placement), batch]])
        return float(step), float(sync)


def turned(placement: Placement) -> Placement:
    """The same ring of nodes, begun where it reads least."""
    return min((placement[at:] + placement[:at] for at in range(len(placement))), default=())


def _between(rows: tuple[TimedStep, ...], batch: int) -> Times:
    """On the line between the rows of one placement; not a number outside of them."""
    from numpy import interp, nan

    batches = [timed.batch for timed in rows]
    step, sync = (
        float(interp(batch, batches, values, left=nan, right=nan))
        for values in ([timed.step for timed in rows], [timed.sync for timed in rows])
    )
    return step, sync


def _space(
    steps: Sequence[TimedStep],
) -> Callable[[Sequence[Sequence[float]]], Sequence[Sequence[float]]]:
    """Interpolation among nodes, devices and samples; not a number outside of them."""
    import numpy as np
    from scipy.interpolate import LinearNDInterpolator

    points: dict[tuple[int, int, int], list[Times]] = {}
    for timed in steps:
        place = (timed.nodes, timed.devices, timed.batch)
        points.setdefault(place, []).append((timed.step, timed.sync))
    places = sorted(points)
    values = [np.mean(points[place], axis=0) for place in places]
    among: Callable[[Sequence[Sequence[float]]], Sequence[Sequence[float]]] = LinearNDInterpolator(
        np.array(places, dtype=float), np.array(values)
    )
    return among
