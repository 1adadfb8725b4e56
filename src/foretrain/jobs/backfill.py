"""EASY backfilling: the first jobs have a reservation, others may pass if they do not touch it.

Waiting jobs of equal needs stand in one line. Of a line only the first can be the next to pass: the
first of all where it would run on beside the reserved devices, else the first that is short enough.
So a decision looks at lines and not at jobs, however many wait.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping
from math import inf

from foretrain.jobs.active import (
    Active,
    HeldDevices,
    Pool,
)
from foretrain.jobs.limits import Lane
from foretrain.jobs.mix import pace
from foretrain.jobs.simulation import Simulation

Need = tuple[int, tuple[str, ...], Lane]
"""Devices, kinds and limits of a job."""

Place = tuple[int, Active]
"""Rank and job: who came first stands first."""

BLOCK = 64
"""Jobs of a line whose least length is kept; a look at a line costs about as much, or less."""


class WaitingLine:
    """Waiting jobs of equal needs by arrival, in blocks of which the shortest job is known."""

    def __init__(self) -> None:
        self._blocks: list[list[tuple[int, float, Active]]] = []
        self._least: list[float] = []

    def __len__(self) -> int:
        """Blocks of jobs that wait."""
        return len(self._blocks)

    def add(self, active: Active) -> None:
        """A job waits."""
        entry = (active.rank, said(active), active)
        blocks = self._blocks
        if not blocks:
            blocks.append([entry])
            self._least.append(entry[1])
            return
        place = bisect_left(blocks, active.rank, key=lambda block: block[-1][0])
        place = min(place, len(blocks) - 1)
        block = blocks[place]
        insort(block, entry)
        self._least[place] = min(self._least[place], entry[1])
        if len(block) > 2 * BLOCK:
            blocks[place : place + 1] = [block[:BLOCK], block[BLOCK:]]
            parts = (block[:BLOCK], block[BLOCK:])
            self._least[place : place + 1] = [min(each[1] for each in part) for part in parts]

    def remove(self, active: Active) -> None:
        """A job waits no longer."""
        blocks = self._blocks
        place = bisect_left(blocks, active.rank, key=lambda block: block[-1][0])
        block = blocks[place]
        _, seconds, _ = block.pop(bisect_left(block, (active.rank,)))
        if not block:
            del blocks[place], self._least[place]
        elif seconds == self._least[place]:
            self._least[place] = min(each[1] for each in block)

    def head(self) -> Active:
        """The first job of all; a line that has none is not kept."""
        return self._blocks[0][0][2]

    def first(self, *, after: int = -1, longest: float = inf) -> Active | None:
        """The first job after a rank that takes so many seconds at most; None where none does."""
        blocks = self._blocks
        place = bisect_left(blocks, after + 1, key=lambda block: block[-1][0])
        for at in range(place, len(blocks)):
            if self._least[at] <= longest:
                for rank, seconds, active in blocks[at]:
                    if rank > after and seconds <= longest:
                        return active
        return None


class Reservation:
    """When the first job that waits can start, and what will then be free.

    Attributes:
        head: the job.
        moment: when, by what users said, enough will have been given back.
        tied: whether one that has started since ends at that very moment. Of those that end
            together the first that are enough are waited for, so that who comes next counts anew.
        then: the pool at that moment, as far as is known: what is free now and what those that end
            until then hold; the head's own part is not taken.
    """

    def __init__(self, head: Active, pool: Pool, running: Iterable[tuple[float, Active]]) -> None:
        """The reservation of a job, from what is free and who ends when."""
        self.head = head
        self.moment = inf
        self.tied = False
        self.then = pool.copy()
        self._ending: set[int] = set()
        self._last = -1
        # Nobody asks who ends after those that are enough.
        asked: list[tuple[float, Active]] = []

        def held() -> Iterator[HeldDevices]:
            for entry in running:
                if entry[1].held:
                    asked.append(entry)
                    yield entry[1].held

        count = pool.enough(head.job.devices, head.job.kinds, held())
        for ends, active in asked[:count] if count else ():
            assert active.held is not None, "who runs holds devices"
            self.then.give(active.held)
            self._ending.add(active.rank)
            self.moment, self._last = ends, active.rank

    def start(self, active: Active, *, ends: float) -> None:
        """Another job has started; it ends until the moment, or runs on."""
        if ends <= self.moment:
            self._ending.add(active.rank)
            self.tied |= ends == self.moment
        elif active.held is not None:
            self.then.remove(active.held)

    def outlives(self, active: Active) -> bool:
        """Whether it holds though a job has ended: that was known, and others are waited for."""
        return active.rank in self._ending and active.rank != self._last


class BackfillDispatcher:
    """EASY backfilling: a later job may start if the first that waits is not delayed.

    The first job that does not fit gets a reservation: the moment when, by what users said, jobs
    that run will have given enough devices back. Another may start if it ends before or leaves
    enough devices at that moment. Without an estimate a job is taken to do all of its work; one
    that runs longer than was said counts as about to end.

    Source: lifka1995; mualem2001, section 2.
    """

    def __init__(self) -> None:
        self._lines: dict[Need, WaitingLine] = {}
        self._running: list[tuple[float, int, Active]] = []
        self._reserved: Reservation | None = None
        self._down: Mapping[str, int] | None = None

    def arrive(self, active: Active, simulation: Simulation) -> None:
        """A job has come: it waits, before all that came after it even if it comes again."""
        self._lines.setdefault(_need(active, simulation), WaitingLine()).add(active)

    def leave(self, active: Active, simulation: Simulation) -> None:
        """A job has ended, or lost its node."""
        assert active.begun is not None, "only who runs leaves"
        del self._running[bisect_left(self._running, (active.begun + said(active), active.rank))]
        if self._reserved and not self._reserved.outlives(active):
            self._reserved = None

    def decide(self, simulation: Simulation) -> None:
        """Start jobs in the order of arrival, then those that may pass the first that waits."""
        barred: set[Need] = set()
        while (head := self._head(barred)) is not None:
            if self._start(head, simulation):
                continue
            limits = simulation.limits
            if limits.bind and not limits.allow(head, head.job.devices):
                barred.add(_need(head, simulation))
                continue
            self._backfill(head, barred, simulation)
            break

    def _head(self, barred: set[Need]) -> Active | None:
        first: Active | None = None
        for need, line in self._lines.items():
            if need not in barred:
                head = line.head()
                if first is None or head.rank < first.rank:
                    first = head
        return first

    def _backfill(self, head: Active, barred: set[Need], simulation: Simulation) -> None:
        """Start later jobs that do not delay the first, in their order."""
        pool = simulation.pool
        open_lines = [
            need
            for need in self._lines
            if need not in barred and pool.free(need[1]) >= need[0] and pool.has(*need[:2])
        ]
        if not open_lines:
            return
        reserved = self._reservation(head, simulation)
        after = head
        while (found := self._next(open_lines, after, simulation)) is not None:
            after = found
            if self._start(found, simulation):
                reserved.start(found, ends=simulation.now + said(found))
                open_lines = [need for need in open_lines if pool.has(*need[:2])]
            else:
                open_lines.remove(_need(found, simulation))  # a limit keeps all of them

    def _next(self, needs: list[Need], after: Active, simulation: Simulation) -> Active | None:
        """The first job after another that may pass."""
        reserved = self._reserved
        assert reserved is not None, "nobody passes but a reservation"
        soon_enough = reserved.moment - simulation.now
        found = []
        for need in needs:
            line = self._lines.get(need)
            if line is not None:
                longest = inf if self._leaves(need, reserved, simulation.pool) else soon_enough
                found.append(line.first(after=after.rank, longest=longest))
        return min((each for each in found if each), key=lambda active: active.rank, default=None)

    def _leaves(self, need: Need, reserved: Reservation, pool: Pool) -> bool:
        """Whether the first job would still start in time beside one that runs on."""
        held = pool.take(*need[:2])
        if held is None:
            return False
        pool.give(held)
        reserved.then.remove(held)
        leaves = reserved.then.has(reserved.head.job.devices, reserved.head.job.kinds)
        reserved.then.give(held)
        return leaves

    def _reservation(self, head: Active, simulation: Simulation) -> Reservation:
        """That of the first job that waits: as it was, if nothing has changed it."""
        reserved, down = self._reserved, self._down
        self._down = simulation.pool.down
        if (
            reserved
            and reserved.head is head
            and reserved.moment > simulation.now
            and not reserved.tied
            and down is self._down
        ):
            return reserved
        self._reserved = Reservation(head, simulation.pool, self._by_end(simulation.now))
        return self._reserved

    def _by_end(self, now: float) -> Iterator[tuple[float, Active]]:
        """Running jobs by the end that was said; those that are beyond it, by arrival."""
        late = bisect_left(self._running, (now, inf))
        yield from ((now, active) for _, _, active in sorted(self._running[:late], key=_rank))
        for place in range(late, len(self._running)):
            ends, _, active = self._running[place]
            yield ends, active

    def _start(self, active: Active, simulation: Simulation) -> bool:
        if not simulation.start(active, active.job.devices, active.job.kinds):
            return False
        need = _need(active, simulation)
        line = self._lines[need]
        line.remove(active)
        if not len(line):
            del self._lines[need]
        assert active.begun is not None, "who starts has begun"
        insort(self._running, (active.begun + said(active), active.rank, active))
        return True


def _rank(entry: tuple[float, int, Active]) -> int:
    return entry[1]


def _need(active: Active, simulation: Simulation) -> Need:
    job = active.job
    return job.devices, job.kinds, simulation.limits.lane(job) if simulation.limits.bind else ()


def said(active: Active) -> float:
    """Seconds that a job takes on the devices that it asks for, as its user or its work says.

    Args:
        active: the job.
    """
    job = active.job
    return job.start + job.work / pace(job) if job.estimate is None else job.estimate
