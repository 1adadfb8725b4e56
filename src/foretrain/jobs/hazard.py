"""Hazards: how likely a job is to end before its work is done, learned from jobs that have ended.

A scheduler never knows the fate of a job. From past ones it knows how many of those that had got
as far went on: failures depend on the time that a job has run, what users do (they kill a job, or
stop it early) on the share of the intended work that is done and on how much was intended.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from foretrain.errors import InputError
from foretrain.measured.job import End, Job, Trace

Column = NDArray[np.float64]

KNOTS = 80
"""Steps that a learned curve keeps at most."""

CLASSES = 6
"""Classes of intended work that are told apart, with equally many past jobs in each."""

ENOUGH = 300
"""Past jobs with a number of devices from which that number is learned by itself."""


@dataclass(frozen=True, slots=True)
class Survival:
    """The chance that a job has not ended early, as a step function of how far it is.

    Attributes:
        at: places where it falls, ascending.
        left: the chance from each of them on, above 0.
    """

    at: tuple[float, ...] = ()
    left: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        falls = all(before >= after for before, after in pairwise((1.0, *self.left)))
        rises = all(before < after for before, after in pairwise(self.at))
        if (
            len(self.at) != len(self.left)
            or not falls
            or not rises
            or min(self.left, default=1) <= 0
        ):
            raise InputError("Survival.at must ascend, and left fall from 1 and stay above 0.")

    def beyond(self, place: float) -> float:
        """The chance of getting beyond a place."""
        step = bisect_right(self.at, place)
        return self.left[step - 1] if step else 1.0


@dataclass(frozen=True, slots=True)
class Prospect:
    """What is to be expected of one job, from any point of its work on.

    Attributes:
        at: seconds of work where the chance of going on falls: from 0 to all of it.
        area: expected seconds of work after each, counted from the beginning.
        success: the chance that all of it is done.
    """

    at: tuple[float, ...]
    area: tuple[float, ...]
    success: float

    def cost(self, done: float) -> float:
        """Expected seconds of work per success, for a job that has done some.

        Expected work left over the chance of success: that the job has got so far divides both,
        and so the cost falls with every second of work, and no other job's changes.
        """
        place = min(bisect_right(self.at, done), len(self.at) - 1)
        start, end = self.at[place - 1], self.at[place]
        open_share = (end - done) / (end - start)
        area = self.area[place] + open_share * (self.area[place - 1] - self.area[place])
        return max(area, 0.0) / self.success


@dataclass(frozen=True, slots=True, kw_only=True)
class Hazard:
    """How likely jobs are to end early.

    Attributes:
        failing: by seconds of work.
        bounds: seconds of intended work that part the classes of `leaving`, ascending.
        leaving: of jobs that their users end, by the share of the intended work, for each class.
    """

    failing: Survival
    bounds: tuple[float, ...] = ()
    leaving: tuple[Survival, ...] = (Survival(),)

    def prospect(self, length: float) -> Prospect:
        """What is to be expected of a job that is meant to run some seconds."""
        leaving = self.leaving[bisect_right(self.bounds, length)]
        falls = {*self.failing.at, *(share * length for share in leaving.at)}
        at = (0.0, *sorted(place for place in falls if 0 < place < length), length)
        chances = [self.failing.beyond(each) * leaving.beyond(each / length) for each in at]
        pieces = [(end - start) * chances[k] for k, (start, end) in enumerate(pairwise(at))]
        area = np.cumsum([0.0, *reversed(pieces)])[::-1]
        return Prospect(at, tuple(area.tolist()), chances[-1])


def learned(past: Trace) -> Callable[[int], Hazard]:
    """The hazards that past jobs show, by the devices that jobs ask for.

    Args:
        past: jobs that have ended. Numbers of devices that few of them asked for share what all
            jobs show.
    """
    alike: dict[int, list[Job]] = {}
    for job in past.jobs:
        alike.setdefault(job.devices, []).append(job)
    everybody = of_jobs(past.jobs)
    known = {count: of_jobs(jobs) for count, jobs in alike.items() if len(jobs) >= ENOUGH}
    return lambda devices: known.get(devices, everybody)


def of_jobs(jobs: Sequence[Job]) -> Hazard:
    """The hazard that some jobs show."""
    paces = np.array([pace(job) for job in jobs])
    length = np.array([job.work for job in jobs]) / paces
    ran = np.array([job.ends_after for job in jobs]) / paces
    failed = np.array([job.end is End.FAILED for job in jobs])
    left = np.array([job.end in {End.KILLED, End.STOPPED} for job in jobs])
    inner = np.linspace(0.0, 1.0, CLASSES + 1)[1:-1]
    bounds = np.unique(np.quantile(length, inner))
    group = np.searchsorted(bounds, length, side="right")
    share = ran / length
    return Hazard(
        failing=kaplan_meier(ran, failed),
        bounds=tuple(bounds.tolist()),
        leaving=tuple(
            kaplan_meier(share[group == each], left[group == each])
            for each in range(len(bounds) + 1)
        ),
    )


def kaplan_meier(reached: Column, ended: NDArray[np.bool_]) -> Survival:
    """The chance of getting beyond a place, from where jobs got to.

    Args:
        reached: where each was last seen.
        ended: whether it ended there for the reason that is asked about; otherwise it would have
            gone on.

    Source: kaplan1958, section 2, equation 2b; of many steps `KNOTS` are kept.
    """
    order = np.lexsort((~ended, reached))
    at_risk = np.arange(len(order), 0, -1)
    left = np.cumprod(1.0 - ended[order] / at_risk)
    places = reached[order]
    last = np.append(places[1:] > places[:-1], True)
    steps = np.flatnonzero(last & (left > 0))
    steps = steps[np.diff(left[steps], prepend=1.0) < 0]
    if len(steps) > KNOTS:
        steps = steps[np.linspace(0, len(steps) - 1, KNOTS).round().astype(int)]
    return Survival(tuple(places[steps].tolist()), tuple(left[steps].tolist()))


def pace(job: Job, *, done: float = 0.0) -> float:
    """Units of work per second on the devices that a job asks for, on nodes as good as any.

    Args:
        job: whose first kind of device is taken, where it names some.
        done: units of work that it has done.
    """
    kind = job.kinds[0] if job.kinds else ""
    return job.curve.rate(job.devices, nodes=0, kind=kind, done=done)
