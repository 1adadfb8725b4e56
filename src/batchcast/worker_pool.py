"""The children of a conductor: decode workers, or one feeder."""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from batchcast.errors import BatchcastError, SampleFailed, StreamGarbled
from batchcast.messages import Message
from batchcast.order import Order
from batchcast.slots import Numbers
from batchcast.subscription import Subscription
from batchcast.zygote import Making, Running, Zygote

AHEAD = 2
"""Tasks that a worker has at a time: one in work, one to go on with."""

FIRST, MOST = 8, 2048
"""Samples of a task: of the first ones, and at most."""

LASTS = 0.05
"""Seconds that a task should last: long beside what the conductor needs to hand it out (a tenth of
a millisecond), short beside what readers may have in the arena."""

SOON = 0.05
"""Seconds of work for which a feeder gets slots at a time."""

AHEAD_SHARE = 4
"""The part of the arena that a feeder may have at a time, beyond what it needs."""

TRIES = 3
"""Workers that may die on the same task before its samples are given up."""

STAGES = ("read", "transform", "store", "cpu")
"""What a child spends its time on, as it reports it; "cpu" is part of the three before it."""


FED_DIED = (
    "The process that goes through the loader died, and it cannot begin again. See its messages "
    "above."
)
TRIED_DIED = (
    "The worker that tried the first samples died. See its messages above, and try whether the "
    "data set gives its samples without a stream."
)
LOADING_DIED = (
    "The process that loads the data set or loader died. See its messages above, and try whether "
    "what was shared can be pickled, and loaded by another process."
)


@dataclass(slots=True, kw_only=True)
class Task:
    """Samples to prepare.

    Attributes:
        first: sequence number of the first.
        slots: where they go. [sample]
        ids: of the samples. [sample]
        epoch: of all of them.
        reader: whom they are for; nothing for everybody.
        deaths: workers that died on it.
    """

    first: int
    slots: Numbers
    ids: Numbers
    epoch: int
    reader: Subscription | None = None
    deaths: int = 0

    def part(self, begin: int, end: int) -> Task:
        """The samples between these offsets."""
        first, slots, ids = self.first + begin, self.slots[begin:end], self.ids[begin:end]
        return replace(self, first=first, slots=slots, ids=ids)

    def singly(self, deaths: int) -> list[Task]:
        """The same work, a task for each sample, so that one that kills its worker is found."""
        each = (self.part(index, index + 1) for index in range(len(self.slots)))
        return [replace(one, deaths=deaths) for one in each]

    def deadly(self, deaths: int) -> SampleFailed:
        """What is told of a sample on which so many workers died."""
        return SampleFailed(
            f"Sample {self.ids[0]} could not be prepared: {deaths} workers died on it."
        )


def died(*, fed: bool) -> SampleFailed:
    """What is told where nobody can go on with what a child did that died."""
    return SampleFailed(FED_DIED if fed else TRIED_DIED)


def task_of(order: Order, first: int, slots: Numbers) -> Task:
    """What a feeder is to do in these slots, from this sequence number on."""
    ids = order.ids(first, len(slots))
    return Task(first=first, slots=slots, ids=ids, epoch=order.place(first)[0])


@dataclass(slots=True)
class Child:
    """A worker or a feeder, with what it has been told to do, oldest first."""

    peer: socket.socket
    process: Running
    tasks: deque[Task] = field(default_factory=deque)

    def done(self, samples: int) -> Task:
        """The oldest task, or as much of it as a feeder has done; the rest stays to be done.

        Raises:
            StreamGarbled: it has fewer samples.
        """
        task = self.tasks.popleft()
        if not 0 < samples <= len(task.slots):
            raise StreamGarbled("A worker is done with more than it was told to do.")
        if samples < len(task.slots):
            self.tasks.appendleft(task.part(samples, len(task.slots)))
        return task.part(0, samples)


