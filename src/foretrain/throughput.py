"""Throughput: how quickly a job goes on a number of devices.

A curve is what the scheduling of a cluster needs to know of a training job. It comes from a search
at every device count, from a measured table or from a formula; whoever simulates a cluster never
sees a plan.

Phases: jobs whose speed changes on the way, with another batch or another length of sequence.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import inf
from typing import Protocol

from foretrain.errors import InputError
from foretrain.units import MOST

ANY = ""
"""The kind of device of a curve that does not tell kinds apart."""


class Curve(Protocol):
    """How quickly a job goes. Units of work are the curve's own: samples, or seconds if rigid."""

    @property
    def counts(self) -> tuple[int, ...]:
        """Numbers of devices on which the job can run, ascending."""
        ...

    def rate(self, devices: float, *, nodes: int, kind: str, done: float) -> float:
        """Units of work per second.

        Args:
            devices: one of `counts`; some formulas take fractions, for devices shared as a fluid.
            nodes: how many nodes they lie on; 0 for as few as can be.
            kind: of the devices.
            done: units of work that the job has done so far.
        """
        ...


@dataclass(frozen=True, slots=True)
class Rigid:
    """A job that runs on one number of devices, wherever they are; its work is seconds there.

    Attributes:
        devices: the number, at least 1.
    """

    devices: int

    def __post_init__(self) -> None:
        if not self.devices >= 1:
            raise InputError(f"Rigid.devices must be at least 1, got {self.devices}.")

    @property
    def counts(self) -> tuple[int, ...]:
        """The one number."""
        return (self.devices,)

    def rate(self, devices: float, *, nodes: int, kind: str, done: float) -> float:
        """A second of work per second; with a share of its devices, as if it took turns, less."""
        return 1.0 if devices >= self.devices else devices / self.devices


@cache
def rigid(devices: int) -> Rigid:
    """The rigid curve of a number of devices; jobs of a trace share it."""
    return Rigid(devices)


@dataclass(frozen=True, slots=True, kw_only=True)
class Amdahl:
    """A job of which a share does not get quicker; its work is seconds on `base` devices.

    Attributes:
        serial: share of the time on one device that more devices do not shorten, from 0 to 1.
        most: the largest number of devices, at least 1.
        base: devices on which a unit of work takes a second.

    Source: amdahl1967.
    """

    serial: float
    most: int
    base: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.serial <= 1:
            raise InputError(f"Amdahl.serial must lie from 0 to 1, got {self.serial}.")
        if not 1 <= self.base <= self.most:
            raise InputError(f"Amdahl.base must lie from 1 to {self.most}, got {self.base}.")

    @property
    def counts(self) -> tuple[int, ...]:
        """Every number up to the largest."""
        return tuple(range(1, self.most + 1))

    def rate(self, devices: float, *, nodes: int, kind: str, done: float) -> float:
        """Units of work per second."""
        return self._speedup(devices) / self._speedup(self.base)

    def _speedup(self, devices: float) -> float:
        return 1.0 / (self.serial + (1.0 - self.serial) / devices)


WIDENS = 8
"""How many times the devices that it asks for a job of unknown model can use: assumed."""


