"""From few steps: the step model that a job's measurements point to, and how far it can be trusted.

What a few measurements cannot show is believed as before: wide beliefs, the same for every job.

Steps of synchronous training: how long one takes on some devices of some nodes.

A step computes and exchanges gradients, which hide one another in part. What is measured of it is
a `TimedStep`; what is said of one that was not measured comes from a `StepModel`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import exp, inf, log, log2
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foretrain.errors import InputError
from foretrain.statistics import harmonic
from foretrain.throughput import Point, ThroughputCurve

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


Floats = NDArray[np.float64]

TYPICAL = 0.05
"""Share by which a measured step usually differs from its model; errors far beyond it count less
than their square, so that a step beside a busy neighbour does not decide. Assumed."""

COMPUTING = 0.3
"""Weight of an error in computing against one in the whole step, which is what is asked for:
assumed."""

DRIFT = 0.05
"""Standard deviation of the logarithm of a step that every doubling of devices adds beyond the
largest number measured: congestion and much else is not in the model. Assumed."""

BEFORE = 10
"""Steps as whose evidence it counts that errors are usually as large as `TYPICAL`: assumed."""

HALF_WITHIN = 0.6745
"""Standard deviations within which half of all values lie, of a normal distribution."""

ONE_IN_TEN = 1.2816
"""Standard deviations above which a value of ten lies, of a normal distribution."""


class PriorBelief(NamedTuple):
    """What is thought of a number's logarithm before anything is measured."""

    mean: float
    deviation: float


BELIEFS = (
    PriorBelief(log(0.05), 1.0),  # crowding
    PriorBelief(0.0, 3.0),  # near, against a tenth of what is computed: hardly known
    PriorBelief(0.0, 3.0),  # far, against all of it: hardly known
    PriorBelief(0.0, 1.0),  # pair: two nodes are like more
    PriorBelief(log(0.2), 1.0),  # jitter
    PriorBelief(0.0, 1.0),  # overlap beyond 1
)
"""Of the six numbers of a StepModel, within a factor of e or, of the links, e^3. Assumed."""


class _Columns(NamedTuple):
    """Timed steps as columns; `place` is where a step's batch stands among all batches."""

    nodes: Floats
    devices: Floats
    busiest: Floats
    place: NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedSteps:
    """A step model as a job's measurements give it.

    Attributes:
        model: the likeliest one.
        scatter: standard deviation of the logarithm of a step about the model.
        seen: the largest number of devices that was measured.
    """

    model: StepModel
    scatter: float
    seen: int
    _numbers: Floats = field(repr=False, compare=False)
    _covariance: Floats = field(repr=False, compare=False)

    def deviation(self, placement: Placement, batch: int) -> float:
        """Standard deviation of the logarithm of a step: of itself, of the model, and with size."""

        def said(numbers: Floats) -> float:
            model = _model(numbers, self.model.batches)
            return log(model.times(placement, batch)[0])

        slope = _slope(said, self._numbers)
        doublings = max(0.0, log2(sum(placement) / self.seen))
        fitted = slope @ self._covariance @ slope
        return float(np.sqrt(self.scatter**2 + fitted + doublings * DRIFT**2))

    def curve(self, name: str, placements: Iterable[Placement], *, batch: int) -> ThroughputCurve:
        """Samples per second on some placements, with bounds that hold in four cases of five.

        Args:
            name: of the job, for messages.
            placements: one for every pair of devices and nodes.
            batch: samples of each device.
        """
        return ThroughputCurve(
            name=name, points=tuple(self._point(each, batch) for each in placements)
        )

    def _point(self, placement: Placement, batch: int) -> Point:
        devices = sum(placement)
        rate = devices * batch / self.model.times(placement, batch)[0]
        beyond = exp(ONE_IN_TEN * self.deviation(placement, batch))
        return Point(
            devices=devices,
            nodes=len(placement),
            rate=rate,
            low=rate / beyond,
            high=rate * beyond,
        )


