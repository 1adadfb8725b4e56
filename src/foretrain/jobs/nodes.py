"""Nodes: pools that know on which nodes a job's devices lie.

Fragmentation: free devices that nobody who waits can use, and jobs that span nodes.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import ceil

from foretrain.cluster.mixed import Fleet, Nodes
from foretrain.jobs.active import Active, HeldDevices
from foretrain.jobs.simulation import Dispatcher, Simulation

Places = list[tuple[int, int]]
"""Nodes and how many devices on each."""

Place = Callable[["NodeRoom", int], Places]
"""Where a job's devices should lie; nothing where they must not lie so."""


class NodeRoom:
    """The nodes of one kind, by how many of their devices are free.

    Attributes:
        group: the nodes.
        first: number of the first of them; numbers go on from kind to kind.
        free: devices of each node that nobody holds, by number; none for a node that is down.
    """

    def __init__(self, group: Nodes, first: int) -> None:
        self.group = group
        self.first = first
        numbers = range(first, first + group.count)
        self.free = dict.fromkeys(numbers, group.devices)
        self.by_free: list[list[int]] = [[] for _ in range(group.devices + 1)]
        self.by_free[-1].extend(numbers)
        self.left = group.count * group.devices

    def set(self, node: int, free: int) -> None:
        """A node has another number of free devices."""
        self.drop(node)
        self.free[node] = free
        self.left += free
        insort(self.by_free[free], node)

    def drop(self, node: int) -> None:
        """A node is no longer there."""
        free = self.free.pop(node, None)
        if free is not None:
            self.left -= free
            alike = self.by_free[free]
            del alike[bisect_left(alike, node)]

    def rack(self, node: int) -> int:
        """Number of the rack of a node; all are in one where racks do not matter."""
        return (node - self.first) // self.group.rack if self.group.rack else 0

    def fullest(self, devices: int) -> int | None:
        """Of the nodes with so many free devices the first with fewest; None where none has."""
        return next((alike[0] for alike in self.by_free[devices:] if alike), None)

    def emptiest(self) -> list[int]:
        """Nodes with free devices, those with most first."""
        return [node for alike in reversed(self.by_free[1:]) for node in alike]


def packed(room: NodeRoom, devices: int) -> Places:
    """On as few nodes as the devices need, what is left of them on the fullest that has enough.

    Who finds no such nodes waits, though devices may be free.

    Source: jeon2019, section 2.3: locality before waiting time.
    """
    size = room.group.devices
    whole, rest = divmod(devices, size)
    if len(room.by_free[size]) < whole:
        return []
    places = [(node, size) for node in room.by_free[size][:whole]]
    if rest:
        others = (alike for alike in room.by_free[rest:size] if alike)
        node = next((alike[0] for alike in others), None)
        if node is None:
            node = next(iter(room.by_free[size][whole:]), None)
        if node is None:
            return []
        places.append((node, rest))
    return places


def spread(room: NodeRoom, devices: int) -> Places:
    """On as many nodes as the devices can be on, turn by turn, the emptiest nodes first."""
    if devices > room.left:
        return []
    order = room.emptiest()[:devices]
    given: Counter[int] = Counter()
    while devices:
        for node in [node for node in order if given[node] < room.free[node]][:devices]:
            given[node] += 1
            devices -= 1
    return sorted(given.items())


def racks(room: NodeRoom, devices: int) -> Places:
    """On one node if any has enough, else in one rack, else on as few racks as can be.

    Of racks that have enough the fullest is taken; within one the emptiest nodes come first.

    Source: gu2019, section 3.3: jobs are consolidated, as far as that does not make them wait.
    """
    if devices > room.left:
        return []
    node = room.fullest(devices) if devices <= room.group.devices else None
    if node is not None:
        return [(node, devices)]
    nodes: dict[int, list[int]] = {}
    for each in room.emptiest():
        nodes.setdefault(room.rack(each), []).append(each)
    left = {rack: sum(room.free[each] for each in mine) for rack, mine in nodes.items()}
    enough = [(count, rack) for rack, count in left.items() if count >= devices]
    order = [min(enough)[1]] if enough else sorted(left, key=lambda rack: (-left[rack], rack))
    places = []
    for each in (node for rack in order for node in nodes[rack]):
        count = min(devices, room.free[each])
        places.append((each, count))
        devices -= count
        if not devices:
            break
    return places