@dataclass(slots=True)
class WorkerPool:
    """All children, which are started again when they die.

    Attributes:
        making: what they make samples with.
        size: how many there are.
        missing: children that will be started as soon as the source is loaded.
        children: by their connection.
        seconds: spent by all of them so far. [stage]
        prepared: samples on which they were spent.
        restarts: children that were started again.
    """

    making: Making
    _: KW_ONLY
    size: int
    missing: int = 0
    children: dict[socket.socket, Child] = field(default_factory=dict)
    seconds: NDArray[np.float64] = field(default_factory=lambda: np.zeros(len(STAGES)))
    prepared: int = 0
    restarts: int = 0
    _zygote: Zygote | None = None

    @property
    def loads(self) -> bool:
        """Whether there is a zygote, ready or not."""
        return self._zygote is not None

    @property
    def peers(self) -> list[socket.socket]:
        """All connections, also those of processes that serve the children."""
        zygote = [self._zygote.peer] if self._zygote is not None else []
        return [*zygote, *self.children]

    def load(self, forget: Callable[[], None]) -> socket.socket:
        """Start the zygote.

        Args:
            forget: closes, in processes that are forked, what belongs to this one.

        Returns:
            The connection to it: what comes there is heard by `loaded`.
        """
        self._zygote = Zygote(self.making, forget=forget)
        return self._zygote.peer

    def loaded(self) -> list[Child]:
        """The children that were missing; the source is loaded.

        Raises:
            BatchcastError: it cannot be.
            ConnectionError: the zygote died, after it had loaded the source.
        """
        assert self._zygote is not None
        was_ready = self._zygote.is_ready
        try:
            self._zygote.hear()
        except (BatchcastError, ConnectionError) as error:
            self._zygote.end()
            self._zygote = None
            if was_ready or isinstance(error, BatchcastError):
                raise
            raise SampleFailed(LOADING_DIED) from error
        missing, self.missing = self.missing, 0
        return [child for child in (self.start() for _ in range(missing)) if child is not None]

    def start(self) -> Child | None:
        """One more child; nothing where it will be started when the source is loaded."""
        if self._zygote is not None and self._zygote.is_ready:
            with suppress(ConnectionError):  # the zygote died, which will be heard in a moment
                child = Child(*self._zygote.child())
                self.children[child.peer] = child
                return child
        self.missing += 1
        return None

    def bury(self, child: Child) -> None:
        """A child is dead."""
        del self.children[child.peer]
        child.peer.close()
        child.process.end()

    def idlest(self) -> Child | None:
        """The child with the fewest tasks, if it may have one more."""
        child = min(self.children.values(), key=lambda each: len(each.tasks), default=None)
        return child if child is not None and len(child.tasks) < AHEAD else None

    def done(self, child: Child, message: Message) -> tuple[Task, Numbers]:
        """The oldest task of a child, and the offsets of the samples at which it failed.

        Raises:
            StreamGarbled: it has no such task.
        """
        numbers = message.numbers()
        if not child.tasks or len(numbers) < len(STAGES):
            raise StreamGarbled("A worker is done with what it was not told to do.")
        task, failed = child.done(message.second), numbers[len(STAGES) :]
        if len(failed) and not (failed.min() >= 0 and failed.max() < len(task.slots)):
            raise StreamGarbled("A worker failed at samples that it was not given.")
        self.spent(numbers[: len(STAGES)] / 1e9, len(task.slots))
        return task, failed

    def spent(self, seconds: NDArray[np.float64], samples: int) -> None:
        """A child spent so many seconds on each stage of a task. [stage]"""
        self.seconds += seconds
        self.prepared += samples

    @property
    def each(self) -> float:
        """Seconds in which all of them together make a sample; 0 until it is known."""
        return self._lasts / self.size

    def chunk(self) -> int:
        """Samples of the next task of a worker."""
        return max(1, int(min(MOST, LASTS / self._lasts))) if self._lasts else FIRST

    def soon(self, slots: int) -> int:
        """Samples for which a feeder gets slots, of an arena of so many."""
        return int(min(slots // AHEAD_SHARE, SOON / self._lasts)) if self._lasts else 1

    @property
    def _lasts(self) -> float:
        """Seconds that one of them takes for a sample; 0 until it is known."""
        if not self.prepared:
            return 0.0
        return max(1e-9, float(self.seconds[: STAGES.index("cpu")].sum()) / self.prepared)

    def drop_tasks(self) -> None:
        """Nothing of what children have still to do is wanted."""
        for child in self.children.values():
            child.tasks.clear()

    @property
    def busy(self) -> bool:
        """Whether anybody works, or will as soon as there is a process."""
        return self.missing > 0 or any(child.tasks for child in self.children.values())

    def stats(self) -> dict[str, object]:
        """What they have done so far."""
        return {
            "worker_seconds": dict(zip(STAGES, self.seconds.tolist(), strict=True)),
            "prepared": self.prepared,
            "workers": self.size,
            "restarts": self.restarts,
        }

    def end(self) -> None:
        """Kill all children."""
        for child in list(self.children.values()):
            self.bury(child)
        if self._zygote is not None:
            self._zygote.end()