def elastic(serial: float) -> Callable[[int], Amdahl]:
    """Amdahl curves for jobs whose model is unknown, by the devices that they ask for.

    Args:
        serial: share of the time on one device that more devices do not shorten, from 0 to 1.

    Returns:
        A function of devices, on which its curve does a unit of work per second; such a job runs on
        any number up to `WIDENS` times as many. Jobs of a trace share the curves.
    """
    return cache(lambda devices: Amdahl(serial=serial, most=WIDENS * devices, base=devices))


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerLaw:
    """A job whose speed is a power of its devices, fractions of a device included.

    Attributes:
        exponent: above 0, at most 1; 1 is perfect scaling.
        most: the largest number of devices.

    Source: berg2020, section 2: the speed-up function n^q of heSRPT.
    """

    exponent: float
    most: int

    def __post_init__(self) -> None:
        if not 0 < self.exponent <= 1:
            raise InputError(f"PowerLaw.exponent must be above 0, at most 1, got {self.exponent}.")
        if not self.most >= 1:
            raise InputError(f"PowerLaw.most must be at least 1, got {self.most}.")

    @property
    def counts(self) -> tuple[int, ...]:
        """Every number up to the largest."""
        return tuple(range(1, self.most + 1))

    def rate(self, devices: float, *, nodes: int, kind: str, done: float) -> float:
        """Units of work per second."""
        return float(devices**self.exponent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What a job does on a number of devices.

    Attributes:
        devices: how many, at least 1.
        rate: samples per second, above 0.
        nodes: how many nodes they lie on; 0 where that does not matter.
        kind: of the devices; `ANY` where that does not matter.
        low: the rate that it exceeds with 90 % probability; the rate itself where unknown.
        high: the rate that it exceeds with 10 %.
        variance: of the rate from one step to the next; None where unknown.
    """

    devices: int
    rate: float
    nodes: int = 0
    kind: str = ANY
    low: float | None = None
    high: float | None = None
    variance: float | None = None

    def __post_init__(self) -> None:
        if not self.devices >= 1:
            raise InputError(f"Point.devices must be at least 1, got {self.devices}.")
        if not 1 / MOST <= self.rate <= MOST:
            raise InputError(
                f"Point.rate must be above 0 samples/s, at most {MOST:g}, got {self.rate}."
            )
        if not 0 <= self.nodes <= self.devices:
            raise InputError(f"Point.nodes must lie from 0 to devices, got {self.nodes}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputCurve:
    """Samples per second against devices, from points that somebody computed or measured.

    Attributes:
        name: what it is of, for messages.
        points: in any order; of every (kind, devices, nodes) at most one.
        between: whether numbers of devices between two points may be used, on the straight line
            through them; otherwise those of the points alone.

    Between numbers of nodes the rate is read off the line, beyond the largest it stays: a job
    that is spread still wider than any that was measured is not slowed down further.
    """

    name: str
    points: tuple[Point, ...]
    between: bool = False
    _rates: dict[tuple[float, int, str], float] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if not self.points:
            raise InputError(f"the throughput curve of {self.name} needs at least one point.")
        places = [(point.kind, point.devices, point.nodes) for point in self.points]
        if len(set(places)) < len(places):
            twice = next(place for place in places if places.count(place) > 1)
            raise InputError(
                f"the throughput curve of {self.name} has two points for {twice[1]} devices"
                f" on {twice[2]} nodes. Keep one."
            )

    @property
    def counts(self) -> tuple[int, ...]:
        """Numbers of devices on which the job can run, ascending."""
        known = sorted({point.devices for point in self.points})
        return tuple(range(known[0], known[-1] + 1)) if self.between else tuple(known)

    def rate(self, devices: float, *, nodes: int, kind: str, done: float) -> float:
        """Samples per second.

        Raises:
            InputError: for devices outside the points, or of a kind without one.
        """
        place = (devices, nodes, kind)
        found = self._rates.get(place)
        if found is None:
            found = self._rates[place] = self._rate(devices, nodes, kind)
        return found

    def _rate(self, devices: float, nodes: int, kind: str) -> float:
        mine = [point for point in self.points if point.kind in (kind, ANY)]
        known = sorted({point.devices for point in mine})
        if devices in known:
            return _on_nodes([p for p in mine if p.devices == devices], nodes)
        if not self.between or not known or not known[0] < devices < known[-1]:
            raise InputError(
                f"the throughput curve of {self.name} says nothing of {devices} devices"
                f"{f' of kind {kind}' if kind else ''}. Known: {', '.join(map(str, known))}."
            )
        place = bisect_left(known, devices)
        low, high = known[place - 1], known[place]
        slow, quick = (self._rate(count, min(nodes, count), kind) for count in (low, high))
        return slow + (quick - slow) * (devices - low) / (high - low)


def _on_nodes(points: Sequence[Point], nodes: int) -> float:
    """The rate on some nodes, from the points of one number of devices."""
    known = sorted(points, key=lambda point: point.nodes)
    place = bisect_left([point.nodes for point in known], nodes)
    if place == len(known):
        return known[-1].rate
    right = known[place]
    if right.nodes == nodes or place == 0:
        return right.rate
    left = known[place - 1]
    return left.rate + (right.rate - left.rate) * (nodes - left.nodes) / (right.nodes - left.nodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPhase:
    """A part of a job.

    Attributes:
        begins: units of work done at which it begins.
        curve: how quickly the job then goes.
        scale: units of the job's work in a unit of the curve's, above 0: what a step of the new
            batch counts in steps of the first.
    """

    begins: float
    curve: Curve
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not self.begins >= 0:
            raise InputError(f"JobPhase.begins must be at least 0, got {self.begins}.")
        if not self.scale > 0:
            raise InputError(f"JobPhase.scale must be above 0, got {self.scale}.")


@dataclass(frozen=True, slots=True)
class Phased:
    """A curve that is another one from some work on.

    Attributes:
        phases: ascending; the first begins at 0. All can use the same numbers of devices.
    """

    phases: tuple[JobPhase, ...]

    def __post_init__(self) -> None:
        begins = [phase.begins for phase in self.phases]
        if not begins or begins[0] != 0.0 or begins != sorted(set(begins)):
            raise InputError(f"phases must begin at 0 and ascend, got {begins}.")

    @property
    def counts(self) -> tuple[int, ...]:
        """Numbers of devices on which the job can run, ascending."""
        return self.phases[0].curve.counts

    def rate(self, devices: float, *, nodes: int, kind: str, done: float) -> float:
        """Units of work per second."""
        now = current(self.phases, done)
        return now.scale * now.curve.rate(devices, nodes=nodes, kind=kind, done=done)

    def until(self, done: float) -> float:
        """Units of work done at which the next phase begins; infinity in the last."""
        return next((phase.begins for phase in self.phases if phase.begins > done), inf)


def current(phases: Sequence[JobPhase], done: float) -> JobPhase:
    """The phase of a job that has done some work."""
    return next(phase for phase in reversed(phases) if phase.begins <= done)
