"""Slurm's backfill: a planned slot of whole nodes for every job, in the order of priority.

A plan is made afresh in every cycle from who runs until when, by time limits, and from the slots of
jobs before. Nothing is promised: the next cycle may plan otherwise, and devices that are free start
whoever is first. With a slot for the first job of each partition alone it is EASY backfilling, with
slots for all of them conservative backfilling.

Source: slurm, src/plugins/sched/backfill/backfill.c and slurm.conf(5); re-implemented from the
rules.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate, pairwise
from math import floor, inf
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foretrain.jobs.active import Active
from foretrain.jobs.slurm_queue import Pending
from foretrain.measured.site import BackfillRules, Closed, node_set

Flags = NDArray[np.bool_]
"""Of every node."""

Moments = NDArray[np.float64]
"""Of every node, or of some: seconds since the trace began."""


FEW = 32
"""Slots for which a cycle begins with room."""


class RunningJob(NamedTuple):
    """A job that runs.

    Attributes:
        ends: when, by its time limit.
        active: the job.
    """

    ends: float
    active: Active


class Slot(NamedTuple):
    """Where a job is planned.

    Attributes:
        start: seconds since the trace began.
        nodes: of the job.
    """

    start: float
    nodes: Flags


class SlotMap:
    """Nodes over time: who runs until when, when nodes are closed, and the slots of a cycle."""

    def __init__(
        self, free: Mapping[int, int], sizes: Mapping[int, int], running: Iterable[RunningJob]
    ) -> None:
        """A map without slots.

        Args:
            free: devices of each node that is there, by number.
            sizes: devices of each node, all of them.
            running: jobs that hold devices.
        """
        self._count = len(sizes)
        self._free = dict(free)
        self._sizes = np.array([sizes[node] for node in range(self._count)])
        self._ends: dict[int, list[tuple[float, int]]] = {}
        for ends, active in running:
            for node, devices in active.held.places if active.held else ():
                self._ends.setdefault(node, []).append((ends, devices))
        self._ready: dict[int, Moments] = {}
        self._slots: list[tuple[float, float]] = []
        self._bounds = np.zeros((FEW, 2))
        self._blocked = np.zeros((FEW, self._count), dtype=bool)
        self._known: dict[tuple[int, int, bool], list[tuple[float, float]]] = {}

    def start(self, active: Active, ends: float) -> None:
        """A job has started in this cycle.

        Args:
            active: the job.
            ends: when it ends, by its time limit.
        """
        for node, devices in active.held.places if active.held else ():
            self._free[node] -= devices
            self._ends.setdefault(node, []).append((ends, devices))
        self._ready.clear()

    def block(self, begin: float, end: float, nodes: Flags) -> None:
        """Keep nodes for a job.

        Args:
            begin: of the slot.
            end: of it.
            nodes: that are kept.
        """
        count = len(self._slots)
        if count == len(self._bounds):
            self._bounds = np.concatenate([self._bounds, np.zeros_like(self._bounds)])
            self._blocked = np.concatenate([self._blocked, np.zeros_like(self._blocked)])
        self._bounds[count] = begin, end
        self._blocked[count] = nodes
        self._slots.append((begin, end))

    def earliest(self, pending: Pending, now: float, closed: Iterable[Closed]) -> Slot | None:
        """The first time at which a job has nodes for all of its limit; None where there is none.

        Args:
            pending: the job.
            now: when it may start at the earliest.
            closed: when nodes are kept free.
        """
        allowed = flags(pending.nodes, self._count)
        shut = [
            (each.start, each.end, flags(node_set(each.nodes, self._count), self._count))
            for each in closed
        ]

        def usable(start: float) -> Flags:
            nodes = allowed & ~self._taken(start, start + pending.limit)
            for begin, end, kept in shut:
                if begin < start + pending.limit and end > start:
                    nodes &= ~kept
            return nodes

        # Not before running jobs leave enough, nor before a job that needs as much for no longer.
        soonest = self._placed(pending, now, allowed)
        if soonest is None:
            return None
        first = max(soonest.start, self._not_before(pending))
        ends = {*(end for _, end in self._slots), *(end for _, end, _ in shut)}
        starts = [first, *sorted(end for end in ends if end > first), inf]
        slots = (self._from(pending, between, usable) for between in pairwise(starts))
        found = next((slot for slot in slots if slot), None)
        self._note(pending, found.start if found else inf)
        return found

    def _not_before(self, pending: Pending) -> float:
        """The latest start of jobs before that need as much, for as long at most.

        Slots are only added in a cycle, so that a job that needs as much for longer starts no
        sooner.
        """
        stairs = self._known.get(_need(pending), [])
        place = bisect_right(stairs, pending.limit, key=itemgetter(0))
        return stairs[place - 1][1] if place else 0.0

    def _note(self, pending: Pending, start: float) -> None:
        """Keep limits and starts that both ascend: others say nothing new."""
        stairs = self._known.setdefault(_need(pending), [])
        place = bisect_left(stairs, pending.limit, key=itemgetter(0))
        if place and stairs[place - 1][1] >= start:
            return
        last = place
        while last < len(stairs) and stairs[last][1] <= start:
            last += 1
        stairs[place:last] = [(pending.limit, start)]

    def _from(
        self,
        pending: Pending,
        between: tuple[float, float],
        usable: Callable[[float], Flags],
    ) -> Slot | None:
        """A slot that begins from a time on and before a later one."""
        start, later = between
        while start < later:
            found = self._placed(pending, start, usable(start))
            if found is None or found.start >= later:
                return None
            if found.start == start:
                return found
            start = found.start  # running jobs must end first: is the slot free from then on?
        return None

    def _taken(self, start: float, end: float) -> Flags:
        """Nodes that others keep at some time from a start to an end, the end included."""
        count = len(self._slots)
        bounds = self._bounds[:count]
        there = (bounds[:, 0] <= end) & (bounds[:, 1] > start)
        taken: Flags = np.logical_or.reduce(self._blocked[:count][there], axis=0)
        return taken

    def _placed(self, pending: Pending, start: float, usable: Flags) -> Slot | None:
        """Where a job lies at the first time at which running jobs leave it enough."""
        devices = pending.active.job.devices
        nodes = np.flatnonzero(usable)
        if not len(nodes):
            return None
        size = int(self._sizes[nodes].max())
        whole, rest = divmod(devices, size)
        if pending.partition.exclusive and rest:
            whole, rest = whole + 1, 0
        if whole + (rest > 0) > len(nodes):
            return None
        full = np.maximum(self._when(size)[nodes], start)
        part = np.maximum(self._when(rest)[nodes], start)
        # Whole nodes are ready for the rest too: one more than they must be.
        moment = max(
            float(np.partition(full, whole - 1)[whole - 1]) if whole else start,
            float(np.partition(part, whole)[whole]) if rest else start,
        )
        if moment == inf:
            return None
        chosen = np.zeros(self._count, dtype=bool)
        chosen[nodes[full <= moment][:whole]] = True
        if rest:
            # The fullest node that has enough now, or else by then.
            others = nodes[(part <= moment) & ~chosen[nodes]].tolist()
            chosen[min(others, key=lambda node: self._fullness(node, rest))] = True
        return Slot(moment, chosen)

    def _fullness(self, node: int, rest: int) -> tuple[bool, int, int]:
        free = self._free.get(node, 0)
        return (free < rest, free, node)

    def _when(self, devices: int) -> Moments:
        """When each node has so many free devices, by the limits of those that run."""
        known = self._ready.get(devices)
        if known is not None:
            return known
        ready = np.full(self._count, inf)
        for node, free in self._free.items():
            running = sorted(self._ends.get(node, ()))
            moments = (0.0, *(ends for ends, _ in running))
            levels = accumulate((held for _, held in running), initial=free)
            enough = (ends for ends, level in zip(moments, levels, strict=True) if level >= devices)
            ready[node] = next(enough, inf)
        self._ready[devices] = ready
        return ready


def _need(pending: Pending) -> tuple[int, int, bool]:
    return pending.active.job.devices, pending.nodes, pending.partition.exclusive


def flags(nodes: int, count: int) -> Flags:
    """A set of nodes as a flag for each.

    Args:
        nodes: the set, as a whole number of which their bits are 1.
        count: of all nodes.
    """
    text = nodes.to_bytes((count + 7) // 8, "little")
    return np.unpackbits(np.frombuffer(text, np.uint8), count=count, bitorder="little").astype(bool)


def set_of(chosen: Flags) -> int:
    """Flags as a set of nodes.

    Args:
        chosen: a flag for each node.
    """
    return int.from_bytes(np.packbits(chosen, bitorder="little").tobytes(), "little")


class Cycle:
    """One cycle of backfilling: who starts now, and what is planned for the others.

    Attributes:
        planned: when each job is planned to start, by its rank; those without a plan are left out.
    """

    def __init__(self, slots: SlotMap, rules: BackfillRules, *, closed: Iterable[Closed]) -> None:
        self.planned: dict[int, float] = {}
        self._slots = slots
        self._rules = rules
        self._closed = tuple(closed)
        self._reserved: Counter[str] = Counter()
        self._looked: Counter[str] = Counter()

    def look(self, pending: Pending, now: float, *, may_start: bool = True) -> Slot | None:
        """The slot of the next job in the order; None where it has none.

        Args:
            pending: the job.
            now: seconds since the trace began.
            may_start: whether there is room for it now; where not and it may hold no slot either,
                none is looked for.

        A slot in the future is kept from those that are looked at later, unless it begins beyond
        the window or its partition has as many slots as it may.
        """
        user = pending.active.job.user
        self._looked[user] += 1
        if self._rules.per_user and self._looked[user] > self._rules.per_user:
            return None
        if not may_start and not self._may_keep(pending):
            return None
        slot = self._slots.earliest(pending, now, self._closed)
        if slot is None:
            return None
        self.planned[pending.active.rank] = slot.start
        if slot.start > now:
            self.keep(pending, slot, now)
        return slot

    def keep(self, pending: Pending, slot: Slot, now: float) -> None:
        """Keep a slot, if it may be kept.

        Args:
            pending: the job.
            slot: where it is planned.
            now: seconds since the trace began.
        """
        rules = self._rules
        if slot.start > now + rules.window or not self._may_keep(pending):
            return
        self._reserved[pending.partition.name] += 1
        grid = rules.resolution
        begin = floor(slot.start / grid) * grid
        end = max(begin + grid, -floor(-(slot.start + pending.limit) / grid) * grid)
        self._slots.block(begin, end, slot.nodes)

    def _may_keep(self, pending: Pending) -> bool:
        """Whether a future slot of a job may be kept at all."""
        most = self._rules.reserves
        room = not most or self._reserved[pending.partition.name] < most
        return room and pending.qos.reserves
