"""Nodes: pools that know on which nodes a job's devices lie."""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from math import ceil
from operator import attrgetter

from foretrain.cluster.mixed import Fleet, Nodes
from foretrain.jobs.active import HeldDevices

Places = list[tuple[int, int]]
"""Nodes and how many devices on each."""

Place = Callable[["NodeRoom", int, int], Places]
"""Where a job's devices should lie, among nodes of a set; nothing where they must not lie so."""

PLACES: Callable[[HeldDevices], tuple[tuple[int, int], ...]] = attrgetter("places")

GONE = -1_000_000
"""Free devices of a node that is not there: no job gives back as many."""

ALL = -1
"""The set of all nodes: a set is a whole number of which the bits of its nodes are 1."""


def nodes_of(among: int) -> Iterator[int]:
    """The nodes of a set, ascending."""
    while among:
        least = among & -among
        yield least.bit_length() - 1
        among ^= least


class NodeRoom:
    """The nodes of one kind, by how many of their devices are free.

    Attributes:
        group: the nodes.
        first: number of the first of them; numbers go on from kind to kind.
        free: devices of each node that nobody holds, by number; none for a node that is down.
        drained: the same of nodes on which nobody may start.
        by_free: the set of the nodes with so many free devices, from none to all of a node.
        left: free devices of all nodes.
    """

    def __init__(self, group: Nodes, first: int) -> None:
        self.group = group
        self.first = first
        numbers = range(first, first + group.count)
        self.free = dict.fromkeys(numbers, group.devices)
        self.drained: dict[int, int] = {}
        self.by_free = [0] * (group.devices + 1)
        self.by_free[-1] = ((1 << group.count) - 1) << first
        self.left = group.count * group.devices

    def set(self, node: int, free: int) -> None:
        """A node has another number of free devices."""
        self.drop(node)
        self.free[node] = free
        self.left += free
        self.by_free[free] ^= 1 << node

    def drop(self, node: int) -> None:
        """A node is no longer there."""
        self.drained.pop(node, None)
        free = self.free.pop(node, None)
        if free is not None:
            self.left -= free
            self.by_free[free] ^= 1 << node

    def drain(self, node: int) -> None:
        """Nobody may start on a node any more."""
        left = self.free[node]
        self.drop(node)
        self.drained[node] = left

    def give(self, places: Iterable[tuple[int, int]], sign: int = 1) -> None:
        """Devices back on some nodes, or taken where the sign is -1."""
        by_free, free, drained = self.by_free, self.free, self.drained
        for node, devices in places:
            more = sign * devices
            if drained and node in drained:
                drained[node] += more
                continue
            before, bit = free[node], 1 << node
            free[node] = after = before + more
            by_free[before] ^= bit
            by_free[after] ^= bit
            self.left += more

    def copy(self) -> NodeRoom:
        """The same nodes, to see what would be."""
        other = copy(self)
        other.free = dict(self.free)
        other.drained = dict(self.drained)
        other.by_free = list(self.by_free)
        return other

    def rack(self, node: int) -> int:
        """Number of the rack of a node; all are in one where racks do not matter."""
        return (node - self.first) // self.group.rack if self.group.rack else 0

    def fullest(self, devices: int, among: int) -> int | None:
        """Of the nodes with so many free devices the first with fewest; None where none has."""
        for alike in self.by_free[devices:]:
            some = alike if among == ALL else alike & among
            if some:
                return (some & -some).bit_length() - 1
        return None

    def emptiest(self, among: int) -> list[int]:
        """Nodes with free devices, those with most first."""
        return [node for alike in reversed(self.by_free[1:]) for node in nodes_of(alike & among)]


def packed(room: NodeRoom, devices: int, among: int = ALL) -> Places:
    """On as few nodes as the devices need, what is left of them on the fullest that has enough.

    Who finds no such nodes waits, though devices may be free.

    Source: jeon2019, section 2.3: locality before waiting time.
    """
    size = room.group.devices
    whole, rest = (0, devices) if devices < size else divmod(devices, size)
    places: Places = []
    if whole:
        full = room.by_free[size] & among
        if full.bit_count() < whole:
            return []
        for _ in range(whole):
            least = full & -full
            places.append((least.bit_length() - 1, size))
            full ^= least
            among &= ~least
    if rest:
        node = room.fullest(rest, among)
        if node is None:
            return []
        places.append((node, rest))
    return places


