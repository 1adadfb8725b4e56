"""Steps: how long one takes on a placement, read off measurements or from a model of seven numbers.

The model takes no account of what the devices are. It is what a scheduler can learn of a job that
it has seen on a few placements.

Fits of the step model to the steps that a job has made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from validation.scheduling.profile import Placement, Profile, TimedStep

from foretrain.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]


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


LEAST = 1e-8
"""Seconds that stand for none: a fit takes logarithms and quotients."""

BEGIN = (1e-1, 1e-2, 1e-1, 1e-2, 1e-1, 1e-2, 1.0 + 1e-3)
"""Where a fit begins, in the order of StepModel. Source: adaptdl (from memory)."""

MOST_OVERLAP = 10.0
"""Beyond it computing and exchanging hide each other wholly. Source: adaptdl (from memory)."""

CALM_OVERLAP = 1e-3
"""Weight against large overlaps, which are hard to fit. Source: adaptdl (from memory)."""

HOPE = 1e-2
"""Weight against exchanges that grow with devices: unseen scales are thought well of. Source:
adaptdl (from memory)."""

FAR_AT_LEAST = 1.1
"""An exchange between nodes, never seen, in exchanges within one. Source: adaptdl (from memory)."""


def fitted(steps: Sequence[TimedStep]) -> StepModel:
    """The model whose logarithms lie closest to measured ones.

    What was never seen is thought well of: without two nodes, or two devices, or three, or two
    batches, the numbers that only they could show stay at their least. So a job tries more.

    Args:
        steps: at least one.

    Source: qiao2021, section 4.1 ("prior-driven exploration"), weights from adaptdl's fit.
    """
    import numpy as np
    from scipy.optimize import Bounds, minimize

    if not steps:
        raise InputError("a step model cannot be fitted to no step. Give at least one.")
    rows = np.array(
        [(each.nodes, each.devices, each.batch, each.step - each.sync, each.step) for each in steps]
    ).T
    low, high = map(np.log, _bounds(rows))
    found = minimize(
        _loss,
        np.clip(np.log(BEGIN), low, high),
        args=(rows,),
        jac="3-point",
        bounds=Bounds(low, high),
        method="L-BFGS-B",
    )
    compute, sample, near, near_more, far, far_more, overlap = map(float, np.exp(found.x))
    if not np.any(rows[0] > 1):
        far, far_more = max(far, near * FAR_AT_LEAST), max(far_more, near_more * FAR_AT_LEAST)
    return StepModel(
        compute=compute, sample=sample, near=near, near_more=near_more, far=far, far_more=far_more,
        overlap=overlap,
    )  # fmt: skip


def _bounds(rows: Column) -> tuple[Column, Column]:
    """Least and most of each number; equal where nothing seen could show it."""
    import numpy as np

    nodes, devices, batch, computing, _ = rows
    low = np.array([LEAST] * 6 + [1.0])
    high = np.array([np.inf] * 6 + [MOST_OVERLAP])
    if len(np.unique(batch)) == 1:
        low[0] = high[0] = np.mean(computing) / 2
    seen_near = np.any((nodes == 1) & (devices > 1))
    for place, seen in (
        (2, seen_near), (3, seen_near and np.any(devices > 2)),
        (4, np.any(nodes > 1)), (5, np.any(nodes > 1) and np.any(devices > 2)),
    ):  # fmt: skip
        if not seen:
            high[place] = low[place]
    return low, high


def _loss(logarithms: Column, rows: Column) -> float:
    """Root mean square errors of the logarithms, of computing and of steps, and priors."""
    import numpy as np

    compute, sample, near, near_more, far, far_more, overlap = np.exp(logarithms)
    nodes, devices, batch, computing, step = rows
    said = compute + sample * batch
    first = np.where(nodes > 1, far, near)
    more = np.where(nodes > 1, far_more, near_more)
    exchange = np.where(devices > 1, first + more * np.maximum(devices - 2, 0), LEAST)
    whole = np.log(said**overlap + exchange**overlap) / overlap
    errors = _root(np.log(said) - np.log(computing)) + _root(whole - np.log(step))
    growth = (near_more / near) ** 2 + (far_more / far) ** 2
    return float(errors + CALM_OVERLAP * (overlap - 1.0) ** 2 + HOPE * growth)


def _root(errors: Column) -> float:
    import numpy as np

    return float(np.sqrt(np.mean(errors**2)))
