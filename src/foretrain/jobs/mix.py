"""Mixes: what the jobs of a cluster are like, so that others like them can be drawn.

A job has an *intended* work. It runs until that is done, unless it fails or is killed before. The
hazard of failing falls with the time that a job has run: most mistakes show in the first minutes.
Users kill jobs late, at a share of what they intended, and the long ones more often than the short.

Philly: the mix of jobs of a cluster of Microsoft's, from what is published of it.

Sizes, their shares and the daily wave are counted in the published log. How long jobs are meant to
run is published nowhere: those numbers, and when jobs fail and are killed, are fitted, so that what
is published comes out: the median, mean and 99th percentile of the time that jobs ran, the shares
of jobs and of device time that finished, were killed and failed, and the mean time that jobs of 2,
4 and 8 devices ran. `validation/scheduling/generator.py` compares.

Hazards: how likely a job is to end before its work is done, learned from jobs that have ended.

A scheduler never knows the fate of a job. From past ones it knows how many of those that had got
as far went on: failures depend on the time that a job has run, what users do (they kill a job, or
stop it early) on the share of the intended work that is done and on how much was intended.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import fsum, inf

import numpy as np
from numpy.typing import NDArray

from foretrain.errors import InputError
from foretrain.measured.job import End, Job, Trace

DAY = 86_400.0
"""Seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSize:
    """Jobs that ask for one number of devices.

    Attributes:
        devices: the number, at least 1.
        share: of all jobs; shares of a mix need not add up to 1.
        stretch: how much longer than jobs of one device they are meant to run.
    """

    devices: int
    share: float
    stretch: float = 1.0

    def __post_init__(self) -> None:
        if not self.devices >= 1:
            raise InputError(f"JobSize.devices must be at least 1, got {self.devices}.")
        if not (0 < self.share < inf and 0 < self.stretch < inf):
            raise InputError(f"JobSize.share and stretch must be above 0, got {self}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Length:
    """Intended work: a log-normal body and a Pareto tail, cut at the longest.

    Attributes:
        median: seconds, of the body.
        spread: standard deviation of the logarithms of the body.
        tail: share of the jobs that the tail gives.
        begins: seconds at which the tail begins.
        index: of the tail: the lower, the heavier.
        longest: seconds that no job exceeds.
    """

    median: float
    spread: float
    tail: float
    begins: float
    index: float
    longest: float

    def __post_init__(self) -> None:
        if not (self.median > 0 and self.spread >= 0 and 0 <= self.tail <= 1 and self.index > 0):
            raise InputError(
                "Length.median and index must be above 0, spread at least 0 and tail from 0 to 1,"
                f" got {self}."
            )
        if not 0 < self.begins < self.longest < inf:
            raise InputError(f"Length.begins must lie between 0 and longest, got {self.begins}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failing:
    """The hazard of failing, `shape / (scale + t)` per second after t seconds of work.

    Attributes:
        shape: how many failures to expect per factor e of time; 0 for jobs that never fail.
        scale: seconds after which the hazard has halved.

    Source: lomax1954: failures whose hazard falls hyperbolically with age.
    """

    shape: float
    scale: float

    def __post_init__(self) -> None:
        if not (0 <= self.shape < inf and 0 < self.scale < inf):
            raise InputError(f"Failing.shape must be at least 0 and scale above 0, got {self}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Killing:
    """Jobs that their users give up: longer ones more often, and late.

    Attributes:
        half: seconds of intended work at which every second job would be killed.
        steepness: how quickly that share grows with the logarithm of the work; the share is
            `1 / (1 + (half / work) ** steepness)`.
        late: the share of its work at which a job is killed has the density `late x ** (late - 1)`,
            a Beta distribution; 1 for any time alike.
    """

    half: float
    steepness: float
    late: float

    def __post_init__(self) -> None:
        if not (self.half > 0 and self.steepness > 0 and self.late > 0):
            raise InputError(f"Killing.half, steepness and late must be above 0, got {self}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """What jobs are like.

    Attributes:
        sizes: numbers of devices that they ask for.
        length: how long they are meant to run, on one device.
        failing: when they fail; None if never.
        killing: when they are killed; None if never.
        swing: relative height of the daily wave of arrivals, from 0 to below 1.
        peak: seconds after midnight when most arrive.
        groups: shares of the jobs by group; empty for jobs without one.
    """

    sizes: tuple[JobSize, ...]
    length: Length
    failing: Failing | None = None
    killing: Killing | None = None
    swing: float = 0.0
    peak: float = 0.0
    groups: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.sizes:
            raise InputError("Mix.sizes is empty; give at least one number of devices.")
        if not 0 <= self.swing < 1:
            raise InputError(f"Mix.swing must lie from 0 to below 1, got {self.swing}.")
        if not 0 <= self.peak < DAY:
            raise InputError(f"Mix.peak must lie from 0 to below {DAY:.0f} s, got {self.peak}.")
        if self.groups and not fsum(self.groups.values()) > 0:
            raise InputError("Mix.groups must have shares above 0.")

    def within(self, devices: int) -> tuple[JobSize, ...]:
        """The sizes that fit a number of devices.

        Raises:
            InputError: where none does.
        """
        fitting = tuple(size for size in self.sizes if size.devices <= devices)
        if not fitting:
            least = min(size.devices for size in self.sizes)
            raise InputError(f"the smallest jobs of the mix need {least} devices, not {devices}.")
        return fitting


PHILLY = Mix(
    sizes=(
        JobSize(devices=1, share=0.93167),
        JobSize(devices=2, share=0.02210, stretch=7.38),
        JobSize(devices=4, share=0.02274, stretch=71.6),
        JobSize(devices=8, share=0.01998, stretch=281.0),
        JobSize(devices=16, share=0.00242, stretch=281.0),
        JobSize(devices=32, share=0.00081, stretch=7.38),
        JobSize(devices=64, share=0.00007, stretch=7.38),
        JobSize(devices=128, share=0.00004, stretch=7.38),
    ),
    length=Length(
        median=1_530.0,
        spread=2.273,
        tail=0.04246,
        begins=264_700.0,
        index=2.131,
        longest=4_630_000.0,
    ),
    failing=Failing(shape=0.394, scale=2_314.0),
    killing=Killing(half=594_000.0, steepness=0.336, late=2.0),
    swing=0.29,
    peak=5.0 * 3_600.0,
    groups={
        "6214e9": 0.501, "11cb48": 0.196, "6c71a0": 0.121, "b436b2": 0.090, "103959": 0.024,
        "ee9e8c": 0.018, "0e4a51": 0.017, "ed69ec": 0.014, "7f04ca": 0.009, "2869ce": 0.005,
        "e13805": 0.005,
    },
)  # fmt: skip
"""Source: jeon2019 and its log, September to December 2017; the tail's longest is the log's."""


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