class NodePool:
    """Devices that are told apart by node; a job gets all of one kind, where a placement says.

    Attributes:
        count: nodes.
        down: devices of nodes that are down, by kind; another object after every change.
    """

    def __init__(self, fleet: Fleet, place: Place) -> None:
        self._place = place
        self._rooms: dict[str, NodeRoom] = {}
        first = 0
        for group in fleet.nodes:
            self._rooms[group.kind] = NodeRoom(group, first)
            first += group.count
        self.count = first
        self.down: Mapping[str, int] = {}

    @property
    def rooms(self) -> Sequence[NodeRoom]:
        """The nodes of each kind."""
        return tuple(self._rooms.values())

    def free(self, kinds: tuple[str, ...]) -> float:
        """Free devices of some kinds; of all where none is named."""
        return sum(self._rooms[kind].left for kind in kinds or self._rooms if kind in self._rooms)

    def fits(self, devices: float, kinds: tuple[str, ...], freed: Sequence[HeldDevices]) -> bool:
        """Whether a job could be placed if some jobs gave their devices back."""
        for held in freed:
            self.give(held)
        fits = any(self._place(room, int(devices)) for room in self._of(kinds))
        for held in freed:
            self._remove(held)
        return fits

    def take(self, devices: float, kinds: tuple[str, ...]) -> HeldDevices | None:
        """Devices of one kind for a job, or None where they cannot be placed."""
        assert devices == int(devices), f"{devices} devices cannot be placed on nodes"
        for room in self._of(kinds):
            places = self._place(room, int(devices))
            if places:
                held = HeldDevices(room.group.kind, devices, len(places), tuple(places))
                self._remove(held)
                return held
        return None

    def again(self, held: HeldDevices) -> bool:
        """Take the very devices that were given back; False where not all of them are free."""
        free = self._rooms[held.kind].free
        there = all(free.get(node, 0) >= devices for node, devices in held.places)
        if there:
            self._remove(held)
        return there

    def give(self, held: HeldDevices) -> None:
        """Devices back."""
        room = self._rooms[held.kind]
        for node, devices in held.places:
            room.set(node, room.free[node] + devices)

    def close(self, node: int) -> None:
        """A node is down; nobody may hold any of its devices."""
        room = self._home(node)
        assert room.free[node] == room.group.devices, f"node {node} is held"
        room.drop(node)
        self._count_down()

    def open(self, node: int) -> None:
        """A node is there again."""
        room = self._home(node)
        room.set(node, room.group.devices)
        self._count_down()

    def _count_down(self) -> None:
        groups = ((room.group, room.group.count - len(room.free)) for room in self.rooms)
        self.down = {group.kind: count * group.devices for group, count in groups if count}

    def _remove(self, held: HeldDevices) -> None:
        room = self._rooms[held.kind]
        for node, devices in held.places:
            room.set(node, room.free[node] - devices)

    def _of(self, kinds: tuple[str, ...]) -> list[NodeRoom]:
        return [self._rooms[kind] for kind in kinds or self._rooms if kind in self._rooms]

    def _home(self, node: int) -> NodeRoom:
        return next(
            room for room in self._rooms.values() if 0 <= node - room.first < room.group.count
        )


class Fragmentation:
    """Notes, after each decision of a dispatcher, how badly free and held devices lie.

    Attributes:
        free: device-seconds that nobody held while jobs waited.
        stranded: of these, on nodes with fewer free devices than any job needs that waits.
        held: device-seconds that jobs held.
        spanning: of these, by jobs on more nodes than they need.
    """

    def __init__(self, dispatcher: Dispatcher, pool: NodePool) -> None:
        self.free = self.stranded = self.held = self.spanning = 0.0
        self._dispatcher = dispatcher
        self._pool = pool
        self._there: dict[int, Active] = {}
        self._since = 0.0
        self._rates = (0.0, 0.0, 0.0, 0.0)

    @property
    def stranded_share(self) -> float:
        """Share of free devices that no job that waits can use, over time."""
        return self.stranded / self.free if self.free else 0.0

    @property
    def spanning_share(self) -> float:
        """Share of held devices that belong to a job on more nodes than it needs, over time."""
        return self.spanning / self.held if self.held else 0.0

    def arrive(self, active: Active, simulation: Simulation) -> None:
        """A job has come."""
        self._there[active.rank] = active
        self._dispatcher.arrive(active, simulation)

    def leave(self, active: Active, simulation: Simulation) -> None:
        """A job has ended."""
        del self._there[active.rank]
        self._dispatcher.leave(active, simulation)

    def decide(self, simulation: Simulation) -> None:
        """Let the dispatcher decide, and note what comes of it."""
        lasted, self._since = simulation.now - self._since, simulation.now
        sums = (self.free, self.stranded, self.held, self.spanning)
        self.free, self.stranded, self.held, self.spanning = (
            total + rate * lasted for total, rate in zip(sums, self._rates, strict=True)
        )
        self._dispatcher.decide(simulation)
        needs = [each.job.devices for each in self._there.values() if each.held is None]
        held = [each.held for each in self._there.values() if each.held is not None]
        sizes = {room.group.kind: room.group.devices for room in self._pool.rooms}
        self._rates = (
            self._pool.free(()) if needs else 0.0,
            sum(stranded(room, min(needs)) for room in self._pool.rooms) if needs else 0.0,
            sum(each.devices for each in held),
            sum(
                each.devices for each in held if each.nodes > ceil(each.devices / sizes[each.kind])
            ),
        )


def stranded(room: NodeRoom, need: int) -> int:
    """Free devices on nodes with fewer than a job needs, or than a node has if it needs more."""
    least = min(need, room.group.devices)
    return sum(free * len(nodes) for free, nodes in enumerate(room.by_free[:least]))
