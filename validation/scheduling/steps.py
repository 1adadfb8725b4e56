"""Steps: how long one takes on a placement, read off measurements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from validation.scheduling.profile import Profile

from foretrain.errors import InputError
from foretrain.queueing.step_fit import Placement, TimedStep, Times


class Steps(Protocol):
    """Who knows how long a step takes."""

    def times(self, placement: Placement, batch: int) -> Times:
        """Of one pass over a batch per device, on so many devices of each node."""
        ...


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
