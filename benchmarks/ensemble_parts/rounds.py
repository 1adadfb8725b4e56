"""Interleaved repetitions: every method in turn, again and again, so that all see the same machine.

Each cell runs for at least so many seconds; what it took is divided by its samples.
"""

from __future__ import annotations

import math
import os
import statistics
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from ensemble_parts.given import whole
from ensemble_parts.methods import METHODS, Setting
from ensemble_parts.tree import Cost, Failed, Json, cost
from ensemble_parts.workload import BATCH, PLAIN

ENOUGH = 1.5
"""Seconds after which a trial says how long an epoch takes."""

SPARE = 1.15
"""How much longer than needed a cell is made, because the trial may have been slow."""

PATIENCE = 8.0
"""How many times longer than expected a cell may take before it is killed."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What is measured.

    Attributes:
        method: a name of METHODS.
        members: models that are trained at the same time.
        workers: decode processes, of each loader or of the stream.
        every: every how manieth pixel of a row and column the network sees.
        cores: processor cores for everything.
    """

    method: str
    members: int
    workers: int = 0
    every: int = PLAIN
    cores: int = 2

    def __str__(self) -> str:
        """Short, for lines and keys."""
        light = "" if self.every == PLAIN else f", every {self.every}th pixel"
        return f"{self.method} {self.workers}w, {self.members} members, {self.cores} cores{light}"


@dataclass(frozen=True, kw_only=True)
class Taken:
    """What one repetition took, per sample of the data set that went to all members.

    Attributes:
        cpu: processor seconds, of all members together.
        wall: seconds.
        delivered: share of the samples that the members were given.
        memory: peak bytes, pages that are shared counted once.
        arena: peak bytes in anonymous memory files.
        others: processor cores that the rest of the machine took meanwhile.
        seconds: how long the repetition lasted.
    """

    cpu: float
    wall: float
    delivered: float
    memory: float
    arena: float
    others: float
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much is measured.

    Attributes:
        repetitions: of every cell.
        seconds: the least that one repetition lasts.
        pictures: how many there are on disk.
    """

    repetitions: int
    seconds: float
    pictures: int


FULL = Effort(repetitions=5, seconds=20.0, pictures=2_000)
QUICK = Effort(repetitions=1, seconds=9.0, pictures=500)
"""Long enough that the start of a stream, which imports PyTorch anew, is not what is measured."""

Measured = Mapping[Cell, Sequence[Taken]]


def measured(cells: Iterable[Cell], effort: Effort, folder: Path) -> Iterator[Measured]:
    """Every cell in turns that begin with another one each time; what came so far after each."""
    settings = {cell: _sized(cell, effort, folder) for cell in dict.fromkeys(cells)}
    taken: dict[Cell, list[Taken]] = {cell: [] for cell in settings}
    for turn in range(effort.repetitions):
        order = [*settings]
        for cell in order[turn % len(order) :] + order[: turn % len(order)]:
            one = _once(cell, settings[cell], limit=120.0 + PATIENCE * effort.seconds)
            while one.seconds < effort.seconds:
                settings[cell] = _lasting(settings[cell], one.wall, effort=effort)
                one = _once(cell, settings[cell], limit=120.0 + PATIENCE * effort.seconds)
            _say(f"{turn + 1}/{effort.repetitions} {cell}: {_line(one)}")
            taken[cell].append(one)
        yield taken


def _sized(cell: Cell, effort: Effort, folder: Path) -> Setting:
    """As many samples as last long enough, by a trial that also warms the machine up."""
    trial = Setting(
        folder=folder,
        pictures=min(effort.pictures, 500),
        members=cell.members,
        epochs=1,
        every=cell.every,
        workers=cell.workers,
    )
    wall = _cost(cell, trial, limit=120.0).wall
    while wall < ENOUGH:
        trial = replace(trial, epochs=2 * trial.epochs)
        wall = _cost(cell, trial, limit=120.0).wall
    return _lasting(trial, wall / (trial.pictures * trial.epochs), effort=effort)


def _lasting(setting: Setting, each: float, *, effort: Effort) -> Setting:
    """With as many samples as last long enough, if each takes so many seconds."""
    needed = math.ceil(SPARE * effort.seconds / each)
    pictures = min(effort.pictures, BATCH * math.ceil(needed / BATCH))
    return replace(setting, pictures=pictures, epochs=math.ceil(needed / pictures))


def _once(cell: Cell, setting: Setting, *, limit: float) -> Taken:
    """One repetition."""
    found = _cost(cell, setting, limit=limit)
    count = setting.pictures * setting.epochs
    return Taken(
        cpu=found.cpu / count,
        wall=found.wall / count,
        delivered=delivered(cell.method, setting, found.told),
        memory=found.memory,
        arena=found.arena,
        others=found.others / found.wall,
        seconds=found.wall,
    )


def _cost(cell: Cell, setting: Setting, *, limit: float) -> Cost:
    cores = sorted(os.sched_getaffinity(0))[: cell.cores]
    if len(cores) < cell.cores:
        raise Failed(f"{cell.cores} cores are asked for, {len(cores)} are there")
    return cost(partial(METHODS[cell.method], setting), cores=cores, limit=limit)


def delivered(method: str, setting: Setting, told: Json) -> float:
    """Share of the samples that arrived; anything but exactly once is an error, save of a peer."""
    if method == "none":
        return 1.0
    if method == "tensorsocket":
        return _samples(told) / setting.samples
    epoch = asdict(whole(setting.pictures))
    if told != [[epoch] * setting.epochs] * setting.members:
        raise Failed(f"{method}: not every member was given every sample once: {told}")
    return 1.0


def _samples(told: Json) -> int:
    return sum(epoch["samples"] for epochs in told for epoch in epochs)  # type: ignore[index, call-overload, union-attr, misc]


def medians(taken: Iterable[Taken], field: str) -> tuple[float, float, float]:
    """Median, least and most of something over the repetitions."""
    values = [getattr(one, field) for one in taken]
    return statistics.median(values), min(values), max(values)


def median(taken: Iterable[Taken], field: str) -> float:
    """Median of something over the repetitions."""
    return medians(taken, field)[0]


def _line(one: Taken) -> str:
    return (
        f"{1e3 * one.cpu:.3f} ms of processor and {1e3 * one.wall:.3f} ms per sample,"
        f" {one.memory / 1e6:.0f} MB, {one.seconds:.1f} s, others {one.others:.2f} cores"
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
