"""The children of a conductor: decode workers, or one feeder."""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from foretrain.run.stream.fork import Forked, fork
from foretrain.run.stream.lane import Lane
from foretrain.run.stream.slots import Numbers

AHEAD = 2
"""Tasks that a worker has at a time: one in work, one to go on with."""

FIRST, MOST = 8, 32
"""Samples of a task: of the first ones, and at most."""

LASTS = 0.05
"""Seconds that a task should last: long beside what the conductor needs to hand it out (a tenth of
a millisecond), short beside what readers may have in the arena."""

TRIES = 3
"""Workers that may die on the same task before its samples are given up."""

STAGES = ("read", "transform", "store", "cpu")
"""What a child spends its time on, as it reports it; "cpu" is part of the three before it."""


@dataclass(slots=True, kw_only=True)
class Task:
    """Samples to prepare.

    Attributes:
        first: sequence number of the first.
        slots: where they go. [sample]
        ids: of the samples. [sample]
        epoch: of all of them.
        lane: whom they are for; nothing for everybody.
        deaths: workers that died on it.
    """

    first: int
    slots: Numbers
    ids: Numbers
    epoch: int
    lane: Lane | None = None
    deaths: int = 0

    def singly(self, deaths: int) -> list[Task]:
        """The same work, a task for each sample, so that one that kills its worker is found."""
        return [
            replace(
                self,
                first=self.first + index,
                slots=self.slots[index : index + 1],
                ids=self.ids[index : index + 1],
                deaths=deaths,
            )
            for index in range(len(self.slots))
        ]


@dataclass(slots=True)
class Child:
    """A worker or a feeder, with what it has been told to do, oldest first."""

    process: Forked
    tasks: deque[Task] = field(default_factory=deque)

    @property
    def peer(self) -> socket.socket:
        """The connection to it."""
        return self.process.peer


@dataclass(slots=True, kw_only=True)
class Crew:
    """All children, which are started again when they die.

    Attributes:
        run: what a child does with its connection.
        size: how many there are.
        children: by their connection.
        seconds: spent by all of them so far. [stage]
        prepared: samples on which they were spent.
        restarts: children that were started again.
    """

    run: Callable[[socket.socket], None]
    size: int
    children: dict[socket.socket, Child] = field(default_factory=dict)
    seconds: NDArray[np.float64] = field(default_factory=lambda: np.zeros(len(STAGES)))
    prepared: int = 0
    restarts: int = 0

    def start(self, *, close: Iterable[socket.socket]) -> Child:
        """One more child; it keeps none of these connections open."""
        others = [*close, *self.children]
        child = Child(fork(self.run, close=others, dies_with_us=True))
        self.children[child.peer] = child
        return child

    def bury(self, child: Child) -> None:
        """A child is dead."""
        del self.children[child.peer]
        child.process.end()

    def idlest(self) -> Child | None:
        """The child with the fewest tasks, if it may have one more."""
        child = min(self.children.values(), key=lambda each: len(each.tasks), default=None)
        return child if child is not None and len(child.tasks) < AHEAD else None

    def spent(self, seconds: NDArray[np.float64], samples: int) -> None:
        """A child spent so many seconds on each stage of a task. [stage]"""
        self.seconds += seconds
        self.prepared += samples

    def chunk(self) -> int:
        """Samples of the next task."""
        if not self.prepared:
            return FIRST
        lasts = float(self.seconds[: STAGES.index("cpu")].sum()) / self.prepared
        return max(1, int(min(MOST, LASTS / lasts if lasts else MOST)))

    @property
    def busy(self) -> bool:
        """Whether anybody works."""
        return any(child.tasks for child in self.children.values())

    def end(self) -> None:
        """Kill all children."""
        for child in list(self.children.values()):
            self.bury(child)