def fit_steps(steps: Sequence[TimedStep]) -> FittedSteps:
    """The step model whose logarithms lie closest to measured ones, given what is believed.

    Args:
        steps: at least one, on any placements and with any batches.

    Sources: huber1964 (errors that count less than their square); mackay1992 (the spread of what
    is fitted).
    """
    from scipy.optimize import least_squares

    if not steps:
        raise InputError("a step model cannot be fitted to no step. Give at least one.")
    batches = tuple(sorted({each.batch for each in steps}))
    columns = _Columns(
        nodes=np.array([each.nodes for each in steps], float),
        devices=np.array([each.devices for each in steps], float),
        busiest=np.array([each.busiest for each in steps], float),
        place=np.searchsorted(batches, [each.batch for each in steps]),
    )
    step = np.array([each.step for each in steps])
    computing = step - np.array([each.sync for each in steps])
    begin = _begin(columns, computing)
    residuals = partial(
        _residuals, columns=columns, measured=(np.log(computing), np.log(step)), begin=begin
    )
    found = least_squares(residuals, begin, loss="soft_l1")
    errors = residuals(found.x)[len(steps) : 2 * len(steps)] * TYPICAL
    return FittedSteps(
        model=_model(found.x, batches),
        scatter=_scatter(errors, numbers=len(begin)),
        seen=max(each.devices for each in steps),
        _numbers=found.x,
        _covariance=np.linalg.inv(found.jac.T @ found.jac),
    )


def _begin(columns: _Columns, computing: Floats) -> Floats:
    """Logarithms from which a fit sets out: what was measured of computing, and the beliefs."""
    seconds = [
        np.median(computing[columns.place == place]) for place in range(columns.place.max() + 1)
    ]
    usual = log(float(np.median(computing)))
    numbers = np.array([belief.mean for belief in BELIEFS])
    numbers[1:3] += (usual + log(0.1), usual)
    return np.concatenate([np.log(seconds), numbers])


def _residuals(
    numbers: Floats, *, columns: _Columns, measured: tuple[Floats, Floats], begin: Floats
) -> Floats:
    """Errors of computing, of steps, and distances from what is believed, each in its deviation."""
    crowding, near, far, pair, jitter, overlap = np.exp(numbers[-len(BELIEFS) :])
    computing = crowded(np.exp(numbers)[columns.place], crowding, columns.busiest)
    exchanging = exchange(ExchangeLinks(near, far, pair, jitter), columns.nodes, columns.devices)
    step = hidden(computing, exchanging, 1.0 + overlap)
    deviations = np.array([belief.deviation for belief in BELIEFS])
    return np.concatenate(
        [
            COMPUTING * (np.log(computing) - measured[0]) / TYPICAL,
            (np.log(step) - measured[1]) / TYPICAL,
            (numbers - begin)[-len(BELIEFS) :] / deviations,
        ]
    )


def _model(numbers: Floats, batches: tuple[int, ...]) -> StepModel:
    """The step model of fitted logarithms."""
    *seconds, crowding, near, far, pair, jitter, overlap = map(float, np.exp(numbers))
    return StepModel(
        batches=batches, seconds=tuple(seconds), crowding=crowding, near=near, far=far, pair=pair,
        jitter=jitter, overlap=1.0 + overlap,
    )  # fmt: skip


def _scatter(errors: Floats, *, numbers: int) -> float:
    """Standard deviation of errors, from their median distance: the farthest do not decide.

    As many of them as there are fitted numbers say nothing, and a few that happen to agree do not
    show that all will: see `BEFORE`.
    """
    own = float(np.median(np.abs(errors))) / HALF_WITHIN
    free = max(len(errors) - numbers, 0)
    return float(np.sqrt((len(errors) * own**2 + BEFORE * TYPICAL**2) / (free + BEFORE)))


def _slope(of: Callable[[Floats], float], at: Floats) -> Floats:
    """How a value changes with each number."""
    small = 1e-5
    steps = small * np.eye(len(at))
    return np.array([(of(at + each) - of(at - each)) / (2.0 * small) for each in steps])
