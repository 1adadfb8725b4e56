"""Until when running jobs hold nodes, by their time limits, and how a job can lie on nodes.

Switches: under which of a tree a job's nodes lie.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, islice
from math import inf
from operator import attrgetter
from typing import NamedTuple

from foretrain.cluster.device import Switch
from foretrain.cluster.mixed import Fleet
from foretrain.errors import InputError
from foretrain.jobs.active import Active, HeldDevices, Progress, RateStretch, believed
from foretrain.jobs.nodes import NodePool, NodeRoom, nodes_of
from foretrain.jobs.slurm_queue import Need, Pending
from foretrain.measured.site import SiteRules, node_set

LISTED = 5
"""Nodes that an error names."""


class Wanted(NamedTuple):
    """What a job wants of single nodes.

    Attributes:
        devices: of each.
        nodes: among which they must be, as a set.
    """

    devices: int
    nodes: int


class NodeLayout(NamedTuple):
    """How a job lies on nodes of one kind.

    Attributes:
        whole: nodes that it fills.
        full: what it wants of these.
        part: what it wants of one node more; None where it has whole nodes alone.
    """

    whole: int
    full: Wanted
    part: Wanted | None

    @property
    def wants(self) -> list[tuple[Wanted, int]]:
        """What it wants of how many nodes: whole nodes will do for the part too."""
        full = [(self.full, self.whole)] if self.whole else []
        return [*full, (self.part, self.whole + 1)] if self.part else full


class Horizon:
    """Until when running jobs hold nodes, by their time limits.

    Attributes:
        free: devices of each node now; below 0 where a node is not there.
    """

    def __init__(self, fleet: Fleet) -> None:
        """Nobody runs."""
        self._fleet = fleet
        self._count = sum(group.count for group in fleet.nodes)
        self.free = [-1] * self._count
        self._ends: list[list[tuple[float, int]]] = [[] for _ in self.free]
        self._running: dict[int, tuple[float, Sequence[tuple[int, int]]]] = {}
        self._ready: dict[Wanted, dict[int, float]] = {}
        self._order: dict[Wanted, list[tuple[float, int]]] = {}
        self._stale: set[int] = set()
        self._layouts: dict[tuple[Need, bool], Sequence[NodeLayout]] = {}

    def hold(self, rank: int, held: HeldDevices | None, ends: float) -> None:
        """A job has started, or keeps its devices while it is suspended.

        Args:
            rank: of the job.
            held: its devices.
            ends: when it must end.
        """
        places = held.places if held else ()
        self._running[rank] = (ends, places)
        for node, devices in places:
            insort(self._ends[node], (ends, devices))
            self._stale.add(node)

    def leave(self, rank: int) -> None:
        """It holds nothing any more.

        Args:
            rank: of the job.
        """
        ends, places = self._running.pop(rank)
        for node, devices in places:
            self._ends[node].remove((ends, devices))
            self._stale.add(node)

    def see(self, rooms: Iterable[NodeRoom]) -> None:
        """Take note of what is free now.

        Args:
            rooms: the nodes of each kind.
        """
        before, self.free = self.free, [-1] * self._count
        for room in rooms:
            for node, free in room.free.items():
                self.free[node] = free
        if self.free != before:
            pairs = enumerate(zip(before, self.free, strict=True))
            self._stale.update(node for node, (was, free) in pairs if was != free)
        for wanted, ready in self._ready.items():
            order = self._order[wanted]
            for node in self._stale & ready.keys():
                when = self._when(node, wanted.devices)
                if when != ready[node]:
                    del order[bisect_left(order, (ready[node], node))]
                    insort(order, (when, node))
                    ready[node] = when
        self._stale.clear()

    def ready(self, wanted: Wanted) -> dict[int, float]:
        """When nodes have what is wanted: infinite for never, below 0 for now.

        Args:
            wanted: of one node.
        """
        if wanted not in self._ready:
            ready = {each: self._when(each, wanted.devices) for each in nodes_of(wanted.nodes)}
            self._ready[wanted] = ready
            self._order[wanted] = sorted((when, node) for node, when in ready.items())
        return self._ready[wanted]

    def order(self, wanted: Wanted) -> list[tuple[float, int]]:
        """The same, the soonest first, each with its node.

        Args:
            wanted: of one node.
        """
        self.ready(wanted)
        return self._order[wanted]

    def layouts(self, pending: Pending) -> Sequence[NodeLayout]:
        """How a job can lie, for each kind of nodes that it may use.

        Args:
            pending: the job.
        """
        key = (pending.need, pending.partition.exclusive)
        if key not in self._layouts:
            self._layouts[key] = tuple(self._laid(pending))
        return self._layouts[key]

    def _laid(self, pending: Pending) -> Iterator[NodeLayout]:
        job, first = pending.active.job, 0
        for group in self._fleet.nodes:
            nodes = pending.nodes & ((1 << group.count) - 1) << first
            first += group.count
            whole, rest = divmod(job.devices, group.devices)
            if pending.partition.exclusive and rest:
                whole, rest = whole + 1, 0
            kind = not job.kinds or group.kind in job.kinds
            if kind and whole + (rest > 0) <= nodes.bit_count():
                part = Wanted(rest, nodes) if rest else None
                yield NodeLayout(whole, Wanted(group.devices, nodes), part)

    def _when(self, node: int, devices: int) -> float:
        free = self.free[node]
        if free >= devices:
            return -inf
        if free >= 0:
            for ends, held in self._ends[node]:
                free += held
                if free >= devices:
                    return ends
        return inf


class NodeChoice(NamedTuple):
    """Nodes that a job could use, as sets.

    Attributes:
        full: that it could fill.
        part: that have enough for the rest of it, those that it could fill among them.
        whole: how many it fills.
        rest: whether it wants one more, for the rest.
    """

    full: int
    part: int
    whole: int
    rest: bool

    def among(self, nodes: int) -> NodeChoice:
        """Those of some nodes."""
        return self._replace(full=self.full & nodes, part=self.part & nodes)

    @property
    def enough(self) -> bool:
        """Whether the job fits on them."""
        full = self.full.bit_count()
        return full >= self.whole and (not self.rest or self.part.bit_count() > self.whole)

    @property
    def usable(self) -> int:
        """How many nodes there are."""
        return (self.part if self.rest else self.full).bit_count()


USABLE: Callable[[NodeChoice], int] = attrgetter("usable")


def _full(choice: NodeChoice) -> int:
    return choice.full.bit_count()


class SwitchTree:
    """The tree of switches between nodes.

    A job is placed under the lowest switch under which it fits, of several under the one with the
    fewest nodes that it could use; there the leaf with the fewest nodes on which the rest of it
    fits is taken, or else the one with most of them, until all of it has a place.

    Source: slurm, topology.html and topology.conf(5): the lowest switch that will do, then leaves
    by best fit.

    Attributes:
        tops: the largest sets of nodes that one switch connects.
    """

    def __init__(self, switches: Sequence[Switch], count: int) -> None:
        """The tree.

        Args:
            switches: leaves before those above them.
            count: of all nodes.

        Raises:
            InputError: a node is under no leaf or under two.
        """
        nodes: dict[str, int] = {}
        levels: dict[str, int] = {}
        leaves, seen = list[int](), 0
        for each in switches:
            if each.switches:
                levels[each.name] = 1 + max(levels[other] for other in each.switches)
                nodes[each.name] = sum(nodes[other] for other in each.switches)
                continue
            mine = node_set(each.nodes, count)
            if mine & seen:
                twice = ", ".join(str(node) for node in nodes_of(mine & seen))
                raise InputError(f"site.switches: nodes {twice} are under two leaf switches.")
            seen |= mine
            levels[each.name], nodes[each.name] = 0, mine
            leaves.append(mine)
        if left := ((1 << count) - 1) & ~seen:
            some = ", ".join(str(node) for node in islice(nodes_of(left), LISTED))
            raise InputError(
                f"site.switches: {left.bit_count()} nodes are under no leaf switch, such as {some}."
                " Add them to one."
            )
        under = {other for each in switches for other in each.switches}
        self.tops = tuple(nodes[name] for name in nodes if name not in under)
        self._leaves = tuple(leaves)
        order = sorted(nodes, key=lambda name: levels[name])
        self._levels = [
            [nodes[name] for name in some]
            for _, some in groupby(order, key=lambda name: levels[name])
        ]

    def spans(self, nodes: int) -> int:
        """Under how many leaf switches some nodes are."""
        return sum(leaf & nodes != 0 for leaf in self._leaves)

    def choose(self, choice: NodeChoice, fullest: Callable[[int], int]) -> int:
        """The nodes of a job, as a set; 0 where no switch has enough.

        Args:
            choice: the nodes that it could use.
            fullest: of a set of nodes, the one for the rest.
        """
        for level in self._levels:
            fit = [some for some in map(choice.among, level) if some.enough]
            if fit:
                return self._on_leaves(min(fit, key=USABLE), fullest)
        return 0

    def _on_leaves(self, choice: NodeChoice, fullest: Callable[[int], int]) -> int:
        """The nodes of a job under one switch, leaf by leaf."""
        chosen, left = 0, choice
        while left.whole or left.rest:
            leaves = [left.among(leaf) for leaf in self._leaves]
            fit = [some for some in leaves if some.enough]
            leaf = min(fit, key=USABLE) if fit else max(leaves, key=_full)
            mine, rest = _first(leaf.full, left.whole), bool(fit) and left.rest
            left = left._replace(whole=left.whole - mine.bit_count())
            if rest:
                mine |= 1 << fullest(leaf.part & ~mine)
            chosen |= mine
            left = left.among(~mine)._replace(rest=left.rest and not rest)
        return chosen


def progress_of(site: SiteRules, fleet: Fleet) -> Progress:
    """How quickly jobs go: slower under several leaf switches, where a site says so.

    Args:
        site: the rules.
        fleet: the nodes.
    """
    if site.across == 1.0:
        return believed
    tree = SwitchTree(site.switches, sum(each.count for each in fleet.nodes))

    def goes(active: Active, held: HeldDevices) -> RateStretch:
        stretch = believed(active, held)
        several = tree.spans(sum(1 << node for node, _ in held.places)) > 1
        return stretch._replace(rate=site.across * stretch.rate) if several else stretch

    return goes


def under_switches(tree: SwitchTree, pool: NodePool, pending: Pending, *, among: int) -> int:
    """The nodes on which a tree of switches lets a job start now, as a set; 0 for none.

    Args:
        tree: of the switches.
        pool: of all devices.
        pending: the job.
        among: nodes on which it may start.
    """
    job = pending.active.job
    for room in pool.rooms:
        if job.kinds and room.group.kind not in job.kinds:
            continue
        whole, rest = divmod(job.devices, room.group.devices)
        if pending.partition.exclusive and rest:
            whole, rest = whole + 1, 0
        enough = sum(room.by_free[rest:]) if rest else 0  # disjoint sets
        choice = NodeChoice(room.by_free[-1] & among, enough & among, whole, rest > 0)
        by_free = room.by_free

        def fullest(nodes: int, *, least: int = rest, sets: list[int] = by_free) -> int:
            return next(_least(some & nodes) for some in sets[least:] if some & nodes)

        if found := tree.choose(choice, fullest):
            return found
    return 0


def _least(nodes: int) -> int:
    return (nodes & -nodes).bit_length() - 1


def _first(nodes: int, count: int) -> int:
    """The first of some nodes, as a set."""
    return sum(1 << node for node in islice(nodes_of(nodes), count))
