"""Synthetic traces: jobs like those of a mix or of some models, as many as wanted, at any load."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, fsum, log, sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from foretrain.errors import InputError
from foretrain.jobs.mix import DAY, Length, Mix
from foretrain.measured.job import End, Job, Trace
from foretrain.throughput import Curve, rigid

if TYPE_CHECKING:
    from numpy.random import Generator


@dataclass(frozen=True, slots=True, kw_only=True)
class JobKind:
    """Jobs that train one model.

    Attributes:
        name: of the model.
        curve: samples per second on devices.
        asks: devices that a job asks for.
        samples: that a job learns from, on average.
        vary: their standard deviation over their mean.
        share: of the jobs.
    """

    name: str
    curve: Curve
    asks: int
    samples: float
    vary: float
    share: float

    @property
    def demand(self) -> float:
        """Device-seconds of a job on the devices it asks for, on average."""
        rate = self.curve.rate(self.asks, nodes=0, kind="", done=0.0)
        return self.samples / rate * self.asks


def drawn(
    kinds: Sequence[JobKind],
    *,
    count: int,
    load: float,
    devices: int,
    random: Generator,
    restart: float = 0.0,
) -> Trace:
    """Jobs that come at random times, each of a model at random.

    Args:
        kinds: the models; shares are scaled to 1.
        count: of jobs.
        load: device-seconds that come, on average, over those there are.
        devices: of the fleet.
        random: where chance comes from.
        restart: seconds that a start after a preemption takes.

    Arrivals are a Poisson process. The amount of training is log-normal, with the mean and the
    variation of the model.
    """
    total = fsum(kind.share for kind in kinds)
    demand = fsum(kind.share / total * kind.demand for kind in kinds)
    arrivals = random.exponential(demand / (load * devices), count).cumsum().tolist()
    places = random.choice(len(kinds), count, p=[kind.share / total for kind in kinds]).tolist()
    normal = random.standard_normal(count).tolist()
    width = len(str(count))
    jobs = []
    for number, (arrival, place, chance) in enumerate(
        zip(arrivals, places, normal, strict=True), start=1
    ):
        kind = kinds[place]
        variance = log(1.0 + kind.vary**2)
        job = Job(
            name=f"{kind.name}-{number:0{width}}",
            arrival=arrival,
            work=kind.samples * exp(sqrt(variance) * chance - 0.5 * variance),
            curve=kind.curve,
            devices=kind.asks,
            restart=restart,
            group=kind.name,
        )
        jobs.append(job)
    return Trace(name=f"{count} jobs at load {load:g}", jobs=tuple(jobs))


Column = NDArray[np.float64]
Counts = NDArray[np.int64]

ENDS = (End.FINISHED, End.KILLED, End.FAILED)
"""What the numbers of `Draws.end` mean."""

SHORTEST = 1.0
"""Seconds that every job runs, as in the logs, which count whole ones."""

ERRORS = ((0.0, 1.0), (0.1, 1.1), (0.5, 1.5), (0.7, 2.0), (0.9, 10.0), (1.0, 100.0))
"""Share of users' estimates, and the factor by which they are wrong at most.

Source: hu2021, section 4.2, for all but the last factor, which is assumed.
"""

WAVE = 1_440
"""Points at which the daily wave of arrivals is tabulated, one a minute."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Draws:
    """Jobs as columns. [job]

    Attributes:
        devices: that each asks for.
        work: seconds that each means to run.
        estimate: seconds that its user says it will.
        group: its place among the groups of the mix.
        turn: when it comes, were one job to come per unit of time on average.
        ran: seconds after which it ends.
        end: how, as a place in `ENDS`.
    """

    devices: Counts
    work: Column
    estimate: Column
    group: Counts
    turn: Column
    ran: Column
    end: Counts

    @property
    def demand(self) -> float:
        """Device-seconds that a job holds on average."""
        return float((self.ran * self.devices).mean())


