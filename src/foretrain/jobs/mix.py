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
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import fsum, inf

from foretrain.errors import InputError

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
