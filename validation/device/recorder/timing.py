"""Times of repeated steps, and how much of the machine others took meanwhile."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median, quantiles
from typing import Protocol

UNDISTURBED = 0.05
"""Share of the cores that others may take of a step that counts as our own."""

Mark = Callable[[], None]
Step = Callable[[Mark], None]


class Clock(Protocol):
    """Runs steps and says when each of their marks was passed."""

    def laps(self, step: Step, repeats: int) -> list[Lap]:
        """The laps of so many steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lap:
    """One step.

    Attributes:
        phases: seconds between one mark and the next; the first mark starts the step.
        others: share of the cores that other programs took; 0 where it is not known.
    """

    phases: tuple[float, ...]
    others: float = 0.0

    @property
    def seconds(self) -> float:
        """Of the whole step."""
        return sum(self.phases)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """What repeated steps took.

    Attributes:
        seconds: median of a step; of undisturbed ones where there are enough.
        phases: the same of each phase.
        lower_quartile: of all steps.
        least: of all steps.
        repeats: steps that were timed.
        counted: undisturbed steps, of which the medians are taken; 0 if those were too few.
        others: share of the cores that other programs took, on average.
    """

    seconds: float
    phases: tuple[float, ...]
    lower_quartile: float
    least: float
    repeats: int
    counted: int
    others: float

    @property
    def disturbed(self) -> bool:
        """Whether too few steps had the machine to themselves."""
        return self.counted == 0


FEWEST = 5
"""Undisturbed steps below which a time counts as disturbed."""


def timed(
    step: Step, clock: Clock, *, warm_up: int = 3, repeats: int = 10, seconds: float = 2.0
) -> Timing:
    """Times a step that is repeated.

    Args:
        step: passes marks: at its start and after each phase.
        clock: of the device.
        warm_up: steps that are not counted.
        repeats: least number of steps that are.
        seconds: to go on for if steps are short.
    """
    clock.laps(step, warm_up)
    laps = clock.laps(step, repeats)
    spent = sum(lap.seconds for lap in laps)
    more = min(5 * repeats, round(repeats * seconds / spent)) - repeats
    if more > 0:
        laps += clock.laps(step, more)
    return summarised(laps)


def summarised(laps: list[Lap]) -> Timing:
    """Medians of the undisturbed steps; the lower quarter of all where those are too few."""
    steps = sorted(laps, key=lambda lap: lap.seconds)
    own = [lap for lap in steps if lap.others <= UNDISTURBED]
    counted = own if len(own) >= FEWEST else steps[: max(1, len(steps) // 2)]
    times = [lap.seconds for lap in steps]
    return Timing(
        seconds=median(lap.seconds for lap in counted),
        phases=tuple(median(phase) for phase in zip(*(lap.phases for lap in counted), strict=True)),
        lower_quartile=quantiles(times, n=4)[0] if len(times) > 1 else times[0],
        least=times[0],
        repeats=len(steps),
        counted=len(own) if len(own) >= FEWEST else 0,
        others=sum(lap.others for lap in steps) / len(steps),
    )


class HostClock:
    """Times steps of the processor, and watches what other programs take of it.

    One thread is timed by what it computed itself, which others do not lengthen; several threads
    wait for each other, so that only the time on the wall means something.
    """

    def __init__(self, cores: int) -> None:
        self._alone = cores == 1
        self._now = time.process_time if self._alone else time.perf_counter

    def laps(self, step: Step, repeats: int) -> list[Lap]:
        """The laps of so many steps, one after the other."""
        laps: list[Lap] = []
        while len(laps) < repeats:
            laps += self._watched(step, repeats - len(laps))
        return laps

    def _watched(self, step: Step, most: int) -> list[Lap]:
        """Steps until the system's count of busy time, in ticks of 10 ms, says something."""
        steps: list[tuple[float, ...]] = []
        start, before = time.perf_counter(), _busy_of_others()
        while len(steps) < most and time.perf_counter() - start < SHORTEST:
            steps.append(self._phases(step))
        after = _busy_of_others()
        cores = os.cpu_count() or 1
        share = max(0.0, after - before) / (cores * (time.perf_counter() - start))
        others = 0.0 if self._alone else share
        return [Lap(phases=phases, others=others) for phases in steps]

    def _phases(self, step: Step) -> tuple[float, ...]:
        marks: list[float] = []
        step(lambda: marks.append(self._now()))
        return tuple(end - start for start, end in pairwise(marks))


SHORTEST = 0.2
"""Seconds over which the share of other programs is counted."""


def _busy_of_others() -> float:
    """Core seconds that others have used since the machine was started; 0 where none is told."""
    counts = Path("/proc/stat")
    if not counts.exists():
        return 0.0
    user, nice, system, _, _, interrupts, soft, stolen = (
        int(count) for count in counts.read_text().split("\n", 1)[0].split()[1:9]
    )
    busy = user + nice + system + interrupts + soft + stolen
    return busy / os.sysconf("SC_CLK_TCK") - time.process_time()


class Event(Protocol):
    """A mark in the queue of a GPU."""

    def record(self) -> None:
        """Puts the mark behind what is in the queue."""

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds from this mark to a later one."""


class Cuda(Protocol):
    """What is used of `torch.cuda`, so that nothing here imports PyTorch."""

    def Event(self, *, enable_timing: bool) -> Event:  # noqa: N802
        """A new mark."""

    def synchronize(self) -> None:
        """Waits until the queue is empty."""


class DeviceClock:
    """Times steps of a GPU by events in its queue, which the host fills ahead as in training."""

    def __init__(self, cuda: Cuda) -> None:
        self._cuda = cuda

    def laps(self, step: Step, repeats: int) -> list[Lap]:
        """The laps of so many steps, without a wait between them."""
        steps: list[list[Event]] = []
        for _ in range(repeats):
            events: list[Event] = []
            step(partial(self._pass, events))
            steps.append(events)
        self._cuda.synchronize()
        return [
            Lap(phases=tuple(1e-3 * start.elapsed_time(end) for start, end in pairwise(events)))
            for events in steps
        ]

    def _pass(self, events: list[Event]) -> None:
        event = self._cuda.Event(enable_timing=True)
        event.record()
        events.append(event)