def generate(
    mix: Mix,
    random: Generator,
    *,
    count: int,
    load: float,
    devices: int,
    curve: Callable[[int], Curve] = rigid,
    restart: float = 0.0,
) -> Trace:
    """Jobs that ask, on average, for a share of some devices.

    Args:
        mix: what jobs are like; those larger than `devices` are left out.
        random: all that is random comes from it, so equal states give equal jobs.
        count: how many jobs, at least 1.
        load: device-seconds that come per device and second. The very jobs that are drawn have
            it, not only those that might have been.
        devices: of the cluster.
        curve: how jobs scale, by the devices that they ask for, on which a unit of work must take
            a second.
        restart: seconds that a start after a preemption takes.
    """
    if not load > 0:
        raise InputError(f"load must be above 0, got {load}.")
    drawn = draw(mix, random, count=count, largest=devices)
    arrivals = arrive(mix, drawn.turn, rate=load * devices / drawn.demand)
    groups = list(mix.groups) or [""]
    columns = (
        arrivals, drawn.work, drawn.devices, drawn.estimate, drawn.group, drawn.ran, drawn.end,
    )  # fmt: skip
    rows = zip(*(column.tolist() for column in columns), strict=True)
    digits = len(str(len(arrivals)))
    jobs = tuple(
        Job(
            name=f"job-{number:0{digits}}",
            arrival=arrival,
            work=work,
            curve=curve(asked),
            devices=asked,
            end=ENDS[end],
            ends_after=ran,
            restart=restart,
            estimate=estimate,
            group=groups[group],
        )
        for number, (arrival, work, asked, estimate, group, ran, end) in enumerate(rows, start=1)
    )
    return Trace(name=f"{count} drawn jobs at load {load:g}", jobs=jobs)


def draw(mix: Mix, random: Generator, *, count: int, largest: int) -> Draws:
    """Jobs as columns.

    Args:
        mix: what they are like.
        random: where they come from.
        count: how many, at least 1.
        largest: devices that no job exceeds.
    """
    if not count >= 1:
        raise InputError(f"count must be at least 1 job, got {count}.")
    sizes = mix.within(largest)
    odds = np.array([size.share for size in sizes])
    chosen = random.choice(len(sizes), size=count, p=odds / odds.sum())
    devices = np.array([size.devices for size in sizes])[chosen]
    stretch = np.array([size.stretch for size in sizes])[chosen]
    work = np.minimum(intended(mix.length, random, count) * stretch, mix.length.longest)
    estimate = work * estimate_errors(random, count)
    shares = np.array(list(mix.groups.values()) or [1.0])
    group = random.choice(len(shares), size=count, p=shares / shares.sum())
    turn = np.cumsum(random.standard_exponential(count))
    # Ends are drawn last, so that a mix with and one without failures give the same jobs otherwise.
    fails = killed = np.full(count, np.inf)
    failing, killing = mix.failing, mix.killing
    if failing is not None and failing.shape != 0:
        fails = failing.scale * np.expm1(random.standard_exponential(count) / failing.shape)
    if killing is not None:
        share = 1.0 / (1.0 + (killing.half / work) ** killing.steepness)
        reached = random.random(count) ** (1.0 / killing.late)
        killed = np.where(random.random(count) < share, work * reached, np.inf)
    ran = np.minimum(work, np.maximum(SHORTEST, np.minimum(fails, killed)))
    return Draws(
        devices=devices,
        work=work,
        estimate=estimate,
        group=group,
        turn=turn,
        ran=ran,
        end=np.where(ran == work, 0, np.where(killed <= fails, 1, 2)),
    )


def intended(length: Length, random: Generator, count: int) -> Column:
    """Seconds that jobs of one device are meant to run. [job]"""
    body = length.median * np.exp(length.spread * random.standard_normal(count))
    cut = 1.0 - (length.begins / length.longest) ** length.index
    tail = length.begins * (1.0 - cut * random.random(count)) ** (-1.0 / length.index)
    work = np.where(random.random(count) < length.tail, tail, body)
    return np.clip(work, SHORTEST, length.longest)


def arrive(mix: Mix, turn: Column, *, rate: float) -> Column:
    """When jobs come whose rate is a wave with the period of a day. [job]

    Args:
        mix: with the height of the wave and its peak.
        turn: arrivals of a process of rate 1. [job]
        rate: jobs per second, over a whole day.

    Source: lewis1979, section 1: a process of rate 1, at times where the wave has grown as far.
    """
    time = np.linspace(0.0, DAY, WAVE + 1)
    phase = 2.0 * np.pi * (time - mix.peak) / DAY
    grown = time + mix.swing * DAY / (2.0 * np.pi) * (np.sin(phase) - np.sin(phase[0]))
    needed = turn / rate
    days = np.floor(needed / DAY)
    return np.asarray(days * DAY + np.interp(needed - days * DAY, grown, time))


def estimate_errors(random: Generator, count: int) -> Column:
    """What users' estimates are multiples of the truth; too long as often as too short. [job]"""
    shares, factors = zip(*ERRORS, strict=True)
    wrong = np.exp(np.interp(random.random(count), shares, np.log(factors)))
    return np.where(random.random(count) < 0.5, wrong, 1.0 / wrong)
