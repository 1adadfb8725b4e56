"""Slurm's backfill: a planned slot of whole nodes for every job, in the order of priority.

A plan is made afresh in every cycle from who runs until when, by time limits, and from the slots of
jobs before. Nothing is promised: the next cycle may plan otherwise, and devices that are free start
whoever is first. With a slot for the first job of each partition alone it is EASY backfilling, with
slots for all of them conservative backfilling.

Source: slurm, src/plugins/sched/backfill/backfill.c and slurm.conf(5); re-implemented from the
rules.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush, merge
from itertools import groupby
from math import floor, inf, nextafter
from operator import itemgetter
from typing import NamedTuple

from foretrain.jobs.active import SwitchWish
from foretrain.jobs.nodes import nodes_of
from foretrain.jobs.slurm_horizon import Horizon, NodeChoice, NodeLayout, SwitchTree, Wanted
from foretrain.jobs.slurm_queue import Pending
from foretrain.measured.site import BackfillRules, Closed, node_set


class Slot(NamedTuple):
    """Where a job is planned.

    Attributes:
        start: seconds since the trace began.
        nodes: of the job, by number.
    """

    start: float
    nodes: Sequence[int]


class Gap:
    """A while in which nobody has a slot on a node, and it is not closed.

    Attributes:
        node: its number.
        begin: from when on, in seconds since the trace began.
        end: whoever ends before it may lie there.
    """

    __slots__ = ("begin", "end", "node")

    def __init__(self, node: int, begin: float, end: float) -> None:
        self.node = node
        self.begin = begin
        self.end = end


Opening = tuple[float, int, float, Gap]
"""From when on a gap has what is wanted; its node, its begin, and the gap itself."""


class SlotMap:
    """Nodes over time: who runs until when, when nodes are closed, and the slots of a cycle.

    A node without slots is its place in the horizon; of one with slots the gaps are kept.
    """

    def __init__(
        self,
        horizon: Horizon,
        closed: Iterable[Closed],
        *,
        now: float,
        tree: SwitchTree | None = None,
    ) -> None:
        """A map without slots.

        Args:
            horizon: until when running jobs hold nodes.
            closed: when nodes are kept free.
            now: when the cycle begins.
            tree: of switches; None where all nodes are alike.
        """
        self._horizon = horizon
        self._tree = tree
        self._now = now
        self._gaps: dict[int, list[Gap]] = {}
        self._openings: dict[Wanted, list[Opening]] = {}
        self._passed: Counter[Wanted] = Counter()
        self._latest: dict[Wanted, float] = {}
        self._stairs: dict[Wanted, list[tuple[float, float]]] = {}
        count = len(horizon.free)
        for each in closed:
            if each.end > now:
                # Whoever ends just when it begins is still let in.
                self.block(
                    nextafter(each.start, inf), each.end, nodes_of(node_set(each.nodes, count))
                )

    def refresh(self) -> None:
        """Somebody has started."""
        self._openings.clear()
        self._passed.clear()
        self._latest.clear()
        self._stairs.clear()

    def block(self, begin: float, end: float, nodes: Iterable[int]) -> None:
        """Keep nodes for a job.

        Args:
            begin: of the slot.
            end: of it.
            nodes: that are kept.
        """
        for node in nodes:
            gaps = self._gaps.get(node)
            if gaps is None:
                gaps = self._gaps[node] = []
                self._add(gaps, Gap(node, -inf, inf))
            for gap in tuple(gaps):
                last = gap.end
                if last <= begin or gap.begin >= end:
                    continue
                gap.end = begin
                if gap.begin >= begin:
                    gaps.remove(gap)
                    gap.end = -inf
                if last > end:
                    self._add(gaps, Gap(node, end, last))
        self._latest.clear()

    def _add(self, gaps: list[Gap], gap: Gap) -> None:
        gaps.append(gap)
        for wanted, openings in self._openings.items():
            if wanted.nodes >> gap.node & 1:
                insort(openings, self._opening(gap, wanted))

    def _opening(self, gap: Gap, wanted: Wanted) -> Opening:
        ready = self._clear(self._horizon.ready(wanted)[gap.node])
        return max(gap.begin, ready), gap.node, gap.begin, gap

    def _clear(self, ready: float) -> float:
        """When a node is ready at the earliest: who is beyond its limit is about to end."""
        return self._now if ready == -inf else max(ready, self._now + 1.0)

    def _of(self, wanted: Wanted) -> list[Opening]:
        """The gaps on nodes with slots, in the order in which they have what is wanted."""
        found = self._openings.get(wanted)
        if found is None:
            nodes = wanted.nodes
            mine = (gap for node, gaps in self._gaps.items() if nodes >> node & 1 for gap in gaps)
            found = self._openings[wanted] = sorted(self._opening(gap, wanted) for gap in mine)
        return found

    def _whole(self, wanted: Wanted) -> Iterator[tuple[float, int]]:
        """When nodes without slots have what is wanted, the soonest first."""
        order, taken = self._horizon.order(wanted), self._gaps
        first = self._passed[wanted]
        while first < len(order) and order[first][1] in taken:
            first += 1
        self._passed[wanted] = first
        for place in range(first, len(order)):
            ready, node = order[place]
            if ready == inf:
                return
            if node not in taken:
                yield self._clear(ready), node

    def may_start(self, pending: Pending) -> bool:
        """Whether a node that a job may use has what it needs there until it would end.

        Args:
            pending: the job; where it needs several nodes, those of the others are not looked at.
        """
        ends = self._now + pending.limit
        layouts = self._horizon.layouts(pending)
        return any(self._longest(layout.wants[0][0]) > ends for layout in layouts)

    def _longest(self, wanted: Wanted) -> float:
        """Until when a node that has now what is wanted can be had."""
        if wanted not in self._latest:
            start, _ = next(self._whole(wanted), (inf, 0))
            found = inf if start <= self._now else -inf
            for opens, _, _, gap in self._of(wanted) if found < inf else ():
                if opens > self._now:
                    break
                found = max(found, gap.end)
            self._latest[wanted] = found
        return self._latest[wanted]

    def earliest(self, pending: Pending) -> Slot | None:
        """The first time at which a job has nodes for all of its limit; None where there is none.

        Args:
            pending: the job.
        """
        layouts, wish = self._horizon.layouts(pending), pending.wish
        slots = (self._first(each, pending.limit, wish) for each in layouts)
        return min((slot for slot in slots if slot), key=itemgetter(0), default=None)

    def _first(self, layout: NodeLayout, limit: float, wish: SwitchWish | None) -> Slot | None:
        """The same on nodes of one kind."""
        (wanted, count), *others = layout.wants
        if count > 1 or others:
            return self._several(layout, limit, wish)
        start, nodes = self._between_slots(wanted, limit)
        for opens, node in self._whole(wanted):
            if opens > start:
                break
            if opens < start:
                start, nodes = opens, []
            nodes.append(node)
        self._note(wanted, limit, start)
        return Slot(start, self._chosen(layout, nodes, nodes)) if nodes else None

    def _between_slots(self, wanted: Wanted, limit: float) -> tuple[float, list[int]]:
        """The first time at which a node with slots will do, and all that will do then."""
        openings, start, nodes = self._of(wanted), inf, list[int]()
        for place in range(
            bisect_left(openings, (self._not_before(wanted, limit),)), len(openings)
        ):
            opens, node, _, gap = openings[place]
            if opens > start:
                break
            if gap.end > opens + limit:
                start = opens
                nodes.append(node)
        return start, nodes

    def _not_before(self, wanted: Wanted, limit: float) -> float:
        """The latest start of jobs before that want as much, for as long at most.

        Slots are only added in a cycle, so that a job that wants as much for longer starts no
        sooner.
        """
        stairs = self._stairs.get(wanted, [])
        place = bisect_right(stairs, limit, key=itemgetter(0))
        return stairs[place - 1][1] if place else -inf

    def _note(self, wanted: Wanted, limit: float, start: float) -> None:
        """Keep limits and starts that both ascend: others say nothing new."""
        stairs = self._stairs.setdefault(wanted, [])
        place = last = bisect_right(stairs, limit, key=itemgetter(0))
        if place and stairs[place - 1][1] >= start:
            return
        while last < len(stairs) and stairs[last][1] <= start:
            last += 1
        stairs[place:last] = [(limit, start)]

    def _several(self, layout: NodeLayout, limit: float, wish: SwitchWish | None) -> Slot | None:
        """The same for a job that needs more than one node: who is free when, in turn."""
        streams = [self._stream(which, each) for which, (each, _) in enumerate(layout.wants)]
        there: list[list[tuple[float, int]]] = [[] for _ in streams]
        for start, together in groupby(merge(*streams), key=itemgetter(0)):
            for _, which, end, node in together:
                heappush(there[which], (end, node))
            for ends in there:
                while ends and ends[0][0] <= start + limit:
                    heappop(ends)
            if all(
                len(ends) >= count for ends, (_, count) in zip(there, layout.wants, strict=True)
            ):
                full, part = ([node for _, node in ends] for ends in (there[0], there[-1]))
                chosen = self._chosen(layout, full, part)
                if chosen and self._near_enough(chosen, start, wish):
                    return Slot(start, chosen)
        return None

    def _near_enough(self, nodes: Sequence[int], start: float, wish: SwitchWish | None) -> bool:
        """Whether nodes are under as few leaf switches as a job waits for until then."""
        if self._tree is None or wish is None or start >= wish.until:
            return True
        return self._tree.spans(sum(1 << node for node in nodes)) <= wish.most

    def _stream(self, which: int, wanted: Wanted) -> Iterator[tuple[float, int, float, int]]:
        """All gaps, as they open: when, for which of a job's wishes, until when, on which node."""
        kept = (
            (opens, which, gap.end, node) for opens, node, _, gap in self._of(wanted) if opens < inf
        )
        return merge(kept, ((opens, which, inf, node) for opens, node in self._whole(wanted)))

    def _chosen(
        self, layout: NodeLayout, full: Iterable[int], part: Iterable[int]
    ) -> Sequence[int]:
        """The first nodes that are free as a whole, and the fullest one for the rest.

        Where there is a tree of switches, those that it prefers; none where no switch has enough.
        """
        if self._tree is not None:
            return self._under_switches(self._tree, layout, full=full, part=part)
        chosen = sorted(full)[: layout.whole]
        if layout.part:
            # The fullest node that has enough now, or else by then.
            free, rest = self._horizon.free, layout.part.devices
            others = [(free[node] < rest, free[node], node) for node in part if node not in chosen]
            chosen.append(min(others)[-1])
        return chosen

    def _under_switches(
        self, tree: SwitchTree, layout: NodeLayout, *, full: Iterable[int], part: Iterable[int]
    ) -> Sequence[int]:
        """The nodes that a tree of switches prefers."""
        rest = layout.part.devices if layout.part else 0
        free = self._horizon.free

        def fullest(nodes: int) -> int:
            return min((free[node] < rest, free[node], node) for node in nodes_of(nodes))[-1]

        fill, hold = (sum(1 << node for node in {*some}) for some in (full, part))
        choice = NodeChoice(full=fill, part=hold, whole=layout.whole, rest=rest > 0)
        return [*nodes_of(tree.choose(choice, fullest))]


class Cycle:
    """One cycle of backfilling: who starts now, and what is planned for the others.

    Attributes:
        planned: when each job is planned to start, by its rank; those without a plan are left out.
    """

    def __init__(self, slots: SlotMap, rules: BackfillRules) -> None:
        self.planned: dict[int, float] = {}
        self._slots = slots
        self._rules = rules
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
        slot = self._slots.earliest(pending)
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