def spread(room: NodeRoom, devices: int, among: int = ALL) -> Places:
    """On as many nodes as the devices can be on, turn by turn, the emptiest nodes first."""
    emptiest = room.emptiest(among)
    if devices > sum(room.free[node] for node in emptiest):
        return []
    order = emptiest[:devices]
    given: Counter[int] = Counter()
    while devices:
        for node in [node for node in order if given[node] < room.free[node]][:devices]:
            given[node] += 1
            devices -= 1
    return sorted(given.items())


def racks(room: NodeRoom, devices: int, among: int = ALL) -> Places:
    """On one node if any has enough, else in one rack, else on as few racks as can be.

    Of racks that have enough the fullest is taken; within one the emptiest nodes come first.

    Source: gu2019, section 3.3: jobs are consolidated, as far as that does not make them wait.
    """
    node = room.fullest(devices, among) if devices <= room.group.devices else None
    if node is not None:
        return [(node, devices)]
    emptiest = room.emptiest(among)
    if devices > sum(room.free[each] for each in emptiest):
        return []
    nodes: dict[int, list[int]] = {}
    for each in emptiest:
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
        rooms: the nodes of each kind.
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
        self.rooms: Sequence[NodeRoom] = tuple(self._rooms.values())
        self.count = first
        self.down: Mapping[str, int] = {}

    def free(self, kinds: tuple[str, ...]) -> float:
        """Free devices of some kinds; of all where none is named."""
        rooms = self._of(kinds) if kinds else self.rooms
        return rooms[0].left if len(rooms) == 1 else sum(room.left for room in rooms)

    def has(self, devices: float, kinds: tuple[str, ...], *, among: int = ALL) -> bool:
        """Whether a job could be placed."""
        for room in self._of(kinds):
            if room.left >= devices and self._place(room, int(devices), among):
                return True
        return False

    def enough(
        self, devices: float, kinds: tuple[str, ...], held: Iterable[HeldDevices]
    ) -> int | None:
        """How many of some jobs must give their devices back until a job could be placed."""
        mine = self._of(kinds)
        if self._on_a_node(devices, mine):
            return _until_a_node_has(devices, mine, held)
        given: list[HeldDevices] = []
        found = None
        held = list(held)
        if self.free(kinds) + sum(each.devices for each in held) < devices:
            return None
        for each in held:
            self.give(each)
            given.append(each)
            if self.has(devices, kinds):
                found = len(given)
                break
        for each in given:
            self.remove(each)
        return found

    def needed(
        self, devices: float, kinds: tuple[str, ...], held: Sequence[HeldDevices]
    ) -> Sequence[int]:
        """Where one node will do, those on a node of the last one: no other has enough."""
        if not self._on_a_node(devices, self._of(kinds)):
            return range(len(held))
        nodes = {node for node, _ in held[-1].places}
        alone = nodes.isdisjoint
        return [k for k, each in enumerate(held) if not alone(node for node, _ in each.places)]

    def most(self, kinds: tuple[str, ...], among: int) -> int:
        """Devices of one kind on those of some nodes that nobody uses, of the kind with most."""
        rooms = self._of(kinds)
        return max(
            ((room.by_free[-1] & among).bit_count() * room.group.devices for room in rooms),
            default=0,
        )

    def take(
        self, devices: float, kinds: tuple[str, ...], *, among: int = ALL
    ) -> HeldDevices | None:
        """Devices of one kind for a job, or None where they cannot be placed."""
        assert devices == int(devices), f"{devices} devices cannot be placed on nodes"
        for room in self._of(kinds):
            places = self._place(room, int(devices), among) if room.left >= devices else ()
            if places:
                held = HeldDevices(room.group.kind, devices, len(places), tuple(places))
                self.remove(held)
                return held
        return None

    def take_whole(
        self, devices: int, kinds: tuple[str, ...], *, among: int = ALL
    ) -> HeldDevices | None:
        """Devices on nodes that a job has to itself; None where there are no such nodes."""
        for room in self._of(kinds):
            size = room.group.devices
            places = packed(room, ceil(devices / size) * size, among)
            if places:
                held = HeldDevices(room.group.kind, devices, len(places), tuple(places))
                self.remove(held)
                return held
        return None

    def again(self, held: HeldDevices) -> bool:
        """Take the very devices that were given back; False where not all of them are free."""
        free = self._rooms[held.kind].free
        there = all(free.get(node, 0) >= devices for node, devices in held.places)
        if there:
            self.remove(held)
        return there

    def free_on(self, held: HeldDevices) -> tuple[tuple[int, int], ...]:
        """Those of some devices that are free, node by node; devices of a node are alike."""
        free = self._rooms[held.kind].free
        there = ((node, min(devices, free.get(node, 0))) for node, devices in held.places)
        return tuple((node, devices) for node, devices in there if devices > 0)

    def give(self, held: HeldDevices) -> None:
        """Devices back."""
        room = self._rooms[held.kind]
        room.give(held.places)
        if room.drained:
            self._count_down()

    def copy(self) -> NodePool:
        """The same nodes."""
        other = copy(self)
        other._rooms = {kind: room.copy() for kind, room in self._rooms.items()}
        other.rooms = tuple(other._rooms.values())
        return other

    def there(self, node: int) -> bool:
        """Whether a node is up, or drained."""
        room = self.home(node)
        return node in room.free or node in room.drained

    def close(self, node: int) -> None:
        """A node is down; nobody may hold any of its devices."""
        room = self.home(node)
        assert room.free[node] == room.group.devices, f"node {node} is held"
        room.drop(node)
        self._count_down()

    def drain(self, node: int) -> None:
        """Nobody may start on a node any more; who is there goes on."""
        self.home(node).drain(node)
        self._count_down()

    def open(self, node: int) -> None:
        """A node is there again."""
        room = self.home(node)
        room.set(node, room.drained.get(node, room.group.devices))
        self._count_down()

    def _count_down(self) -> None:
        down = {}
        for room in self.rooms:
            gone = room.group.count - len(room.free) - len(room.drained)
            devices = gone * room.group.devices + sum(room.drained.values())
            if devices or room.drained:
                down[room.group.kind] = devices
        self.down = down

    def remove(self, held: HeldDevices) -> None:
        """Devices that were given are held again."""
        self._rooms[held.kind].give(held.places, -1)

    def _on_a_node(self, devices: float, rooms: Iterable[NodeRoom]) -> bool:
        """Whether a job of so many devices is placed on one node."""
        return self._place is packed and all(devices <= room.group.devices for room in rooms)

    def _of(self, kinds: tuple[str, ...]) -> Sequence[NodeRoom]:
        if not kinds:
            return self.rooms
        return [self._rooms[kind] for kind in kinds if kind in self._rooms]

    def home(self, node: int) -> NodeRoom:
        """The nodes of the kind of a node."""
        return next(
            room for room in self._rooms.values() if 0 <= node - room.first < room.group.count
        )


def _until_a_node_has(
    devices: float, rooms: Sequence[NodeRoom], held: Iterable[HeldDevices]
) -> int | None:
    """How many jobs must give their devices back until one node has so many: nothing is moved."""
    # Nodes of all kinds have numbers of their own: those of other rooms are as if they were gone.
    free_of = rooms[0].free.get if len(rooms) == 1 else ChainMap(*(r.free for r in rooms)).get
    would: dict[int, int] = {}
    for count, places in enumerate(map(PLACES, held), start=1):
        for node, more in places:
            free = would.get(node)
            if free is None:
                free = free_of(node, GONE)
            would[node] = free = free + more
            if free >= devices:
                return count
    return None
